import { Link } from 'wouter';
import { useGuarantees } from '../api/entries.js';
import { countText, listText, peopleText } from '../domain/count-text.js';
import { formOfGuarantee, type Guarantee, guaranteeSentence, sentenceText } from '../domain/guarantee-form.js';
import { Badge, ButtonLink } from '../parts/controls.js';
import { Moment } from '../parts/display.js';
import { type Filter, FilterBar, SEARCH, useFilters } from '../parts/filter-bar.js';
import { EmptyList, Page, Region } from '../parts/page.js';
import { Sentence } from '../parts/sentence.js';
import { type Column, Listing, useShowMore } from '../parts/table.js';
import { Breach } from '../parts/why-chains.js';

const FILTERS: readonly Filter[] = [
  { parameter: 'state', name: 'State', choices: { holds: 'holds', broken: 'broken' } },
  { parameter: 'mode', name: 'Mode', choices: { enforced: 'enforced', reported: 'reported' } },
];

const sentenceOf = (guarantee: Guarantee) => guaranteeSentence(formOfGuarantee(guarantee));

const COLUMNS: readonly Column<Guarantee>[] = [
  {
    name: 'Guarantee',
    className: 'holder',
    sortKey: 'name',
    cell: ({ id, name }) => <Link href={`/guarantees/${id}`}>{name}</Link>,
  },
  { name: 'Says', className: 'full prose', cell: (guarantee) => <Sentence parts={sentenceOf(guarantee)} /> },
  {
    name: 'State',
    className: 'line full',
    sortKey: 'state',
    cell: ({ state, mode, since }) => (
      <>
        {state === null && <span className="dim">not judged yet</span>}
        {state === 'holds' && <Badge tone="gain" icon="check" text="holds" />}
        {state === 'broken' && <Badge tone="loss" icon="cross" text={<>broken {since && <Moment time={since} />}</>} />}
        {mode === 'reported' && <span className="dim"> reported</span>}
      </>
    ),
  },
  {
    name: 'Proved',
    className: 'line full',
    isLabelled: true,
    sortKey: 'judged_at',
    cell: ({ judged_at: judgedAt, checked }) =>
      judgedAt !== null && (
        <>
          <Moment time={judgedAt} /> <span className="dim">{checkedText(checked)}</span>
        </>
      ),
  },
];

/** The numbers of checked people and nodes: *over 4 people, 12 nodes*. */
export function checkedText(checked: Guarantee['checked']): string {
  return checked === null ? '' : `over ${peopleText(checked.principals)}, ${countText(checked.nodes, 'node')}`;
}

export function Guarantees() {
  const { values } = useFilters(FILTERS);
  const { [SEARCH]: searchText = '', state, mode } = values;
  const allGuarantees = useGuarantees();
  const matchingGuarantees = allGuarantees.items?.filter(
    (guarantee) =>
      `${guarantee.name} ${sentenceText(sentenceOf(guarantee))}`.toLowerCase().includes(searchText.toLowerCase()) &&
      (state ?? guarantee.state) === guarantee.state &&
      (mode ?? guarantee.mode) === guarantee.mode,
  );
  const list = { ...allGuarantees, items: matchingGuarantees ?? null };
  return (
    <Page
      isCompact
      title="Guarantees"
      intro="Sentences that no version may break. They speak of tables, not of where rows travel."
      actions={<ButtonLink text="New guarantee" look="primary" icon="plus" href="/guarantees/new" />}
    >
      <FilterBar placeholder="Search guarantees" filters={FILTERS}>
        {listText(list, 'guarantee')}
      </FilterBar>
      <BrokenGuarantees guarantees={matchingGuarantees?.filter((each) => each.state === 'broken') ?? []} />
      <Listing
        name="Guarantees"
        list={list}
        emptyState={
          <EmptyList
            filterValues={values}
            entryKind="guarantee"
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

function BrokenGuarantees({ guarantees }: { guarantees: readonly Guarantee[] }) {
  const [shownGuarantees, moreButton] = useShowMore(guarantees, 3);
  if (guarantees.length === 0) return null;
  return (
    <Region title="Broken" count={guarantees.length}>
      {shownGuarantees.map(({ id, name, witnesses: [witness] }) => {
        const link = <Link href={`/guarantees/${id}`}>{name}</Link>;
        return witness && <Breach key={id} witness={witness} guaranteeLink={<b>{link}:</b>} />;
      })}
      {moreButton}
    </Region>
  );
}
