import { useQueries } from '@tanstack/react-query';
import { Link } from 'wouter';
import { api, bodyOf } from '../api/client.js';
import { KIND_NAMES } from '../domain/policy-form.js';
import { PolicyEffect } from './policies.js';
import { Region } from './page.js';
import { Cell, Table } from './table.js';

const COLUMNS = ['Policy', 'Kind', 'What'].map((name) => ({ name }));

/** The policies that restrict what is read by a privilege that somebody has, or that take it. */
export function LimitsThatApply({ policies: ids, isTaking }: { policies: readonly number[]; isTaking: boolean }) {
  const answers = useQueries({
    queries: ids.map((id) => ({
      queryKey: ['limit', id],
      queryFn: () => bodyOf(api.GET('/api/admin/policies/{id}', { params: { path: { id } } })),
    })),
  });
  if (ids.length === 0) return null;
  const isPending = answers.some((answer) => answer.isPending);
  return (
    <Region title={isTaking ? 'What takes it' : 'Limits that apply'}>
      <Table
        name="Limits"
        columns={COLUMNS}
        items={isPending ? null : answers.flatMap(({ data }) => data ?? [])}
        keyOf={({ id }) => id}
        cells={(policy) => (
          <>
            <Cell>
              <Link href={`/policies/${policy.id}`}>{policy.id}</Link>
            </Cell>
            <Cell>{KIND_NAMES[policy.kind].toLowerCase()}</Cell>
            <Cell className="full">
              {policy.kind === 'column_mask' && 'column' in policy.resource && (
                <>
                  <code>{policy.resource.column}</code> as{' '}
                </>
              )}
              <PolicyEffect policy={policy} />
            </Cell>
          </>
        )}
      />
    </Region>
  );
}
