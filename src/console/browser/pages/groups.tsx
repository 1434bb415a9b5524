import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { useLocation } from 'wouter';
import { api, bodyOf, type Schemas } from '../api/client.js';
import { refreshAccess } from '../api/entries.js';
import { usePages } from '../api/pages.js';
import { listText, numberText } from '../domain/count-text.js';
import { Button } from '../parts/controls.js';
import { Principal } from '../parts/display.js';
import { FilterBar, useFilters } from '../parts/filter-bar.js';
import { Form, TextField, useForm } from '../parts/form.js';
import { EmptyList, Page } from '../parts/page.js';
import { type Column, Listing, momentColumn } from '../parts/table.js';

type Group = Schemas['GroupResponse'];

export const MANAGED_BY_TEXTS: Record<Group['source'], string> = {
  local: 'here',
  oidc: 'by sign-ins at the identity provider',
  scim: 'by the identity provider (SCIM)',
};

const COLUMNS: readonly Column<Group>[] = [
  {
    name: 'Group',
    className: 'holder',
    sortKey: 'name',
    cell: ({ id, name }) => <Principal principal={{ type: 'group', id, name }} href={`/groups/${id}`} />,
  },
  {
    name: 'Members',
    className: 'num',
    isLabelled: true,
    sortKey: 'member_count',
    cell: ({ member_count: count }) => numberText(count),
  },
  { name: 'Description', className: 'full prose rest', cell: ({ description }) => description },
  {
    name: 'Managed',
    className: 'line',
    isLabelled: true,
    sortKey: 'source',
    cell: ({ source }) => <span className="dim">{MANAGED_BY_TEXTS[source]}</span>,
  },
  momentColumn('Since', 'created_at'),
];

export function Groups() {
  const [isAdding, setAdding] = useState(false);
  const { values } = useFilters([]);
  const list = usePages(
    ['groups', values],
    (page) => bodyOf(api.GET('/api/admin/groups', { params: { query: { ...values, ...page } } })),
    { isPreviousKept: true },
  );
  return (
    <Page
      isCompact
      title="Groups"
      actions={
        <Button text="New group" look="primary" icon="plus" aria-expanded={isAdding} onClick={() => setAdding(true)} />
      }
    >
      {isAdding && <GroupForm close={() => setAdding(false)} />}
      <FilterBar placeholder="Search groups">{listText(list, 'group')}</FilterBar>
      <Listing
        name="Groups"
        list={list}
        emptyState={
          <EmptyList
            filterValues={values}
            entryKind="group"
            title="There is no group yet"
            text="Make one here, or have the identity provider push its groups by SCIM."
          />
        }
        columns={COLUMNS}
        keyOf={({ id }) => id}
      />
    </Page>
  );
}

/** The form of a new or an existing group. The name of a group from the identity provider cannot be changed. */
export function GroupForm({ group, close }: { group?: Group; close: () => void }) {
  const [shownGroup] = useState(group);
  const [{ name, description }, field] = useForm({ name: group?.name ?? '', description: group?.description ?? '' });
  const [, navigate] = useLocation();
  const canBeRenamed = group === undefined || group.source === 'local';
  const saveMutation = useMutation({
    mutationFn: () => {
      const body = { name: name.trim(), description: description.trim() || null };
      if (shownGroup === undefined) return bodyOf(api.POST('/api/admin/groups', { body }));
      const params = { path: { id: shownGroup.id } };
      // Only what was changed here is sent: somebody else may have changed the rest meanwhile.
      const changedFields = {
        ...(body.name !== shownGroup.name && { name: body.name }),
        ...(body.description !== shownGroup.description && { description: body.description }),
      };
      return bodyOf(api.PATCH('/api/admin/groups/{id}', { params, body: changedFields }));
    },
    onSuccess: ({ id }) => {
      close();
      if (group === undefined) navigate(`/groups/${id}`);
      return refreshAccess();
    },
  });
  const label = group === undefined ? 'New group' : canBeRenamed ? 'Rename the group' : 'Describe the group';
  return (
    <Form isPanel label={label} mutation={saveMutation} action="Save" close={close}>
      <div className={group === undefined ? 'pair' : 'stack stack--tight'}>
        {canBeRenamed && <TextField label="Name" {...field('name')} maxLength={128} autoFocus required />}
        <TextField label="Description" {...field('description')} maxLength={1000} autoFocus={!canBeRenamed} />
      </div>
    </Form>
  );
}
