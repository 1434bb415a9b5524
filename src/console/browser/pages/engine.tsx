import { Link } from 'wouter';
import { api, bodyOf } from '../api/client.js';
import { usePages } from '../api/pages.js';
import type { Privilege } from '../domain/privileges.js';
import { Privileges } from '../parts/access.js';
import { Path } from '../parts/path.js';
import { Failure } from '../parts/failure.js';
import { type Grant, NewGrant, Revoke, Until } from '../parts/grants.js';
import { Icon } from '../parts/icon.js';
import { Moment } from '../parts/moment.js';
import { PageHead } from '../parts/page.js';
import { addressOf, Principal } from '../parts/principal.js';
import { Cell, Table } from '../parts/table.js';

const COLUMNS = [
  { name: 'Holder' },
  { name: 'May' },
  { name: 'What it reaches' },
  { name: 'Given' },
  { name: 'Until' },
  { name: 'Action', isHidden: true },
];

interface Section {
  title: string;
  query: { family: 'engine' | 'acting' | 'routine' } | { catalog: 'system' };
  /** Begins a grant of the kind. */
  add: { text: string; query: string };
  nobody: string;
}

const SECTIONS: readonly Section[] = [
  {
    title: 'Queries and system',
    query: { family: 'engine' },
    add: { text: 'Grant a right over queries', query: '?on=engine' },
    nobody: 'Nobody may view or kill the statements of others, or see what the engine says of itself.',
  },
  {
    title: 'Acting as others',
    query: { family: 'acting' },
    add: { text: 'Let somebody act as others', query: '?on=acting&privilege=IMPERSONATE' },
    nobody: 'Nobody acts as others.',
  },
  {
    title: 'System tables',
    query: { catalog: 'system' },
    add: { text: 'Grant system tables', query: '?catalog=system&schema=runtime&privilege=SELECT' },
    nobody: 'Nobody reads the tables of the engine itself, such as system.runtime.queries.',
  },
  {
    title: 'Routines',
    query: { family: 'routine' },
    add: { text: 'Grant a routine', query: '?on=routine' },
    nobody: 'Nobody calls a function or a procedure of a catalog.',
  },
];

/** Rights that are not about data. */
export function Engine() {
  return (
    <main id="main" tabIndex={-1}>
      <div className="stack">
        <PageHead title="Engine" actions={<NewGrant query="?on=engine" />}>
          Rights that are not about data. Nobody has one without a grant.
        </PageHead>
        {SECTIONS.map((section) => (
          <Rights key={section.title} section={section} />
        ))}
      </div>
    </main>
  );
}

function Rights({ section: { title, query, add, nobody } }: { section: Section }) {
  const id = title.toLowerCase().replaceAll(' ', '-');
  const list = usePages(['grants', query], (after) =>
    bodyOf(
      api.GET('/api/admin/grants', {
        params: { query: { ...query, limit: 200, ...(after !== undefined && { after }) } },
      }),
    ),
  );
  const { items, hasMore } = list;
  return (
    <section aria-labelledby={id}>
      <div className="head">
        <h2 id={id}>{title}</h2>
        {items !== null && (
          <span className="count">
            {items.length}
            {hasMore && ' and more'}
          </span>
        )}
        <Link className="button button--small button--quiet" href={`/grants/new${add.query}`}>
          <Icon name="plus" />
          {add.text}
        </Link>
      </div>
      {list.query.isError ? (
        <Failure problem={list.query.error} retry={() => void list.query.refetch()} />
      ) : items?.length === 0 ? (
        <p className="dim">{nobody}</p>
      ) : (
        <Table
          name={title}
          columns={COLUMNS}
          items={items}
          keyOf={(grant) => grant.id}
          more={list.more}
          cells={(grant) => <RightCells grant={grant} />}
        />
      )}
    </section>
  );
}

function RightCells({ grant }: { grant: Grant }) {
  const { principal, privileges, resource, granted_at: at, expires_at: until } = grant;
  return (
    <>
      <Cell className="holder">
        <Principal of={principal} href={addressOf(principal)} />
      </Cell>
      <Cell className="may">
        <Privileges names={privileges} />
      </Cell>
      <Cell className="full">
        {'as' in resource ? (
          <Principal of={resource.as} href={addressOf(resource.as)} />
        ) : 'engine' in resource ? (
          <span className="row">{privileges.map((each) => REACHES[each] ?? each).join('; ')}</span>
        ) : (
          <Path node={resource} />
        )}
      </Cell>
      <Cell className="date" data-label="Given">
        <Moment at={at} />
      </Cell>
      <Cell className="date">
        <Until at={until} />
      </Cell>
      <Cell className="num">
        <Revoke grant={grant} />
      </Cell>
    </>
  );
}

const REACHES: Partial<Record<Privilege, string>> = {
  VIEW_QUERIES: 'every statement of everybody, with its literals',
  KILL_QUERIES: "anybody's statement",
  READ_SYSTEM_INFORMATION: 'nodes and their state',
  WRITE_SYSTEM_INFORMATION: 'shutting nodes down',
};
