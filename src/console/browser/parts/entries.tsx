import { Link } from 'wouter';
import { api, bodyOf, type Schemas } from '../api/client.js';
import { usePages } from '../api/pages.js';
import { sqlPath } from '../domain/sql-path.js';
import { Privileges } from './access.js';
import { Failure } from './failure.js';
import { Moment } from './moment.js';
import { Empty } from './page.js';
import { Path } from './path.js';
import { addressOf, Principal } from './principal.js';
import { Cell, Table } from './table.js';

type Grant = Schemas['GrantResponse'];
type Policy = Schemas['PolicyResponse'];

/** The entries that hold on a node: those on it and above it. */
function coveringOf(names: readonly string[]) {
  return names.length === 0 ? { level: 'everything' as const } : { covering: sqlPath(names) };
}

const pageOf = (after: string | undefined) => ({ limit: 200, ...(after !== undefined && { after }) });

export function useGrantsOn(names: readonly string[]) {
  return usePages(['grants', 'covering', names], (after) =>
    bodyOf(api.GET('/api/admin/grants', { params: { query: { ...coveringOf(names), ...pageOf(after) } } })),
  );
}

export function usePoliciesOn(names: readonly string[]) {
  return usePages(['policies', 'covering', names], (after) =>
    bodyOf(api.GET('/api/admin/policies', { params: { query: { ...coveringOf(names), ...pageOf(after) } } })),
  );
}

/** Grants on the routines of a node. */
export function useRoutineGrants([catalog, schema]: readonly string[], isEnabled: boolean) {
  const names = { ...(catalog !== undefined && { catalog }), ...(schema !== undefined && { schema }) };
  return usePages(
    ['grants', 'routines', names],
    (after) =>
      bodyOf(api.GET('/api/admin/grants', { params: { query: { ...names, level: 'routine', ...pageOf(after) } } })),
    { isEnabled },
  );
}

interface List<T> {
  query: { error: Error | null; refetch: () => unknown };
  items: T[] | null;
  more: (() => void) | undefined;
}

const GRANT_COLUMNS = ['Holder', 'May', 'Where', 'Until', 'Grant'].map((name) => ({ name }));

interface GrantTableProps {
  name: 'Grants' | 'Routines';
  list: List<Grant>;
  empty: { title: string; text: string };
}

export function GrantTable({ name, list: { query, items, more }, empty }: GrantTableProps) {
  if (query.error !== null) return <Failure problem={query.error} retry={() => void query.refetch()} />;
  if (items?.length === 0) return <Empty title={empty.title}>{empty.text}</Empty>;
  return (
    <Table
      name={name}
      columns={GRANT_COLUMNS}
      items={items}
      keyOf={({ id }) => id}
      more={more}
      cells={({ id, principal, privileges, resource, expires_at: until }) => (
        <>
          <Cell>
            <Principal of={principal} href={addressOf(principal)} />
          </Cell>
          <Cell className="may">
            <Privileges names={privileges} />
          </Cell>
          <Cell>
            <Path node={resource} />
          </Cell>
          <Cell>{until === null ? <span className="hidden">no end</span> : <Moment at={until} />}</Cell>
          <Cell data-label="Grant">{id}</Cell>
        </>
      )}
    />
  );
}

const POLICY_COLUMNS = ['Policy', 'Kind', 'For', 'Where', 'What'].map((name) => ({ name }));

export function PolicyTable({ list: { query, items, more }, empty }: { list: List<Policy>; empty: string }) {
  if (query.error !== null) return <Failure problem={query.error} retry={() => void query.refetch()} />;
  if (items?.length === 0) return <Empty title={empty}>Whoever may read here reads every row and column.</Empty>;
  return (
    <Table
      name="Policies"
      columns={POLICY_COLUMNS}
      items={items}
      keyOf={({ id }) => id}
      more={more}
      cells={(policy) => (
        <>
          <Cell>
            <Link href={`/policies/${policy.id}`}>{policy.id}</Link>
          </Cell>
          <Cell>{policy.kind.replace('_', ' ')}</Cell>
          <Cell>
            <Principal of={policy.principal} href={addressOf(policy.principal)} />
            {policy.except.length > 0 && <span className="dim"> but {policy.except.length}</span>}
          </Cell>
          <Cell>
            <Path node={policy.resource} />
          </Cell>
          <Cell className="full">
            <PolicyRule policy={policy} />
          </Cell>
        </>
      )}
    />
  );
}

/** What a policy does, in its own words. */
export function PolicyRule({ policy: { resource, expression, privileges } }: { policy: Policy }) {
  const column = 'column' in resource && typeof resource.column === 'string' ? resource.column : null;
  if (privileges !== undefined) return <Privileges names={privileges} />;
  return (
    <>
      {column !== null && <code>{column}</code>}
      {column !== null && expression !== undefined && ' as '}
      {expression !== undefined && <code>{expression}</code>}
    </>
  );
}

/** How many have been read, and whether there are more. */
export function countOf({ items, hasMore }: { items: readonly unknown[] | null; hasMore: boolean }) {
  return items === null ? undefined : hasMore ? `${items.length}+` : items.length;
}
