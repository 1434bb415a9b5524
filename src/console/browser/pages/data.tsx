import { Link, useLocation } from 'wouter';
import { useChildren } from '../api/catalog.js';
import { api, bodyOf, type Schemas } from '../api/client.js';
import { useGrants, usePolicies } from '../api/entries.js';
import { loadedCountText, usePages } from '../api/pages.js';
import { usePublishingStatus } from '../api/publishing.js';
import { type HolderCounts, holdersText, numberText, holderCount } from '../domain/count-text.js';
import {
  accessWaysOf,
  addressOfNode,
  type HolderWay,
  nodeAt,
  type NodeNames,
  pathText,
  sqlPath,
  wayKey,
} from '../domain/node-path.js';
import { principalParameter } from '../domain/principal.js';
import { whyAddress } from '../domain/why-address.js';
import { useAddress } from '../parts/address.js';
import { Button, ButtonLink } from '../parts/controls.js';
import { DataTree } from '../parts/data-tree.js';
import { addressOf, Crumbs, Restrictions, NodeIcon, Path, Principal, Privileges, WhyLink } from '../parts/display.js';
import { GrantTable, NewGrantLink, PolicyTable } from '../parts/entries.js';
import { Note } from '../parts/notice.js';
import { EmptyState, NotFoundPage, PageHead, Region } from '../parts/page.js';
import { type Column, Listing, PRIVILEGES_COLUMN } from '../parts/table.js';

const TABS = ['Who', 'Grants', 'Policies', 'Routines'] as const;

/** The names in the address, decoded here because the router decodes them only in part. Null: the address is malformed. */
function useNamesInAddress(): string[] | null {
  useLocation();
  try {
    return location.pathname.split('/').slice(2).filter(Boolean).map(decodeURIComponent);
  } catch {
    return null;
  }
}

/** The page with the data tree and one of its nodes: people with access, grants and policies. */
export function Data() {
  const names = useNamesInAddress();
  if (names === null) return <NotFoundPage />;
  return (
    <main id="main" className="split" tabIndex={-1}>
      <DataTree openPath={names} />
      <NodePage key={names.join('\0')} names={names} />
    </main>
  );
}

function NodePage({ names }: { names: readonly string[] }) {
  const node = nodeAt(names);
  const isTable = names.length === 3;
  const title = names.length === 0 ? 'Data' : pathText(node);
  const nodeQuery = new URLSearchParams({ ...node }).toString();
  const { search } = useAddress();
  const tabs = TABS.filter((name) => !isTable || name !== 'Routines');
  const selectedTab = tabs.find((name) => name.toLowerCase() === search.get('tab')) ?? 'Who';
  const holderTotals = useHolders(node, false).first?.totals;
  const coveringQuery = names.length === 0 ? { level: 'everything' as const } : { covering: sqlPath(names) };
  const grants = useGrants(coveringQuery);
  const policies = usePolicies(coveringQuery);
  const routines = useGrants({ ...nodeAt(names.slice(0, 2)), level: 'routine' }, !isTable);
  const tabCounts = {
    Who: holderTotals && numberText(holderCount(holderTotals) + holderCount(holderTotals.inside)),
    Grants: loadedCountText(grants),
    Policies: loadedCountText(policies),
    Routines: loadedCountText(routines),
  };
  return (
    <div className="stack">
      <div className="stack stack--tight">
        <PageHead
          title={title}
          breadcrumbs={<Crumbs node={node} />}
          heading={
            <>
              <NodeIcon node={node} />
              {names.length === 0 ? 'Everything' : <Path node={node} />}
            </>
          }
          actions={
            <>
              <Button text="Browse" look="narrow" icon="root" popoverTarget="tree" />
              <NewGrantLink query={nodeQuery === '' ? '' : `?${nodeQuery}`} />
            </>
          }
        />
        <NotInEngineNote names={names} />
        <div className="tabs" role="tablist" aria-label={title}>
          {tabs.map((name) => (
            <Link
              key={name}
              role="tab"
              id={`tab-${name}`}
              href={addressOfNode(node) + (name === 'Who' ? '' : `?tab=${name.toLowerCase()}`)}
              aria-selected={name === selectedTab}
              aria-controls={name === selectedTab ? name : undefined}
              aria-describedby={tabCounts[name] === undefined ? undefined : `tab-${name}-count`}
            >
              {name}
              <span className="count" id={`tab-${name}-count`} aria-hidden="true">
                {tabCounts[name]}
              </span>
            </Link>
          ))}
        </div>
      </div>
      <section className="stack stack--tight" role="tabpanel" id={selectedTab} aria-labelledby={`tab-${selectedTab}`}>
        {selectedTab === 'Who' && <Holders node={node} />}
        {selectedTab === 'Grants' && (
          <GrantTable
            name="Grants"
            list={grants}
            emptyState={
              <EmptyState
                title={`No grant covers ${pathText(node)}`}
                text="Nothing is granted here or on what is above it."
              />
            }
          />
        )}
        {selectedTab === 'Policies' && (
          <PolicyTable
            list={policies}
            emptyState={
              <EmptyState
                title={`No policy covers ${pathText(node)}`}
                text="Whoever may read here reads every row and column."
              />
            }
          />
        )}
        {selectedTab === 'Routines' && (
          <GrantTable
            name="Routines"
            list={routines}
            emptyState={
              <EmptyState
                title="No routine is granted here"
                text="A grant on a function or a procedure says who may execute or call it."
              />
            }
          />
        )}
      </section>
    </div>
  );
}

function NotInEngineNote({ names }: { names: readonly string[] }) {
  const { items } = useChildren(names.length === 0 ? null : names.slice(0, -1), '');
  const child = items?.find(({ name }) => name === names.at(-1));
  if (child?.in_engine !== false) return null;
  return (
    <Note icon="warn">
      Grants or policies name it, and the engine does not list it. They take effect once it is there.
    </Note>
  );
}

type Holder = Schemas['HolderResponse'];
type Node = Partial<NodeNames>;

const PERSON_COLUMN: Column<Holder> = {
  name: 'Person',
  cell: ({ principal }) => (
    <Principal principal={principal} href={principal.type === 'user' ? addressOf(principal) : undefined} />
  ),
};

function holderColumns(node: Node): readonly Column<Holder>[] {
  return [
    PERSON_COLUMN,
    PRIVILEGES_COLUMN,
    { name: 'Limits', className: 'full', cell: (holder) => <Restrictions access={holder} /> },
    {
      name: 'Why',
      className: 'full',
      cell: ({ principal, privileges: [firstPrivilege = 'SELECT'], via }) => (
        <WhyLink href={whyAddress(principal, firstPrivilege, node)} ways={accessWaysOf(via, node)} />
      ),
    },
  ];
}

const INSIDE_HOLDER_COLUMNS: readonly Column<Holder>[] = [
  PERSON_COLUMN,
  {
    name: 'May',
    className: 'full',
    cell: ({ principal, inside, inside_in_all: insideCount }) => (
      <>
        {inside.map(({ resource, privileges }) => (
          <p key={pathText(resource)}>
            <Privileges names={privileges} />{' '}
            <Link href={whyAddress(principal, privileges[0] ?? 'SELECT', resource)}>{pathText(resource)}</Link>
          </p>
        ))}
        {insideCount > inside.length && <p className="hint">and {numberText(insideCount - inside.length)} more</p>}
      </>
    ),
  },
];

function useHolders(node: Node, isReadToEnd: boolean) {
  return usePages(
    ['who', node],
    (page) => bodyOf(api.GET('/api/admin/access/who', { params: { query: { ...node, ...page } } })),
    { isReadToEnd, limit: 1000 },
  );
}

function Holders({ node }: { node: Node }) {
  const { search, change } = useAddress();
  const selectedKey = search.get('way');
  const list = useHolders(node, selectedKey !== null);
  const { items, first } = list;
  const hasNoGrants = useGrants({ state: 'all' }, node.catalog === undefined).items?.length === 0;
  if (hasNoGrants && node.catalog === undefined) return <FirstSteps />;
  if (items?.length === 0) {
    return (
      <EmptyState
        text={
          node.catalog === undefined
            ? 'Open a catalog of the tree to see who reaches what is in it, or look for a person under People.'
            : 'No grant covers it, and nothing above it.'
        }
        title={node.catalog === undefined ? 'Nobody reaches everything at once' : `Nobody reaches ${pathText(node)}`}
        action={<NewGrantLink query={`?${new URLSearchParams({ ...node }).toString()}`} />}
      />
    );
  }
  const ways = first?.totals.ways ?? [];
  const way = ways.find((each) => wayKey(each) === selectedKey) ?? null;
  const holdersOfNode = items?.filter(({ inside, privileges }) => privileges.length > 0 || inside.length === 0) ?? null;
  const holdersInside = items?.filter((holder) => holder.inside.length > 0) ?? null;
  const shownHolders = way === null ? holdersOfNode : (holdersOfNode?.filter((holder) => hasWay(holder, way)) ?? null);
  return (
    <>
      <div className="row row--apart">
        <WayPills
          ways={ways}
          isForEveryone={items?.some(({ via }) => via.some((each) => each.is_for_everyone)) === true}
          totals={first?.totals ?? null}
          selectedKey={way && wayKey(way)}
          selectWay={(key) => change({ way: key }, true)}
        />
        <p className="hint" role="status">
          {first === undefined ? 'Reading who may' : way === null ? allHoldersText(first.totals) : holdersText(way)}
        </p>
      </div>
      <Listing
        name="People with access"
        list={{ ...list, items: shownHolders }}
        emptyState={
          <EmptyState title={`Nobody has all of ${pathText(node)}`} text="Below are those who have something in it." />
        }
        columns={holderColumns(node)}
        count={first === undefined ? undefined : holderCount(way ?? first.totals)}
        keyOf={({ principal }) => principalParameter(principal)}
      />
      {way === null && holdersInside !== null && holdersInside.length > 0 && (
        <Region title="Something in it" isTightStack>
          <Listing
            name="People with something in it"
            list={{ ...list, items: holdersInside }}
            emptyState={null}
            columns={INSIDE_HOLDER_COLUMNS}
            keyOf={({ principal }) => principalParameter(principal)}
          />
        </Region>
      )}
    </>
  );
}

function FirstSteps() {
  const target = usePublishingStatus().data?.target;
  return (
    <EmptyState
      title="Begin with three steps"
      text="Nothing has been granted yet: nobody may read or change anything."
      action={
        <ol className="stack stack--tight">
          <li>
            <ButtonLink text="Add people" href="/people?ask=add-person" />
            <p className="hint">Or let them come from the identity provider.</p>
          </li>
          <li>
            <ButtonLink text="Make the first grant" href="/grants/new" />
            <p className="hint">To whom, what they may, and on what.</p>
          </li>
          <li>
            <ButtonLink text="Connect the engine" href="/publications" />
            <p className="hint">Its file access control reads {target ?? 'the rules that are published'}.</p>
          </li>
        </ol>
      }
    />
  );
}

function allHoldersText({ inside, ...counts }: HolderCounts & { inside: HolderCounts }): string {
  const text = holdersText(counts);
  return holderCount(inside) === 0 ? text : `${text}; something in it: ${holdersText(inside)}`;
}

function hasWay({ via }: Holder, { group }: HolderWay): boolean {
  return group === null
    ? via.length === 0 || via.some((each) => each.group === null)
    : via.some((each) => each.group?.id === group.id);
}

const INITIALLY_SHOWN_WAYS = 4;

interface WayPillsProps {
  ways: readonly HolderWay[];
  isForEveryone: boolean;
  totals: HolderCounts | null;
  selectedKey: string | null;
  selectWay: (key: string) => void;
}

function WayPills({ ways, isForEveryone, totals, selectedKey, selectWay: select }: WayPillsProps) {
  const { search, change } = useAddress();
  const areAllShown = search.has('ways') || ways.length === INITIALLY_SHOWN_WAYS + 1;
  const shownWays = areAllShown
    ? ways
    : ways.filter((way, index) => index < INITIALLY_SHOWN_WAYS || wayKey(way) === selectedKey);
  const hiddenCount = ways.length - shownWays.length;
  const directText = isForEveryone ? 'directly, as everyone' : 'directly';
  const pills = [
    ...(totals === null ? [] : [{ key: '', text: 'Every way', size: holderCount(totals) }]),
    ...shownWays.map((way) => ({ key: wayKey(way), text: way.group?.name ?? directText, size: holderCount(way) })),
  ];
  return (
    <div className="filter-bar routes" role="group" aria-label="Way">
      {pills.map(({ key, text, size: count }) => (
        <button
          key={key}
          className="route"
          type="button"
          aria-pressed={key === (selectedKey ?? '')}
          onClick={() => select(key)}
        >
          {text} <b>{numberText(count)}</b>
        </button>
      ))}
      {hiddenCount > 0 && (
        <button className="route" type="button" aria-expanded="false" onClick={() => change({ ways: 'all' }, true)}>
          {hiddenCount} more ways
        </button>
      )}
    </div>
  );
}
