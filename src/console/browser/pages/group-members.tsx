import { type ReactNode, useState } from 'react';
import { api, bodyOf, type Schemas } from '../api/client.js';
import { usePreview } from '../api/drafts.js';
import { usePages } from '../api/pages.js';
import { useMemberChanges } from '../api/member-changes.js';
import { numberText } from '../domain/count-text.js';
import { draftOf, keyOf, type MemberRow, rowsOf, sameAs } from '../domain/member-rows.js';
import { DraftChange } from '../parts/change.js';
import { Changes, Totals } from '../parts/changes.js';
import { Failure } from '../parts/failure.js';
import { Listing, type Pages } from '../parts/listing.js';
import { Moment } from '../parts/moment.js';
import { addressOf, type Named, Principal } from '../parts/principal.js';
import { PrincipalCombobox } from '../parts/principal-combobox.js';
import { Cell } from '../parts/table.js';

type Group = Schemas['GroupResponse'];

interface MembersProps {
  group: Group;
  head: ReactNode;
  holdings: ReactNode;
}

function useMembers(id: number) {
  return usePages(['groups', id, 'members'], (page) =>
    bodyOf(api.GET('/api/admin/groups/{id}/members', { params: { path: { id }, query: page } })),
  );
}

/** Members that are managed here: a draft of changes, and beside it what they give and take. */
export function GroupMembers({ group, head, holdings }: MembersProps) {
  const list = useMembers(group.id);
  const { items } = list;
  const { joins, leaves, setJoins, setLeaves, saving, discard } = useMemberChanges(group.id);
  const isChanged = joins.length + leaves.length > 0;
  const draft = usePreview(isChanged ? draftOf(group.id, joins, leaves) : null);
  const add = (member: Named): void => {
    const isLeaving = leaves.some(sameAs(member));
    if (isLeaving) setLeaves(leaves.filter((each) => !sameAs(member)(each)));
    else if (!joins.some(sameAs(member)) && items?.some(sameAs(member)) !== true) setJoins([member, ...joins]);
  };
  const rows = items && rowsOf(items, joins, leaves);
  return (
    <>
      <div className="stack">
        {head}
        <form
          className="stack"
          aria-label={`Members of ${group.name}`}
          onSubmit={(event) => {
            event.preventDefault();
            if (isChanged && !saving.isPending) saving.mutate();
          }}
        >
          <AddMember add={add} />
          <section>
            <MembersHead count={group.member_count} then={group.member_count + joins.length - leaves.length} />
            <MembersTable
              list={{ ...list, items: rows }}
              count={group.member_count + joins.length}
              act={(row) => (
                <RowButton
                  row={row}
                  undo={() => {
                    setJoins(joins.filter((each) => !sameAs(row.member)(each)));
                    setLeaves(leaves.filter((each) => !sameAs(row.member)(each)));
                  }}
                  remove={() => setLeaves([...leaves, row.member])}
                />
              )}
            />
          </section>
          {saving.isError && <Failure problem={saving.error} />}
          <div className="actions actions--sticky">
            <button
              className="button button--primary"
              type="submit"
              aria-disabled={!isChanged || saving.isPending}
              aria-busy={saving.isPending}
            >
              {saving.isPending ? 'Saving…' : 'Save'}
            </button>
            <button className="button button--quiet" type="button" aria-disabled={!isChanged} onClick={discard}>
              Discard
            </button>
            <DraftChange of={draft.preview} />
          </div>
        </form>
      </div>
      <div className="sunken stack">
        {isChanged && <Totals preview={draft.preview} isComputing={draft.isComputing} />}
        {draft.error !== null && <Failure problem={draft.error} retry={draft.retry} />}
        {draft.preview !== null && <Changes preview={draft.preview} more={draft.more} />}
        {holdings}
      </div>
    </>
  );
}

/** Members that the identity provider manages. */
export function ProvidedMembers({ group, head, holdings }: MembersProps) {
  const list = useMembers(group.id);
  const { items } = list;
  return (
    <>
      <div className="stack">
        {head}
        <section>
          <MembersHead count={group.member_count} then={group.member_count} />
          <MembersTable list={{ ...list, items: items && rowsOf(items, [], []) }} count={group.member_count} />
        </section>
      </div>
      <div className="sunken stack">{holdings}</div>
    </>
  );
}

function AddMember({ add }: { add: (member: Named) => void }) {
  const [count, setCount] = useState(0);
  const [chosen, setChosen] = useState<Named | null>(null);
  return (
    <div className="stack stack--tight">
      <PrincipalCombobox
        // Empty again for the next one.
        key={count}
        value={chosen}
        without={['everyone', 'group']}
        placeholder="Add somebody"
        set={setChosen}
      />
      <div className="row">
        <button
          className="button button--small"
          type="button"
          aria-disabled={chosen === null}
          onClick={() => {
            if (chosen === null) return;
            add(chosen);
            setChosen(null);
            setCount(count + 1);
          }}
        >
          Add to the draft
        </button>
      </div>
    </div>
  );
}

function MembersHead({ count, then }: { count: number; then: number }) {
  return (
    <div className="head">
      <h2>Members</h2>
      <span className="count">
        {numberText(count)}
        {then !== count && `, ${numberText(then)} once saved`}
      </span>
    </div>
  );
}

interface MembersTableProps {
  list: Pages<MemberRow>;
  count: number;
  act?: (row: MemberRow) => ReactNode;
}

const COLUMNS = [{ name: 'Person' }, { name: 'Member' }, { name: 'Action', isHidden: true }];

function MembersTable({ list, count, act }: MembersTableProps) {
  return (
    <Listing
      name="Members"
      list={list}
      empty={<p className="dim">Nobody is in this group.</p>}
      columns={act === undefined ? COLUMNS.slice(0, 2) : COLUMNS}
      count={count}
      keyOf={({ member }) => keyOf(member)}
      rowClass={({ change }) => (change === null ? undefined : change === 'joins' ? 'is-new' : 'is-gone')}
      cells={(row) => (
        <>
          <Cell>
            <Principal of={row.member} href={addressOf(row.member)} />
          </Cell>
          <Cell>
            {row.change === 'joins' && <span className="change">+ joins</span>}
            {row.change === 'leaves' && <span className="change change--loss">− leaves</span>}
            {row.change === null && row.since !== null && (
              <span className="dim">
                since <Moment at={row.since} />
              </span>
            )}
          </Cell>
          {act !== undefined && <Cell className="num">{act(row)}</Cell>}
        </>
      )}
    />
  );
}

function RowButton({ row, undo, remove }: { row: MemberRow; undo: () => void; remove: () => void }) {
  const text = row.change === null ? 'Remove' : 'Undo';
  return (
    <button
      className="button button--small button--quiet"
      type="button"
      onClick={row.change === null ? remove : undo}
      aria-label={`${text} ${row.member.name ?? ''}`}
    >
      {text}
    </button>
  );
}
