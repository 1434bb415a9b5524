import { useState } from 'react';
import { api, bodyOf, type Schemas } from '../api/client.js';
import { usePages } from '../api/pages.js';
import { queryClient } from '../api/session.js';
import { numberText, peopleText } from '../domain/count-text.js';
import { ProofForm } from '../parts/action-dialog.js';
import { useDialogInAddress } from '../parts/address.js';
import { Button, ButtonLink } from '../parts/controls.js';
import { AccountState, Principal, SignInMeans } from '../parts/display.js';
import { type Filter, FilterBar, useFilters } from '../parts/filter-bar.js';
import { Segments, TextField, useForm } from '../parts/form.js';
import { Note, Notice, SecretNotice } from '../parts/notice.js';
import { EmptyState, Page } from '../parts/page.js';
import { type Column, Listing, momentColumn } from '../parts/table.js';

const FILTERS: readonly Filter[] = [
  { parameter: 'role', name: 'Role', choices: { admin: 'administrator', user: 'user' } },
  { parameter: 'is_active', name: 'State', choices: { true: 'active', false: 'deactivated' } },
  {
    parameter: 'source',
    name: 'From',
    choices: { local: 'here', import: 'an import', oidc: 'a sign-in at the provider', scim: 'SCIM' },
  },
];

const PEOPLE_COLUMNS: readonly Column<Schemas['AccountDetailsResponse']>[] = [
  {
    name: 'Person',
    className: 'holder',
    sortKey: 'username',
    cell: ({ id, username }) => <Principal principal={{ type: 'user', id, name: username }} href={`/people/${id}`} />,
  },
  {
    name: 'State',
    sortKey: 'is_active',
    cell: ({ is_active: isActive }) => <AccountState isActive={isActive} />,
  },
  {
    name: 'Role',
    sortKey: 'role',
    cell: ({ role }) => (role === 'admin' ? 'administrator' : <span className="dim">user</span>),
  },
  {
    name: 'Signs in with',
    className: 'line',
    isLabelled: true,
    sortKey: 'has_password',
    cell: (account) => (
      <span className="dim">
        <SignInMeans account={account} />
      </span>
    ),
  },
  {
    name: 'Groups',
    className: 'full rest',
    sortKey: 'group_count',
    cell: ({ groups, group_count: groupCount }) => {
      const unlistedCount = groupCount - groups.length;
      const groupTexts = [...groups, ...(unlistedCount > 0 ? [`${numberText(unlistedCount)} more`] : [])];
      return <span className="dim">{groupTexts.join(', ')}</span>;
    },
  },
  momentColumn('Last sign-in', 'last_sign_in_at'),
];

export function People() {
  const { dialog, openDialog, close } = useDialogInAddress('ask');
  const isAdding = dialog === 'add-person';
  const { values } = useFilters(FILTERS);
  const list = usePages(
    ['people', values],
    (page) => bodyOf(api.GET('/api/admin/users', { params: { query: { ...values, ...page } } })),
    { isPreviousKept: true },
  );
  const { first } = list;
  return (
    <Page
      isCompact
      title="People"
      actions={
        <Button
          text="Add person"
          look="primary"
          icon="plus"
          aria-expanded={isAdding}
          onClick={() => openDialog('add-person')}
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
        emptyState={<EmptyState title="Nobody matches" text="Remove a filter, or search for another part of a name." />}
        columns={PEOPLE_COLUMNS}
        count={first?.total}
        keyOf={({ id }) => id}
      />
    </Page>
  );
}

const SIGN_IN_WAYS = [
  ['password', 'One-time password'],
  ['provider', 'At the identity provider'],
] as const;
type SignInWay = (typeof SIGN_IN_WAYS)[number][0];

function AddPerson({ close }: { close: () => void }) {
  const [{ username, email, way }, field] = useForm({ username: '', email: '', way: 'password' as SignInWay });
  const [addedPerson, setAddedPerson] = useState<NewPerson | null>(null);
  const body = {
    username: username.trim(),
    role: 'user' as const,
    one_time_password: way === 'password',
    ...(email !== '' && { email }),
  };
  if (addedPerson !== null) return <AddedNotice person={addedPerson} close={close} />;
  return (
    <ProofForm
      isPanel
      label="Add person"
      action="Save"
      proof={way === 'password' ? 'recent' : undefined}
      run={() => bodyOf(api.POST('/api/admin/users', { body }))}
      onDone={(person) => {
        setAddedPerson(person);
        void queryClient.invalidateQueries({ queryKey: ['people'] });
      }}
      close={close}
    >
      {(mayActNow) => (
        <>
          {mayActNow && (
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
          <Segments legend="Signs in with" choices={SIGN_IN_WAYS} {...field('way')} />
        </>
      )}
    </ProofForm>
  );
}

type NewPerson = Schemas['NewUserResponse'];

function AddedNotice({ person, close }: { person: NewPerson; close: () => void }) {
  const { id, username, one_time_password: password, one_time_password_expires_at: expiresAt, warnings } = person;
  return (
    <>
      {password !== null ? (
        <SecretNotice title={`One-time password of ${username}`} secret={password} expiresAt={expiresAt} close={close}>
          Give it to them: they sign in with it and choose their own.
        </SecretNotice>
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
