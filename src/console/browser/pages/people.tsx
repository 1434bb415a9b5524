import { useState } from 'react';
import { api, bodyOf, type Schemas } from '../api/client.js';
import { usePages } from '../api/pages.js';
import { queries } from '../api/session.js';
import { numberText, peopleText } from '../domain/count-text.js';
import { ProofForm } from '../parts/act.js';
import { useAsked } from '../parts/address.js';
import { Button, ButtonLink } from '../parts/controls.js';
import { AccountState, Moment, Principal, SignInMeans } from '../parts/display.js';
import { type Filter, FilterBar, useFilters } from '../parts/filter-bar.js';
import { Segments, TextField, useForm } from '../parts/form.js';
import { Note, Notice, Secret } from '../parts/notice.js';
import { Empty, Page } from '../parts/page.js';
import { type Column, Listing } from '../parts/table.js';

const FILTERS: readonly Filter[] = [
  { parameter: 'role', name: 'Role', choices: { admin: 'administrator', user: 'user' } },
  { parameter: 'is_active', name: 'State', choices: { true: 'active', false: 'deactivated' } },
  {
    parameter: 'source',
    name: 'From',
    choices: { local: 'here', import: 'an import', oidc: 'a sign-in at the provider', scim: 'SCIM' },
  },
];

const COLUMNS: readonly Column<Schemas['UsedAccountResponse']>[] = [
  {
    name: 'Person',
    className: 'holder',
    order: 'username',
    cell: ({ id, username }) => <Principal of={{ type: 'user', id, name: username }} href={`/people/${id}`} />,
  },
  {
    name: 'State',
    order: 'is_active',
    cell: ({ is_active: isActive }) => <AccountState isActive={isActive} />,
  },
  {
    name: 'Role',
    order: 'role',
    cell: ({ role }) => (role === 'admin' ? 'administrator' : <span className="dim">user</span>),
  },
  {
    name: 'Signs in with',
    className: 'line',
    isLabelled: true,
    order: 'has_password',
    cell: (account) => (
      <span className="dim">
        <SignInMeans of={account} />
      </span>
    ),
  },
  {
    name: 'Groups',
    className: 'full rest',
    order: 'group_count',
    cell: ({ groups, group_count: count }) => {
      const others = count - groups.length;
      const names = [...groups, ...(others > 0 ? [`${numberText(others)} more`] : [])];
      return <span className="dim">{names.join(', ')}</span>;
    },
  },
  {
    name: 'Last sign-in',
    className: 'date',
    isLabelled: true,
    order: 'last_sign_in_at',
    cell: ({ last_sign_in_at: at }) => at !== null && <Moment at={at} />,
  },
];

/** Everybody who has an account. */
export function People() {
  const { asked: act, ask, close } = useAsked('ask');
  const isAdding = act === 'add-person';
  const { asked } = useFilters(FILTERS);
  const list = usePages(
    ['people', asked],
    (page) => bodyOf(api.GET('/api/admin/users', { params: { query: { ...asked, ...page } } })),
    { isKept: true },
  );
  const { first } = list;
  return (
    <Page
      isClose
      title="People"
      actions={
        <Button
          text="Add person"
          look="primary"
          icon="plus"
          aria-expanded={isAdding}
          onClick={() => ask('add-person')}
        />
      }
    >
      {isAdding && <AddPerson close={close} />}
      <FilterBar placeholder="Search people" filters={FILTERS}>
        {first === undefined ? 'Reading people' : peopleText(first.total)}
      </FilterBar>
      <Listing
        name="People"
        list={list}
        empty={<Empty title="Nobody matches" text="Remove a filter, or search for another part of a name." />}
        columns={COLUMNS}
        count={first?.total}
        keyOf={({ id }) => id}
      />
    </Page>
  );
}

const WAYS = [
  ['password', 'One-time password'],
  ['provider', 'At the identity provider'],
] as const;
type Way = (typeof WAYS)[number][0];

/** Makes an account: its person signs in with a one-time password, or at the identity provider under the same name. */
function AddPerson({ close }: { close: () => void }) {
  const [{ username, email, way }, field] = useForm({ username: '', email: '', way: 'password' as Way });
  const [added, setAdded] = useState<NewPerson | null>(null);
  const body = {
    username: username.trim(),
    role: 'user' as const,
    one_time_password: way === 'password',
    ...(email !== '' && { email }),
  };
  if (added !== null) return <Added person={added} close={close} />;
  return (
    <ProofForm
      isPanel
      label="Add person"
      act="Save"
      asks={way === 'password' ? 'recent proof' : undefined}
      run={() => bodyOf(api.POST('/api/admin/users', { body }))}
      done={(person) => {
        setAdded(person);
        void queries.invalidateQueries({ queryKey: ['people'] });
      }}
      close={close}
    >
      {(isHere) => (
        <>
          {isHere && (
            <div className="pair">
              <TextField
                label="Username"
                {...field('username')}
                hint="As the engine sees it."
                maxLength={128}
                isMono
                autoFocus
                required
              />
              <TextField label="E-mail" type="email" {...field('email')} hint="May stay empty." maxLength={254} />
            </div>
          )}
          <Segments legend="Signs in with" choices={WAYS} {...field('way')} />
        </>
      )}
    </ProofForm>
  );
}

type NewPerson = Schemas['NewUserResponse'];

function Added({ person, close }: { person: NewPerson; close: () => void }) {
  const { id, username, one_time_password: password, one_time_password_expires_at: until, warnings } = person;
  return (
    <>
      {password !== null ? (
        <Secret title={`One-time password of ${username}`} secret={password} expiresAt={until} close={close}>
          Give it to them: they sign in with it and choose their own.
        </Secret>
      ) : (
        <Notice
          tone="gain"
          icon="check"
          role="status"
          title={`${username} was added`}
          actions={
            <>
              <ButtonLink text="Open" look="small" href={`/people/${id}`} />
              <Button text="Done" look="small quiet" onClick={close} />
            </>
          }
        >
          <p>The account is theirs once they sign in at the identity provider under this name.</p>
        </Notice>
      )}
      {warnings.map((warning) => (
        <Note key={warning}>{warning}</Note>
      ))}
    </>
  );
}
