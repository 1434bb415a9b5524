import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { useLocation } from 'wouter';
import { api, bodyOf, type Schemas } from '../api/client.js';
import { usePages } from '../api/pages.js';
import { queries } from '../api/session.js';
import { listText, numberText } from '../domain/count-text.js';
import { FilterBar } from '../parts/filter-bar.js';
import { useFilters } from '../parts/filters.js';
import { AddButton, Form } from '../parts/form.js';
import { Listing } from '../parts/listing.js';
import { Moment } from '../parts/moment.js';
import { Empty, PageHead } from '../parts/page.js';
import { Principal } from '../parts/principal.js';
import { Cell } from '../parts/table.js';
import { TextField } from '../parts/text-field.js';

const COLUMNS = [
  { name: 'Group' },
  { name: 'Description' },
  { name: 'Members', isNumber: true },
  { name: 'Managed' },
  { name: 'Since' },
];

export const MANAGED: Record<Schemas['GroupResponse']['source'], string> = {
  local: 'here',
  oidc: 'by sign-ins at the identity provider',
  scim: 'by the identity provider (SCIM)',
};

/** Every group, with its members and who manages them. */
export function Groups() {
  const [isAdding, setAdding] = useState(false);
  const { asked } = useFilters([]);
  const list = usePages(
    ['groups', asked],
    (page) => bodyOf(api.GET('/api/admin/groups', { params: { query: { ...asked, ...page } } })),
    { isKept: true },
  );
  return (
    <main id="main" tabIndex={-1}>
      <div className="stack stack--mid">
        <PageHead
          title="Groups"
          actions={<AddButton text="New group" isOpen={isAdding} open={() => setAdding(true)} />}
        />
        {isAdding && <NewGroup close={() => setAdding(false)} />}
        <FilterBar placeholder="Search groups">{listText(list, 'group')}</FilterBar>
        <Listing
          name="Groups"
          list={list}
          empty={<NoGroups isSearched={Object.keys(asked).length > 0} />}
          columns={COLUMNS}
          keyOf={({ id }) => id}
          cells={(group) => <GroupCells group={group} />}
        />
      </div>
    </main>
  );
}

function NoGroups({ isSearched }: { isSearched: boolean }) {
  return isSearched ? (
    <Empty title="No group matches">Search for another part of a name.</Empty>
  ) : (
    <Empty title="There is no group yet">Make one here, or have the identity provider push its groups by SCIM.</Empty>
  );
}

function GroupCells({ group }: { group: Schemas['GroupResponse'] }) {
  const { id, name, description, member_count: count, source, created_at: at } = group;
  return (
    <>
      <Cell className="holder">
        <Principal of={{ type: 'group', id, name }} href={`/groups/${id}`} />
      </Cell>
      <Cell className="full prose">{description}</Cell>
      <Cell className="num" data-label="Members">
        {numberText(count)}
      </Cell>
      <Cell data-label="Managed">
        <span className="dim">{MANAGED[source]}</span>
      </Cell>
      <Cell className="date" data-label="Since">
        <Moment at={at} />
      </Cell>
    </>
  );
}

function NewGroup({ close }: { close: () => void }) {
  const [name, setName] = useState('');
  const [description, setDescription] = useState('');
  const [, navigate] = useLocation();
  const adding = useMutation({
    mutationFn: () =>
      bodyOf(
        api.POST('/api/admin/groups', {
          body: { name: name.trim(), description: description.trim() === '' ? null : description.trim() },
        }),
      ),
    onSuccess: async ({ id }) => {
      await queries.invalidateQueries({ queryKey: ['groups'] });
      navigate(`/groups/${id}`);
    },
  });
  return (
    <Form isPanel label="New group" doing={adding} act="Save" close={close}>
      <div className="pair">
        <TextField label="Name" value={name} set={setName} maxLength={128} autoFocus required />
        <TextField label="Description" value={description} set={setDescription} maxLength={1000} />
      </div>
    </Form>
  );
}
