import { useMutation, useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { Link, useLocation, useParams } from 'wouter';
import { api, bodyOf, type Schemas } from '../api/client.js';
import { refreshAccess, useGrants, usePolicies, usePreview } from '../api/entries.js';
import { usePages } from '../api/pages.js';
import { queryClient } from '../api/session.js';
import { numberText } from '../domain/count-text.js';
import { memberDraft, memberKey, type MemberRow, memberRows, isSameMember } from '../domain/member-rows.js';
import { ActionButton } from '../parts/action-dialog.js';
import { useUnsavedWarning } from '../parts/address.js';
import { DraftCounts, DraftEffects, DraftTotals } from '../parts/changes.js';
import { Button, ButtonLink } from '../parts/controls.js';
import { addressOf, Moment, type PrincipalRef, Principal, PrincipalIcon } from '../parts/display.js';
import { GrantTable, NewGrantLink, PolicyTable } from '../parts/entries.js';
import { Failure, Note } from '../parts/notice.js';
import { EntryPage, PageHead, Region } from '../parts/page.js';
import { PrincipalCombobox } from '../parts/combobox.js';
import { actionColumn, type Column, Listing } from '../parts/table.js';
import { GroupForm, MANAGED_BY_TEXTS } from './groups.js';

type Group = Schemas['GroupResponse'];

/** The page of a group: its members, a preview of unsaved changes, and its grants. */
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

function GroupHead({ group, children }: { group: Group; children: ReactNode }) {
  const [isEditing, setEditing] = useState(false);
  const [, navigate] = useLocation();
  const { id, name, description, source } = group;
  return (
    <PageHead
      isForm
      title={name}
      heading={
        <>
          <PrincipalIcon principal={{ type: 'group', name }} />
          {name}
        </>
      }
      intro={
        <>
          {description !== null && `${description} `}Managed {MANAGED_BY_TEXTS[source]}.
        </>
      }
      actions={
        <>
          <NewGrantLink query={`?principal=group:${id}`} />
          <ButtonLink text="History" href={`/audit?subject=group:${id}`} />
          <Button
            text={source === 'local' ? 'Rename' : 'Describe'}
            aria-expanded={isEditing}
            onClick={() => setEditing(!isEditing)}
          />
          <ActionButton
            title={`Delete ${name}?`}
            action="Delete"
            isDanger
            run={() => bodyOf(api.DELETE('/api/admin/groups/{id}', { params: { path: { id } } }))}
            onDone={() => {
              void queryClient.invalidateQueries({ queryKey: ['groups'], refetchType: 'none' });
              navigate('/groups');
            }}
            button={{ text: 'Delete…', look: 'danger' }}
          >
            <p>A group that a grant or a policy names cannot be deleted.</p>
          </ActionButton>
        </>
      }
    >
      {source !== 'local' && (
        <Note>The identity provider says how this group is called and who is in it. Change it there.</Note>
      )}
      {isEditing && <GroupForm group={group} close={() => setEditing(false)} />}
      {children}
    </PageHead>
  );
}

function Members({ group }: { group: Group }) {
  const { id, name, source, member_count: count } = group;
  const isLocal = source === 'local';
  const list = usePages(['groups', id, 'members'], (page) =>
    bodyOf(api.GET('/api/admin/groups/{id}/members', { params: { path: { id }, query: page } })),
  );
  const { items } = list;
  const { addedMembers, removedMembers, setAdded, setRemoved, saveMutation } = useMemberChanges(id);
  const discardChanges = (): void => {
    setAdded([]);
    setRemoved([]);
  };
  const hasChanges = addedMembers.length + removedMembers.length > 0;
  useUnsavedWarning(hasChanges);
  const draft = hasChanges ? memberDraft(id, addedMembers, removedMembers) : null;
  const preview = usePreview(draft);
  const addMember = (member: PrincipalRef): void => {
    if (removedMembers.some(isSameMember(member))) setRemoved(membersWithout(removedMembers, member));
    else if (!addedMembers.some(isSameMember(member)) && items?.some(isSameMember(member)) !== true)
      setAdded([member, ...addedMembers]);
  };
  const changeColumn = actionColumn<MemberRow>(({ member, change }) => {
    const text = change === null ? 'Remove' : 'Undo';
    const undoChange = (): void => {
      setAdded(membersWithout(addedMembers, member));
      setRemoved(membersWithout(removedMembers, member));
    };
    return (
      <Button
        text={text}
        look="small quiet"
        aria-label={`${text} ${member.name ?? ''}`}
        onClick={change === null ? () => setRemoved([...removedMembers, member]) : undoChange}
      />
    );
  });
  const countOnceSaved = count + addedMembers.length - removedMembers.length;
  const memberTable = (
    <Region
      title="Members"
      count={
        countOnceSaved === count ? numberText(count) : `${numberText(count)}, ${numberText(countOnceSaved)} once saved`
      }
    >
      <Listing
        name="Members"
        list={{ ...list, items: items && memberRows(items, addedMembers, removedMembers) }}
        emptyState={<p className="dim">Nobody is in this group.</p>}
        columns={isLocal ? [...COLUMNS, changeColumn] : COLUMNS}
        count={count + addedMembers.length}
        keyOf={({ member }) => memberKey(member)}
        rowClass={({ change }) => (change === null ? undefined : change === 'joins' ? 'is-new' : 'is-gone')}
      />
    </Region>
  );
  return (
    <>
      <div className="stack">
        <GroupHead group={group}>
          {isLocal ? (
            <form
              className="stack"
              aria-label={`Members of ${name}`}
              onSubmit={(event) => {
                event.preventDefault();
                if (hasChanges && !saveMutation.isPending) saveMutation.mutate();
              }}
            >
              <PrincipalCombobox
                value={null}
                excludedKinds={['everyone', 'group']}
                placeholder="Add somebody"
                set={(member) => member !== null && addMember(member)}
              />
              {memberTable}
              {saveMutation.isError && <Failure problem={saveMutation.error} />}
              <div className="actions actions--sticky">
                <Button
                  text={saveMutation.isPending ? 'Saving…' : 'Save'}
                  look="primary"
                  type="submit"
                  isDisabled={!hasChanges || saveMutation.isPending}
                  aria-busy={saveMutation.isPending}
                />
                <Button text="Discard" look="quiet" isDisabled={!hasChanges} onClick={discardChanges} />
                <DraftCounts {...preview} />
                {saveMutation.isSuccess && !hasChanges && <SavedNotice id={id} />}
              </div>
            </form>
          ) : (
            memberTable
          )}
        </GroupHead>
      </div>
      <div className="sunken stack">
        {hasChanges && <DraftTotals {...preview} />}
        <DraftEffects {...preview} />
        <Holdings id={id} />
      </div>
    </>
  );
}

const membersWithout = (members: readonly PrincipalRef[], member: PrincipalRef): PrincipalRef[] =>
  members.filter((each) => !isSameMember(member)(each));

/**
 * A draft of members to add and to remove. Each change is saved by its own request, and leaves the draft when it is saved. Refused changes
 * stay in the draft, and so do changes that are made during the saving.
 */
function useMemberChanges(id: number) {
  const [addedMembers, setAdded] = useState<readonly PrincipalRef[]>([]);
  const [removedMembers, setRemoved] = useState<readonly PrincipalRef[]>([]);
  const saveMutation = useMutation({
    mutationFn: async () => {
      const paramsOf = (member: PrincipalRef) => ({ params: { path: { id, member: memberKey(member) } } });
      for (const member of addedMembers) {
        await bodyOf(api.PUT('/api/admin/groups/{id}/members/{member}', paramsOf(member)));
        setAdded((members) => membersWithout(members, member));
      }
      for (const member of removedMembers) {
        await bodyOf(api.DELETE('/api/admin/groups/{id}/members/{member}', paramsOf(member)));
        setRemoved((members) => membersWithout(members, member));
      }
    },
    onSettled: () => refreshAccess(),
  });
  const resettingSetter = (setMembers: typeof setAdded) => (members: readonly PrincipalRef[]) => {
    setMembers(members);
    if (!saveMutation.isPending) saveMutation.reset();
  };
  const setters = { setAdded: resettingSetter(setAdded), setRemoved: resettingSetter(setRemoved) };
  return { addedMembers, removedMembers, ...setters, saveMutation };
}

const COLUMNS: readonly Column<MemberRow>[] = [
  { name: 'Person', cell: ({ member }) => <Principal principal={member} href={addressOf(member)} /> },
  {
    name: 'Member',
    cell: ({ change, memberSince }) => (
      <>
        {change === 'joins' && <span className="change">+ joins</span>}
        {change === 'leaves' && <span className="change change--loss">− leaves</span>}
        {change === null && memberSince !== null && (
          <span className="dim">
            since <Moment time={memberSince} />
          </span>
        )}
      </>
    ),
  },
];

function SavedNotice({ id }: { id: number }) {
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

function Holdings({ id }: { id: number }) {
  const principal = `group:${id}`;
  const grants = useGrants({ principal });
  const policies = usePolicies({ principal });
  return (
    <>
      <Region title="What this group holds">
        <GrantTable
          name="Grants"
          isOfOneHolder
          list={grants}
          emptyState={<p className="dim">No grant names this group.</p>}
        />
      </Region>
      <Region title="What is taken from it">
        <PolicyTable isOfOneHolder list={policies} emptyState={<p className="dim">No policy names this group.</p>} />
      </Region>
    </>
  );
}
