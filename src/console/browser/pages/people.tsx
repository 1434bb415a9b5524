import { api, bodyOf, type Schemas } from '../api/client.js';
import { usePages } from '../api/pages.js';
import { numberText, peopleText } from '../domain/count-text.js';
import { useAsked } from '../parts/address.js';
import { AccountState, signInText } from '../parts/account.js';
import { FilterBar } from '../parts/filter-bar.js';
import { type Filter, useFilters } from '../parts/filters.js';
import { AddButton } from '../parts/form.js';
import { Listing } from '../parts/listing.js';
import { Moment } from '../parts/moment.js';
import { Empty, PageHead } from '../parts/page.js';
import { Principal } from '../parts/principal.js';
import { Cell } from '../parts/table.js';
import { AddPerson } from './add-person.js';

const COLUMNS = ['Person', 'State', 'Role', 'Signs in with', 'Groups', 'Last sign-in'].map((name) => ({ name }));

const FILTERS: readonly Filter[] = [
  {
    parameter: 'role',
    name: 'Role',
    choices: [
      { value: 'admin', text: 'administrator' },
      { value: 'user', text: 'user' },
    ],
  },
  {
    parameter: 'is_active',
    name: 'State',
    choices: [
      { value: 'true', text: 'active' },
      { value: 'false', text: 'deactivated' },
    ],
  },
  {
    parameter: 'source',
    name: 'From',
    choices: [
      { value: 'local', text: 'here' },
      { value: 'import', text: 'an import' },
      { value: 'oidc', text: 'a sign-in at the provider' },
      { value: 'scim', text: 'SCIM' },
    ],
  },
];

/** Everybody who has an account. */
export function People() {
  const adding = useAsked('ask');
  const isAdding = adding.asked === 'add-person';
  const { asked } = useFilters(FILTERS);
  const list = usePages(
    ['people', asked],
    (page) => bodyOf(api.GET('/api/admin/users', { params: { query: { ...asked, ...page } } })),
    { isKept: true },
  );
  const { first } = list;
  return (
    <main id="main" tabIndex={-1}>
      <div className="stack stack--mid">
        <PageHead
          title="People"
          actions={<AddButton text="Add person" isOpen={isAdding} open={() => adding.ask('add-person')} />}
        />
        {isAdding && <AddPerson close={adding.close} />}
        <FilterBar placeholder="Search people" filters={FILTERS}>
          {first === undefined ? 'Reading people' : peopleText(first.total)}
        </FilterBar>
        <Listing
          name="People"
          list={list}
          empty={<Empty title="Nobody matches">Remove a filter, or search for another part of a name.</Empty>}
          columns={COLUMNS}
          count={first?.total}
          keyOf={({ id }) => id}
          cells={(account) => <PersonCells account={account} />}
        />
      </div>
    </main>
  );
}

function PersonCells({ account }: { account: Schemas['UsedAccountResponse'] }) {
  const { id, username, role, groups, group_count: count, last_sign_in_at: at } = account;
  const others = count - groups.length;
  return (
    <>
      <Cell className="holder">
        <Principal of={{ type: 'user', id, name: username }} href={`/people/${id}`} />
      </Cell>
      <Cell>
        <AccountState account={account} />
      </Cell>
      <Cell>{role === 'admin' ? 'administrator' : <span className="dim">user</span>}</Cell>
      <Cell data-label="Signs in with">
        <span className="dim">{signInText(account)}</span>
      </Cell>
      <Cell className="full">
        <span className="dim">{[...groups, ...(others > 0 ? [`${numberText(others)} more`] : [])].join(', ')}</span>
      </Cell>
      <Cell className="date" data-label="Last sign-in">
        {at !== null && <Moment at={at} />}
      </Cell>
    </>
  );
}
