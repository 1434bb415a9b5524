import { useMutation, useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { Link, useLocation, useParams } from 'wouter';
import { api, bodyOf, type Schemas } from '../api/client.js';
import { usePreview } from '../api/drafts.js';
import { refreshAccess, useGrants, usePolicies } from '../api/entries.js';
import { usePages } from '../api/pages.js';
import { queries } from '../api/session.js';
import { numberText } from '../domain/count-text.js';
import { draftOf, keyOf, type MemberRow, rowsOf, sameAs } from '../domain/member-rows.js';
import { Act } from '../parts/act.js';
import { useUnsaved } from '../parts/address.js';
import { Changes, DraftChange, Totals } from '../parts/changes.js';
import { Button, ButtonLink } from '../parts/controls.js';
import { addressOf, Moment, type Named, Principal, Shape } from '../parts/display.js';
import { GrantTable, NewGrant } from '../parts/grants.js';
import { Failure, Note } from '../parts/notice.js';
import { EntryPage, Headed, Region } from '../parts/page.js';
import { PolicyTable } from '../parts/policies.js';
import { PrincipalCombobox } from '../parts/principal-combobox.js';
import { type Column, Listing } from '../parts/table.js';
import { GroupForm, MANAGED } from './groups.js';

type Group = Schemas['GroupResponse'];

/** One group: its members, what a change of them gives and takes before it is saved, and its grants. */
export function GroupPage() {
  const id = Number(useParams<{ id: string }>().id);
  const query = useQuery({
    queryKey: ['groups', id],
    queryFn: () => bodyOf(api.GET('/api/admin/groups/{id}', { params: { path: { id } } })),
  });
  return (
    <EntryPage title="Group" query={query}>
      {(group) => (
        <main id="main" className="split split--draft" tabIndex={-1}>
          <Members key={id} group={group} />
        </main>
      )}
    </EntryPage>
  );
}

/** The head of a group and what can be done with it, around its members. */
function Head({ group, children }: { group: Group; children: ReactNode }) {
  const [isEditing, setEditing] = useState(false);
  const [, navigate] = useLocation();
  const { id, name, description, source } = group;
  return (
    <Headed
      isForm
      title={name}
      heading={
        <>
          <Shape of={{ type: 'group', name }} />
          {name}
        </>
      }
      intro={
        <>
          {description !== null && `${description} `}Managed {MANAGED[source]}.
        </>
      }
      actions={
        <>
          <NewGrant query={`?principal=group:${id}`} />
          <ButtonLink text="History" href={`/audit?subject=group:${id}`} />
          <Button
            text={source === 'local' ? 'Rename' : 'Describe'}
            aria-expanded={isEditing}
            onClick={() => setEditing(!isEditing)}
          />
          <Act
            title={`Delete ${name}?`}
            act="Delete"
            isDanger
            run={() => bodyOf(api.DELETE('/api/admin/groups/{id}', { params: { path: { id } } }))}
            done={() => {
              void queries.invalidateQueries({ queryKey: ['groups'], refetchType: 'none' });
              navigate('/groups');
            }}
            button={{ text: 'Delete…', look: 'danger' }}
          >
            <p>A group that a grant or a policy names cannot be deleted.</p>
          </Act>
        </>
      }
    >
      {source !== 'local' && (
        <Note>The identity provider says how this group is called and who is in it. Change it there.</Note>
      )}
      {isEditing && <GroupForm group={group} close={() => setEditing(false)} />}
      {children}
    </Headed>
  );
}

/** The members; for groups that are managed here also a draft of changes and its preview. */
function Members({ group }: { group: Group }) {
  const { id, name, source, member_count: count } = group;
  const isLocal = source === 'local';
  const list = usePages(['groups', id, 'members'], (page) =>
    bodyOf(api.GET('/api/admin/groups/{id}/members', { params: { path: { id }, query: page } })),
  );
  const { items } = list;
  const { joins, leaves, setJoins, setLeaves, saving } = useMemberChanges(id);
  const discard = (): void => {
    setJoins([]);
    setLeaves([]);
  };
  const isChanged = joins.length + leaves.length > 0;
  useUnsaved(isChanged);
  const draft = usePreview(isChanged ? draftOf(id, joins, leaves) : null);
  const without = (all: readonly Named[], member: Named) => all.filter((each) => !sameAs(member)(each));
  const add = (member: Named): void => {
    if (leaves.some(sameAs(member))) setLeaves(without(leaves, member));
    else if (!joins.some(sameAs(member)) && items?.some(sameAs(member)) !== true) setJoins([member, ...joins]);
  };
  const act: Column<MemberRow> = {
    name: 'Action',
    className: 'num',
    isHidden: true,
    cell: ({ member, change }) => {
      const text = change === null ? 'Remove' : 'Undo';
      const undo = (): void => {
        setJoins(without(joins, member));
        setLeaves(without(leaves, member));
      };
      return (
        <Button
          text={text}
          look="small quiet"
          aria-label={`${text} ${member.name ?? ''}`}
          onClick={change === null ? () => setLeaves([...leaves, member]) : undo}
        />
      );
    },
  };
  const then = count + joins.length - leaves.length;
  const table = (
    <section>
      <div className="head">
        <h2>Members</h2>
        <span className="count">
          {numberText(count)}
          {then !== count && `, ${numberText(then)} once saved`}
        </span>
      </div>
      <Listing
        name="Members"
        list={{ ...list, items: items && rowsOf(items, joins, leaves) }}
        empty={<p className="dim">Nobody is in this group.</p>}
        columns={isLocal ? [...COLUMNS, act] : COLUMNS}
        count={count + joins.length}
        keyOf={({ member }) => keyOf(member)}
        rowClass={({ change }) => (change === null ? undefined : change === 'joins' ? 'is-new' : 'is-gone')}
      />
    </section>
  );
  return (
    <>
      <div className="stack">
        <Head group={group}>
          {isLocal ? (
            <form
              className="stack"
              aria-label={`Members of ${name}`}
              onSubmit={(event) => {
                event.preventDefault();
                if (isChanged && !saving.isPending) saving.mutate();
              }}
            >
              <PrincipalCombobox
                value={null}
                without={['everyone', 'group']}
                placeholder="Add somebody"
                set={(added) => added !== null && add(added)}
              />
              {table}
              {saving.isError && <Failure problem={saving.error} />}
              <div className="actions actions--sticky">
                <Button
                  text={saving.isPending ? 'Saving…' : 'Save'}
                  look="primary"
                  type="submit"
                  isOff={!isChanged || saving.isPending}
                  aria-busy={saving.isPending}
                />
                <Button text="Discard" look="quiet" isOff={!isChanged} onClick={discard} />
                <DraftChange of={draft.preview} />
                {saving.isSuccess && !isChanged && <NextAct id={id} />}
              </div>
            </form>
          ) : (
            table
          )}
        </Head>
      </div>
      <div className="sunken stack">
        {isChanged && <Totals preview={draft.preview} isComputing={draft.isComputing} />}
        {draft.error !== null && <Failure problem={draft.error} retry={draft.retry} />}
        {draft.preview !== null && <Changes preview={draft.preview} more={draft.more} />}
        <Holdings id={id} />
      </div>
    </>
  );
}

/**
 * A draft of members who join and who leave. They are saved one by one: a saved change is no longer in the draft when a later one is
 * refused, and a change that is added meanwhile stays in it.
 */
function useMemberChanges(id: number) {
  const [joins, setJoins] = useState<readonly Named[]>([]);
  const [leaves, setLeaves] = useState<readonly Named[]>([]);
  const saving = useMutation({
    mutationFn: async () => {
      const paramsOf = (member: Named) => ({ params: { path: { id, member: keyOf(member) } } });
      const without = (member: Named) => (now: readonly Named[]) => now.filter((each) => each !== member);
      for (const member of joins) {
        await bodyOf(api.PUT('/api/admin/groups/{id}/members/{member}', paramsOf(member)));
        setJoins(without(member));
      }
      for (const member of leaves) {
        await bodyOf(api.DELETE('/api/admin/groups/{id}/members/{member}', paramsOf(member)));
        setLeaves(without(member));
      }
    },
    onSettled: () => refreshAccess(),
  });
  const mended = (set: typeof setJoins) => (all: readonly Named[]) => {
    set(all);
    if (!saving.isPending) saving.reset();
  };
  return { joins, leaves, setJoins: mended(setJoins), setLeaves: mended(setLeaves), saving };
}

const COLUMNS: readonly Column<MemberRow>[] = [
  { name: 'Person', cell: ({ member }) => <Principal of={member} href={addressOf(member)} /> },
  {
    name: 'Member',
    cell: ({ change, since }) => (
      <>
        {change === 'joins' && <span className="change">+ joins</span>}
        {change === 'leaves' && <span className="change change--loss">− leaves</span>}
        {change === null && since !== null && (
          <span className="dim">
            since <Moment at={since} />
          </span>
        )}
      </>
    ),
  },
];

/** The notice after members are saved, with a link to a new grant if the group has none. */
function NextAct({ id }: { id: number }) {
  const { items } = useGrants({ principal: `group:${id}` });
  return (
    <p className="hint" role="status">
      Saved.{' '}
      {items?.length === 0 ? (
        <Link href={`/grants/new?principal=group:${id}`}>Make its first grant</Link>
      ) : (
        <>
          Live with the next <Link href="/publications">publication</Link>.
        </>
      )}
    </p>
  );
}

/** The grants and the policies that name a group. */
function Holdings({ id }: { id: number }) {
  const principal = `group:${id}`;
  const grants = useGrants({ principal });
  const policies = usePolicies({ principal });
  return (
    <>
      <Region title="What this group holds">
        <GrantTable name="Grants" isOfOne list={grants} empty={<p className="dim">No grant names this group.</p>} />
      </Region>
      <Region title="What is taken from it">
        <PolicyTable isOfOne list={policies} empty={<p className="dim">No policy names this group.</p>} />
      </Region>
    </>
  );
}
