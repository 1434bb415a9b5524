import { useLocation, useSearchParams } from 'wouter';
import { useChildren } from '../api/catalog.js';
import { useGrants, usePolicies } from '../api/entries.js';
import { countOf } from '../api/pages.js';
import { numberText } from '../domain/count-text.js';
import { addressOfNode, pathText, sqlPath } from '../domain/node-path.js';
import { DataTree, nodeAt } from '../parts/data-tree.js';
import { GrantTable, NewGrant } from '../parts/grants.js';
import { Icon } from '../parts/icon.js';
import { Empty, PageHead } from '../parts/page.js';
import { Crumbs, NodeIcon, Path } from '../parts/path.js';
import { PolicyTable } from '../parts/policies.js';
import { TabPanel, Tabs } from '../parts/tabs.js';
import { sizeOf, useWho, Who } from '../parts/who.js';
import { NotHere } from './absent.js';

const TAB = 'tab';
const TABS = ['Who', 'Grants', 'Policies', 'Routines'] as const;

/** The names in the address. The router decodes them but in part. Null: it is malformed. */
function useNames(): string[] | null {
  useLocation();
  try {
    return location.pathname.split('/').slice(2).filter(Boolean).map(decodeURIComponent);
  } catch {
    return null;
  }
}

/** The tree of the data beside one node of it: who reaches it, by which grants, under which policies. */
export function Data() {
  const names = useNames();
  if (names === null) return <NotHere />;
  return (
    <main id="main" className="split" tabIndex={-1}>
      <DataTree open={names} />
      <NodePage key={names.join('\0')} names={names} />
    </main>
  );
}

function NodePage({ names }: { names: readonly string[] }) {
  const node = nodeAt(names);
  const title = names.length === 0 ? 'Data' : pathText(node);
  return (
    <div className="stack">
      <div className="stack stack--tight">
        <PageHead
          title={title}
          above={<Crumbs of={node} />}
          heading={
            <>
              <NodeIcon node={node} />
              {names.length === 0 ? 'Everything' : <Path node={node} />}
            </>
          }
          actions={<Actions names={names} />}
        />
        <NotInEngine names={names} />
        <NodeTabs names={names} title={title} />
      </div>
      <Panel names={names} />
    </div>
  );
}

function Actions({ names }: { names: readonly string[] }) {
  const form = new URLSearchParams({ ...nodeAt(names) }).toString();
  return (
    <>
      <button className="button narrow-only" type="button" popoverTarget="tree">
        <Icon name="root" />
        Browse
      </button>
      <NewGrant query={form === '' ? '' : `?${form}`} />
    </>
  );
}

/** A node that is granted although the engine does not list it. */
function NotInEngine({ names }: { names: readonly string[] }) {
  const { items } = useChildren(names.length === 0 ? null : names.slice(0, -1), '');
  const child = items?.find(({ name }) => name === names.at(-1));
  if (child?.in_engine !== false) return null;
  return (
    <p className="note">
      <Icon name="warn" />
      <span>Grants or policies name it, and the engine does not list it. They take effect once it is there.</span>
    </p>
  );
}

function useTab(isTable: boolean): (typeof TABS)[number] {
  const [search] = useSearchParams();
  const found = TABS.find((name) => name.toLowerCase() === search.get(TAB)) ?? 'Who';
  return isTable && found === 'Routines' ? 'Who' : found;
}

function NodeTabs({ names, title }: { names: readonly string[]; title: string }) {
  const node = nodeAt(names);
  const isTable = names.length === 3;
  const { first } = useWho(node, false);
  const counts = {
    Who: first && numberText(sizeOf(first.totals) + sizeOf(first.totals.inside)),
    Grants: countOf(useGrantsOn(names)),
    Policies: countOf(usePoliciesOn(names)),
    Routines: countOf(useRoutineGrants(names, !isTable)),
  };
  const tabs = TABS.filter((name) => !isTable || name !== 'Routines').map((name) => ({
    name,
    href: addressOfNode(node) + (name === 'Who' ? '' : `?${TAB}=${name.toLowerCase()}`),
    count: counts[name],
  }));
  return <Tabs label={title} tabs={tabs} selected={useTab(isTable)} />;
}

function Panel({ names }: { names: readonly string[] }) {
  const selected = useTab(names.length === 3);
  return (
    <TabPanel name={selected}>
      {selected === 'Who' && <Who node={nodeAt(names)} />}
      {selected === 'Grants' && <Grants names={names} />}
      {selected === 'Policies' && <Policies names={names} />}
      {selected === 'Routines' && <Routines names={names} />}
    </TabPanel>
  );
}

function Grants({ names }: { names: readonly string[] }) {
  const empty = (
    <Empty title={`No grant covers ${pathText(nodeAt(names))}`}>Nothing is granted here or on what is above it.</Empty>
  );
  return <GrantTable name="Grants" list={useGrantsOn(names)} empty={empty} />;
}

function Policies({ names }: { names: readonly string[] }) {
  const empty = (
    <Empty title={`No policy covers ${pathText(nodeAt(names))}`}>
      Whoever may read here reads every row and column.
    </Empty>
  );
  return <PolicyTable list={usePoliciesOn(names)} empty={empty} />;
}

function Routines({ names }: { names: readonly string[] }) {
  const empty = (
    <Empty title="No routine is granted here">
      A grant on a function or a procedure says who may execute or call it.
    </Empty>
  );
  return <GrantTable name="Routines" list={useRoutineGrants(names, true)} empty={empty} />;
}

/** The entries that hold on a node: those on it and above it. */
function coveringOf(names: readonly string[]) {
  return names.length === 0 ? { level: 'everything' as const } : { covering: sqlPath(names) };
}

const useGrantsOn = (names: readonly string[]) => useGrants(coveringOf(names));
const usePoliciesOn = (names: readonly string[]) => usePolicies(coveringOf(names));

/** Grants on the routines of a node. */
function useRoutineGrants([catalog, schema]: readonly string[], isEnabled: boolean) {
  const names = { ...(catalog !== undefined && { catalog }), ...(schema !== undefined && { schema }) };
  return useGrants({ ...names, level: 'routine' }, isEnabled);
}
