import { Link } from 'wouter';
import { api, bodyOf, type Schemas } from '../api/client.js';
import { usePages } from '../api/pages.js';
import { countText, numberText, peopleText } from '../domain/count-text.js';
import { type NodeNames, pathText } from '../domain/node-path.js';
import { type Way, WAY, wayKey, waysThrough } from '../domain/holder-ways.js';
import { principalParameter } from '../domain/principal.js';
import { whyAddress } from '../domain/why-address.js';
import { Limits, Privileges, WhyLink } from './access.js';
import { useAddress } from './address.js';
import { NewGrant } from './grants.js';
import { Listing } from './listing.js';
import { Empty } from './page.js';
import { addressOf, Principal } from './principal.js';
import { Cell } from './table.js';

type Holder = Schemas['HolderResponse'];
type Node = Partial<NodeNames>;

const COLUMNS = ['Person', 'May', 'Limits', 'Why'].map((name) => ({ name }));

const COLUMNS_INSIDE = ['Person', 'May'].map((name) => ({ name }));

/** Everybody who may do something on a node, or in it. */
export function useWho(node: Node, isWhole: boolean) {
  return usePages(
    ['who', node],
    (page) => bodyOf(api.GET('/api/admin/access/who', { params: { query: { ...node, ...page } } })),
    { isWhole, limit: 1000 },
  );
}

/** Who may do what on a node, and through what: the ways are the summary, and filter the table. */
export function Who({ node }: { node: Node }) {
  const { search, change } = useAddress();
  const asked = search.get(WAY);
  const list = useWho(node, asked !== null);
  const { items, first } = list;
  if (items?.length === 0) {
    return (
      <Empty
        title={node.catalog === undefined ? 'Nobody reaches everything at once' : `Nobody reaches ${pathText(node)}`}
        action={<NewGrant query={`?${new URLSearchParams({ ...node }).toString()}`} />}
      >
        {node.catalog === undefined
          ? 'Open a catalog of the tree to see who reaches what is in it, or look for a person under People.'
          : 'No grant covers it, and nothing above it.'}
      </Empty>
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
        empty={<Empty title={`Nobody has all of ${pathText(node)}`}>Below are those who have something in it.</Empty>}
        columns={COLUMNS}
        count={first === undefined ? undefined : sizeOf(way ?? first.totals)}
        keyOf={({ principal }) => principalParameter(principal)}
        cells={(holder) => <HolderCells holder={holder} node={node} />}
      />
      {way === null && inside !== null && inside.length > 0 && (
        <section className="stack stack--tight">
          <h2>Something in it</h2>
          <Listing
            name="People with something in it"
            list={{ ...list, items: inside }}
            empty={null}
            columns={COLUMNS_INSIDE}
            count={undefined}
            keyOf={({ principal }) => principalParameter(principal)}
            cells={(holder) => <InsideCells holder={holder} />}
          />
        </section>
      )}
    </>
  );
}

interface Counted {
  people: number;
  engine_principals: number;
}

export function sizeOf({ people, engine_principals: engine }: Counted): number {
  return people + engine;
}

function holdersText({ people, engine_principals: engine }: Counted): string {
  return [peopleText(people), ...(engine === 0 ? [] : [countText(engine, 'engine principal')])].join(', ');
}

function allHoldersText({ inside, ...all }: Counted & { inside: Counted }): string {
  return sizeOf(inside) === 0 ? holdersText(all) : `${holdersText(all)}; something in it: ${holdersText(inside)}`;
}

function isThrough({ via }: Holder, { group }: Way): boolean {
  return group === null
    ? via.length === 0 || via.some((each) => each.group === null)
    : via.some((each) => each.group?.id === group.id);
}

/** Ways that are shown without asking for the others. */
const FIRST_WAYS = 4;

interface WayPillsProps {
  ways: readonly Way[];
  /** Some of those who need no group are among everyone. */
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
  return (
    <div className="filter-bar routes" role="group" aria-label="Way">
      {all !== null && (
        <button className="route" type="button" aria-pressed={asked === null} onClick={() => pick('')}>
          Every way <b>{numberText(sizeOf(all))}</b>
        </button>
      )}
      {shown.map((way) => (
        <button
          key={wayKey(way)}
          className="route"
          type="button"
          aria-pressed={wayKey(way) === asked}
          onClick={() => pick(wayKey(way))}
        >
          {way.group?.name ?? (isForEveryone ? 'directly, as everyone' : 'directly')} <b>{numberText(sizeOf(way))}</b>
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

function InsideCells({ holder: { principal, inside, inside_in_all: all } }: { holder: Holder }) {
  return (
    <>
      <Cell>
        <Principal of={principal} href={principal.type === 'user' ? addressOf(principal) : undefined} />
      </Cell>
      <Cell className="may">
        {inside.map(({ resource, privileges }) => (
          <p key={pathText(resource)}>
            <Privileges names={privileges} />{' '}
            <Link href={whyAddress(principal, privileges[0] ?? 'SELECT', resource)}>{pathText(resource)}</Link>
          </p>
        ))}
        {all > inside.length && <p className="hint">and {numberText(all - inside.length)} more</p>}
      </Cell>
    </>
  );
}

function HolderCells({ holder, node }: { holder: Holder; node: Node }) {
  const { principal, privileges } = holder;
  const [first = 'SELECT'] = privileges;
  const isPerson = principal.type === 'user';
  return (
    <>
      <Cell>
        <Principal of={principal} href={isPerson ? addressOf(principal) : undefined} />
      </Cell>
      <Cell className="may">
        <Privileges names={privileges} />
      </Cell>
      <Cell className="full">
        <Limits of={holder} />
      </Cell>
      <Cell className="full">
        <WhyLink href={whyAddress(principal, first, node)} ways={waysThrough(holder.via, node)} />
      </Cell>
    </>
  );
}
