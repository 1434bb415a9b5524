import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { useLocation } from 'wouter';
import { api, bodyOf, type Schemas } from '../api/client.js';
import { usePages } from '../api/pages.js';
import { queries } from '../api/session.js';
import { Failure } from '../parts/failure.js';
import { FilterBar } from '../parts/filter-bar.js';
import { useFilters } from '../parts/filters.js';
import { Icon } from '../parts/icon.js';
import { Moment } from '../parts/moment.js';
import { Empty, PageHead } from '../parts/page.js';
import { Principal } from '../parts/principal.js';
import { Cell, Table } from '../parts/table.js';

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
  const { query, items, more, hasMore } = usePages(
    ['groups', asked],
    (after) =>
      bodyOf(
        api.GET('/api/admin/groups', {
          params: { query: { ...asked, limit: 200, ...(after !== undefined && { after }) } },
        }),
      ),
    { isKept: true },
  );
  const isSearched = Object.keys(asked).length > 0;
  return (
    <main id="main" tabIndex={-1}>
      <div className="stack stack--mid">
        <PageHead
          title="Groups"
          actions={
            <button
              className="button button--primary"
              type="button"
              aria-expanded={isAdding}
              onClick={() => setAdding(true)}
            >
              <Icon name="plus" />
              New group
            </button>
          }
        />
        {isAdding && <NewGroup close={() => setAdding(false)} />}
        <FilterBar placeholder="Search groups">
          {items === null
            ? 'Reading groups'
            : `${items.length.toLocaleString('en-GB')}${hasMore ? ' and more' : ''} ${items.length === 1 ? 'group' : 'groups'}`}
        </FilterBar>
        {query.isError && <Failure problem={query.error} retry={() => void query.refetch()} />}
        {items?.length === 0 ? (
          <Empty title={isSearched ? 'No group matches' : 'There is no group yet'}>
            {isSearched
              ? 'Search for another part of a name.'
              : 'Make one here, or have the identity provider push its groups by SCIM.'}
          </Empty>
        ) : (
          <Table
            name="Groups"
            columns={COLUMNS}
            items={items}
            keyOf={({ id }) => id}
            more={more}
            cells={(group) => (
              <>
                <Cell className="holder">
                  <Principal of={{ type: 'group', id: group.id, name: group.name }} href={`/groups/${group.id}`} />
                </Cell>
                <Cell className="full prose">{group.description}</Cell>
                <Cell className="num" data-label="Members">
                  {group.member_count.toLocaleString('en-GB')}
                </Cell>
                <Cell>
                  <span className="dim">{MANAGED[group.source]}</span>
                </Cell>
                <Cell className="date">
                  <Moment at={group.created_at} />
                </Cell>
              </>
            )}
          />
        )}
      </div>
    </main>
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
    <form
      className="panel stack stack--tight"
      aria-label="New group"
      onSubmit={(event) => {
        event.preventDefault();
        if (!adding.isPending) adding.mutate();
      }}
    >
      <div className="pair">
        <div className="field">
          <label className="label" htmlFor="new-group">
            Name
          </label>
          <input
            className="input"
            id="new-group"
            value={name}
            onChange={(event) => setName(event.target.value)}
            autoComplete="off"
            spellCheck={false}
            maxLength={128}
            autoFocus
            required
          />
        </div>
        <div className="field">
          <label className="label" htmlFor="new-description">
            Description
          </label>
          <input
            className="input"
            id="new-description"
            value={description}
            onChange={(event) => setDescription(event.target.value)}
            autoComplete="off"
            maxLength={1000}
          />
        </div>
      </div>
      {adding.isError && <Failure problem={adding.error} />}
      <div className="actions">
        <button className="button button--quiet" type="button" onClick={close}>
          Cancel
        </button>
        <button className="button button--primary" type="submit" aria-disabled={adding.isPending}>
          Save
        </button>
      </div>
    </form>
  );
}
