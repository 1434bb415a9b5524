import { type Grant, useGrants } from '../api/entries.js';
import { loadedCountText } from '../api/pages.js';
import type { Privilege } from '../domain/grant-form.js';
import { ButtonLink } from '../parts/controls.js';
import { addressOf, Path, Principal } from '../parts/display.js';
import { GrantTable, NewGrantLink } from '../parts/entries.js';
import { Page, Region } from '../parts/page.js';

interface Section {
  title: string;
  grantFilter: { family: 'engine' | 'acting' | 'routine' } | { catalog: 'system' };
  newGrant: { text: string; query: string };
  emptyText: string;
}

const SECTIONS: readonly Section[] = [
  {
    title: 'Queries and system',
    grantFilter: { family: 'engine' },
    newGrant: { text: 'Grant a right over queries', query: '?on=engine' },
    emptyText: 'Nobody may view or kill the statements of others, or see what the engine says of itself.',
  },
  {
    title: 'Acting as others',
    grantFilter: { family: 'acting' },
    newGrant: { text: 'Let somebody act as others', query: '?on=acting&privilege=IMPERSONATE' },
    emptyText: 'Nobody acts as others.',
  },
  {
    title: 'System tables',
    grantFilter: { catalog: 'system' },
    newGrant: { text: 'Grant system tables', query: '?catalog=system&schema=runtime&privilege=SELECT' },
    emptyText: 'Nobody reads the tables of the engine itself, such as system.runtime.queries.',
  },
  {
    title: 'Routines',
    grantFilter: { family: 'routine' },
    newGrant: { text: 'Grant a routine', query: '?on=routine' },
    emptyText: 'Nobody calls a function or a procedure of a catalog.',
  },
];

export function Engine() {
  return (
    <Page
      title="Engine"
      intro="Rights that are not about data. Nobody has one without a grant."
      actions={<NewGrantLink query="?on=engine" />}
    >
      {SECTIONS.map((section) => (
        <RightsSection key={section.title} {...section} />
      ))}
    </Page>
  );
}

function RightsSection({ title, grantFilter: query, newGrant, emptyText }: Section) {
  const list = useGrants(query);
  return (
    <Region
      title={title}
      count={loadedCountText(list)}
      actions={<ButtonLink text={newGrant.text} look="small quiet" icon="plus" href={`/grants/new${newGrant.query}`} />}
    >
      <GrantTable name={title} list={list} nodeCell={renderRight} emptyState={<p className="dim">{emptyText}</p>} />
    </Region>
  );
}

function renderRight({ privileges, resource }: Grant) {
  if ('as' in resource) return <Principal principal={resource.as} href={addressOf(resource.as)} />;
  if ('queries' in resource)
    return (
      <>
        queries of <Principal principal={resource.queries} href={addressOf(resource.queries)} />
      </>
    );
  if ('engine' in resource) return privileges.map((each) => RIGHT_TEXTS[each] ?? each).join('; ');
  return <Path node={resource} />;
}

const RIGHT_TEXTS: Partial<Record<Privilege, string>> = {
  EXECUTE_QUERIES: 'statements, whatever they reach',
  VIEW_QUERIES: 'every statement of everybody, with its literals',
  KILL_QUERIES: "anybody's statement",
  READ_SYSTEM_INFORMATION: 'nodes and their state',
  WRITE_SYSTEM_INFORMATION: 'shutting nodes down',
};
