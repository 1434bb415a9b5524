import { type Grant, useGrants } from '../api/entries.js';
import { countOf } from '../api/pages.js';
import type { Privilege } from '../domain/grant-form.js';
import { ButtonLink } from '../parts/controls.js';
import { addressOf, Path, Principal } from '../parts/display.js';
import { GrantTable, NewGrant } from '../parts/grants.js';
import { Page, Region } from '../parts/page.js';

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
    <Page
      title="Engine"
      intro="Rights that are not about data. Nobody has one without a grant."
      actions={<NewGrant query="?on=engine" />}
    >
      {SECTIONS.map((section) => (
        <Rights key={section.title} {...section} />
      ))}
    </Page>
  );
}

function Rights({ title, query, add, nobody }: Section) {
  const list = useGrants(query);
  return (
    <Region
      title={title}
      count={countOf(list)}
      actions={<ButtonLink text={add.text} look="small quiet" icon="plus" href={`/grants/new${add.query}`} />}
    >
      <GrantTable name={title} list={list} reach={reachOf} empty={<p className="dim">{nobody}</p>} />
    </Region>
  );
}

function reachOf({ privileges, resource }: Grant) {
  if ('as' in resource) return <Principal of={resource.as} href={addressOf(resource.as)} />;
  if ('queries' in resource)
    return (
      <>
        queries of <Principal of={resource.queries} href={addressOf(resource.queries)} />
      </>
    );
  if ('engine' in resource) return privileges.map((each) => REACHES[each] ?? each).join('; ');
  return <Path node={resource} />;
}

const REACHES: Partial<Record<Privilege, string>> = {
  EXECUTE_QUERIES: 'statements, whatever they reach',
  VIEW_QUERIES: 'every statement of everybody, with its literals',
  KILL_QUERIES: "anybody's statement",
  READ_SYSTEM_INFORMATION: 'nodes and their state',
  WRITE_SYSTEM_INFORMATION: 'shutting nodes down',
};
