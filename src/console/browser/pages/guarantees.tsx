import { Link } from 'wouter';
import { useGuarantees } from '../api/guarantees.js';
import { countText, listText, peopleText } from '../domain/count-text.js';
import { formOfGuarantee, type Guarantee, sentenceOf, textOf } from '../domain/guarantee-form.js';
import { Badge, ButtonLink } from '../parts/controls.js';
import { Moment } from '../parts/display.js';
import { type Filter, FilterBar, SEARCH, useFilters } from '../parts/filter-bar.js';
import { NoEntry, Page, Region } from '../parts/page.js';
import { Sentence } from '../parts/sentence.js';
import { type Column, Listing, useFirst } from '../parts/table.js';
import { Breach } from '../parts/why-chains.js';

const FILTERS: readonly Filter[] = [
  { parameter: 'state', name: 'State', choices: { holds: 'holds', broken: 'broken' } },
  { parameter: 'mode', name: 'Mode', choices: { enforced: 'enforced', reported: 'reported' } },
];

const partsOf = (guarantee: Guarantee) => sentenceOf(formOfGuarantee(guarantee));

const COLUMNS: readonly Column<Guarantee>[] = [
  {
    name: 'Guarantee',
    className: 'holder',
    order: 'name',
    cell: ({ id, name }) => <Link href={`/guarantees/${id}`}>{name}</Link>,
  },
  { name: 'Says', className: 'full prose', cell: (guarantee) => <Sentence parts={partsOf(guarantee)} /> },
  {
    name: 'State',
    className: 'line',
    order: 'state',
    cell: ({ state, mode, since }) => (
      <>
        {state === null && <span className="dim">not judged yet</span>}
        {state === 'holds' && <Badge tone="gain" icon="check" text="holds" />}
        {state === 'broken' && <Badge tone="loss" icon="cross" text={<>broken {since && <Moment at={since} />}</>} />}
        {mode === 'reported' && <span className="dim"> reported</span>}
      </>
    ),
  },
  {
    name: 'Proved',
    className: 'line',
    isLabelled: true,
    order: 'judged_at',
    cell: ({ judged_at: at, checked }) =>
      at !== null && (
        <>
          <Moment at={at} /> <span className="dim">{checkedText(checked)}</span>
        </>
      ),
  },
];

/** *over 4 people, 12 nodes*. */
export function checkedText(checked: Guarantee['checked']): string {
  return checked === null ? '' : `over ${peopleText(checked.principals)}, ${countText(checked.nodes, 'node')}`;
}

/** Sentences that no version may break, and what breaks those that are broken. */
export function Guarantees() {
  const { asked } = useFilters(FILTERS);
  const { [SEARCH]: text = '', state, mode } = asked;
  const all = useGuarantees();
  const items = all.items?.filter(
    (each) =>
      `${each.name} ${textOf(partsOf(each))}`.toLowerCase().includes(text.toLowerCase()) &&
      (state ?? each.state) === each.state &&
      (mode ?? each.mode) === each.mode,
  );
  const list = { ...all, items: items ?? null };
  return (
    <Page
      isClose
      title="Guarantees"
      intro="Sentences that no version may break. They speak of tables, not of where rows travel."
      actions={<ButtonLink text="New guarantee" look="primary" icon="plus" href="/guarantees/new" />}
    >
      <FilterBar placeholder="Search guarantees" filters={FILTERS}>
        {listText(list, 'guarantee')}
      </FilterBar>
      <Broken guarantees={items?.filter((each) => each.state === 'broken') ?? []} />
      <Listing
        name="Guarantees"
        list={list}
        empty={
          <NoEntry
            asked={asked}
            word="guarantee"
            title="No guarantee yet"
            text="Nothing holds grants back. Begin with New guarantee."
          />
        }
        columns={COLUMNS}
        keyOf={({ id }) => id}
      />
    </Page>
  );
}

/** Broken guarantees that are shown at first. */
const FIRST = 3;

/** The broken ones, each with the first of its breaches. */
function Broken({ guarantees }: { guarantees: readonly Guarantee[] }) {
  const [first, more] = useFirst(guarantees, FIRST);
  if (guarantees.length === 0) return null;
  return (
    <Region title="Broken" count={guarantees.length}>
      {first.map(({ id, name, witnesses: [witness] }) => {
        const link = <Link href={`/guarantees/${id}`}>{name}</Link>;
        return witness && <Breach key={id} of={witness} about={<b>{link}:</b>} />;
      })}
      {more}
    </Region>
  );
}
