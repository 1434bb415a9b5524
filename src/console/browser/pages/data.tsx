import { Link, useLocation } from 'wouter';
import { useChildren } from '../api/catalog.js';
import { api, bodyOf, type Schemas } from '../api/client.js';
import { useGrants, usePolicies } from '../api/entries.js';
import { countOf, usePages } from '../api/pages.js';
import { usePublishingStatus } from '../api/publishing.js';
import { type Counted, holdersText, numberText, sizeOf } from '../domain/count-text.js';
import { type Way, WAY, wayKey, waysThrough } from '../domain/holder-ways.js';
import { addressOfNode, nodeAt, type NodeNames, pathText, sqlPath } from '../domain/node-path.js';
import { principalParameter } from '../domain/principal.js';
import { whyAddress } from '../domain/why-address.js';
import { useAddress } from '../parts/address.js';
import { Button, ButtonLink } from '../parts/controls.js';
import { DataTree } from '../parts/data-tree.js';
import { addressOf, Crumbs, Limits, NodeIcon, Path, Principal, Privileges, WhyLink } from '../parts/display.js';
import { GrantTable, NewGrant } from '../parts/grants.js';
import { Note } from '../parts/notice.js';
import { Empty, NotFoundPage, PageHead } from '../parts/page.js';
import { PolicyTable } from '../parts/policies.js';
import { type Column, Listing } from '../parts/table.js';

const TAB = 'tab';
const TABS = ['Who', 'Grants', 'Policies', 'Routines'] as const;

/** The names in the address, which the router does not decode fully. Null: malformed. */
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
  if (names === null) return <NotFoundPage />;
  return (
    <main id="main" className="split" tabIndex={-1}>
      <DataTree open={names} />
      <NodePage key={names.join('\0')} names={names} />
    </main>
  );
}

function NodePage({ names }: { names: readonly string[] }) {
  const node = nodeAt(names);
  const isTable = names.length === 3;
  const title = names.length === 0 ? 'Data' : pathText(node);
  const form = new URLSearchParams({ ...node }).toString();
  const { search } = useAddress();
  const tabs = TABS.filter((name) => !isTable || name !== 'Routines');
  const selected = tabs.find((name) => name.toLowerCase() === search.get(TAB)) ?? 'Who';
  const who = useWho(node, false).first?.totals;
  const covering = names.length === 0 ? { level: 'everything' as const } : { covering: sqlPath(names) };
  const grants = useGrants(covering);
  const policies = usePolicies(covering);
  const routines = useGrants({ ...nodeAt(names.slice(0, 2)), level: 'routine' }, !isTable);
  const counts = {
    Who: who && numberText(sizeOf(who) + sizeOf(who.inside)),
    Grants: countOf(grants),
    Policies: countOf(policies),
    Routines: countOf(routines),
  };
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
          actions={
            <>
              <Button text="Browse" look="narrow" icon="root" popoverTarget="tree" />
              <NewGrant query={form === '' ? '' : `?${form}`} />
            </>
          }
        />
        <NotInEngine names={names} />
        <div className="tabs" role="tablist" aria-label={title}>
          {tabs.map((name) => (
            <Link
              key={name}
              role="tab"
              id={`tab-${name}`}
              href={addressOfNode(node) + (name === 'Who' ? '' : `?${TAB}=${name.toLowerCase()}`)}
              aria-selected={name === selected}
              aria-controls={name === selected ? name : undefined}
              aria-describedby={counts[name] === undefined ? undefined : `tab-${name}-count`}
            >
              {name}
              <span className="count" id={`tab-${name}-count`} aria-hidden="true">
                {counts[name]}
              </span>
            </Link>
          ))}
        </div>
      </div>
      <section className="stack stack--tight" role="tabpanel" id={selected} aria-labelledby={`tab-${selected}`}>
        {selected === 'Who' && <Who node={node} />}
        {selected === 'Grants' && (
          <GrantTable
            name="Grants"
            list={grants}
            empty={
              <Empty
                title={`No grant covers ${pathText(node)}`}
                text="Nothing is granted here or on what is above it."
              />
            }
          />
        )}
        {selected === 'Policies' && (
          <PolicyTable
            list={policies}
            empty={
              <Empty
                title={`No policy covers ${pathText(node)}`}
                text="Whoever may read here reads every row and column."
              />
            }
          />
        )}
        {selected === 'Routines' && (
          <GrantTable
            name="Routines"
            list={routines}
            empty={
              <Empty
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

/** A notice about a node that is granted although the engine does not list it. */
function NotInEngine({ names }: { names: readonly string[] }) {
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

const PERSON: Column<Holder> = {
  name: 'Person',
  cell: ({ principal }) => (
    <Principal of={principal} href={principal.type === 'user' ? addressOf(principal) : undefined} />
  ),
};

function columnsOn(node: Node): readonly Column<Holder>[] {
  return [
    PERSON,
    { name: 'May', className: 'may', cell: ({ privileges }) => <Privileges names={privileges} /> },
    { name: 'Limits', className: 'full', cell: (holder) => <Limits of={holder} /> },
    {
      name: 'Why',
      className: 'full',
      cell: ({ principal, privileges: [first = 'SELECT'], via }) => (
        <WhyLink href={whyAddress(principal, first, node)} ways={waysThrough(via, node)} />
      ),
    },
  ];
}

const COLUMNS_INSIDE: readonly Column<Holder>[] = [
  PERSON,
  {
    name: 'May',
    className: 'may',
    cell: ({ principal, inside, inside_in_all: all }) => (
      <>
        {inside.map(({ resource, privileges }) => (
          <p key={pathText(resource)}>
            <Privileges names={privileges} />{' '}
            <Link href={whyAddress(principal, privileges[0] ?? 'SELECT', resource)}>{pathText(resource)}</Link>
          </p>
        ))}
        {all > inside.length && <p className="hint">and {numberText(all - inside.length)} more</p>}
      </>
    ),
  },
];

/** The holders of a node, and those of nodes in it. */
function useWho(node: Node, isWhole: boolean) {
  return usePages(
    ['who', node],
    (page) => bodyOf(api.GET('/api/admin/access/who', { params: { query: { ...node, ...page } } })),
    { isWhole, limit: 1000 },
  );
}

/** The holders of a node and their ways; the ways filter the table. */
function Who({ node }: { node: Node }) {
  const { search, change } = useAddress();
  const asked = search.get(WAY);
  const list = useWho(node, asked !== null);
  const { items, first } = list;
  const isNew = useGrants({ state: 'all' }, node.catalog === undefined).items?.length === 0;
  if (isNew && node.catalog === undefined) return <FirstSteps />;
  if (items?.length === 0) {
    return (
      <Empty
        text={
          node.catalog === undefined
            ? 'Open a catalog of the tree to see who reaches what is in it, or look for a person under People.'
            : 'No grant covers it, and nothing above it.'
        }
        title={node.catalog === undefined ? 'Nobody reaches everything at once' : `Nobody reaches ${pathText(node)}`}
        action={<NewGrant query={`?${new URLSearchParams({ ...node }).toString()}`} />}
      />
    );
  }
  const ways = first?.totals.ways ?? [];
  const way = ways.find((each) => wayKey(each) === asked) ?? null;
  const whole = items?.filter(({ inside, privileges }) => privileges.length > 0 || inside.length === 0) ?? null;
  const inside = items?.filter((holder) => holder.inside.length > 0) ?? null;
  const shown = way === null ? whole : (whole?.filter((holder) => isThrough(holder, way)) ?? null);
  return (
    <>
      <div className="row row--apart">
        <WayPills
          ways={ways}
          isForEveryone={items?.some(({ via }) => via.some((each) => each.is_for_everyone)) === true}
          all={first?.totals ?? null}
          asked={way && wayKey(way)}
          pick={(key) => change({ [WAY]: key }, true)}
        />
        <p className="hint" role="status">
          {first === undefined ? 'Reading who may' : way === null ? allHoldersText(first.totals) : holdersText(way)}
        </p>
      </div>
      <Listing
        name="People with access"
        list={{ ...list, items: shown }}
        empty={<Empty title={`Nobody has all of ${pathText(node)}`} text="Below are those who have something in it." />}
        columns={columnsOn(node)}
        count={first === undefined ? undefined : sizeOf(way ?? first.totals)}
        keyOf={({ principal }) => principalParameter(principal)}
      />
      {way === null && inside !== null && inside.length > 0 && (
        <section className="stack stack--tight">
          <h2>Something in it</h2>
          <Listing
            name="People with something in it"
            list={{ ...list, items: inside }}
            empty={null}
            columns={COLUMNS_INSIDE}
            keyOf={({ principal }) => principalParameter(principal)}
          />
        </section>
      )}
    </>
  );
}

/** What to do while nothing has ever been granted. */
function FirstSteps() {
  const target = usePublishingStatus().data?.target;
  return (
    <Empty
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

function allHoldersText({ inside, ...all }: Counted & { inside: Counted }): string {
  return sizeOf(inside) === 0 ? holdersText(all) : `${holdersText(all)}; something in it: ${holdersText(inside)}`;
}

function isThrough({ via }: Holder, { group }: Way): boolean {
  return group === null
    ? via.length === 0 || via.some((each) => each.group === null)
    : via.some((each) => each.group?.id === group.id);
}

/** Ways that are shown at first. */
const FIRST_WAYS = 4;

interface WayPillsProps {
  ways: readonly Way[];
  /** Whether some holders without a group have access through everyone. */
  isForEveryone: boolean;
  all: Counted | null;
  asked: string | null;
  /** Empty: every way. */
  pick: (way: string) => void;
}

function WayPills({ ways, isForEveryone, all, asked, pick }: WayPillsProps) {
  const { search, change } = useAddress();
  const isWhole = search.has('ways') || ways.length === FIRST_WAYS + 1;
  const shown = isWhole ? ways : ways.filter((way, at) => at < FIRST_WAYS || wayKey(way) === asked);
  const others = ways.length - shown.length;
  const direct = isForEveryone ? 'directly, as everyone' : 'directly';
  const pills = [
    ...(all === null ? [] : [{ key: '', text: 'Every way', size: sizeOf(all) }]),
    ...shown.map((way) => ({ key: wayKey(way), text: way.group?.name ?? direct, size: sizeOf(way) })),
  ];
  return (
    <div className="filter-bar routes" role="group" aria-label="Way">
      {pills.map(({ key, text, size }) => (
        <button
          key={key}
          className="route"
          type="button"
          aria-pressed={key === (asked ?? '')}
          onClick={() => pick(key)}
        >
          {text} <b>{numberText(size)}</b>
        </button>
      ))}
      {others > 0 && (
        <button className="route" type="button" aria-expanded="false" onClick={() => change({ ways: 'all' }, true)}>
          {others} more ways
        </button>
      )}
    </div>
  );
}
