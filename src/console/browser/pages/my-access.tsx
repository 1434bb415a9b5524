import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, bodyOf, type Schemas } from '../api/client.js';
import { linkAtProvider, queries, useMe, useProvider } from '../api/session.js';
import { now } from '../now.js';
import { EffectiveAccess, Sessions } from '../parts/account.js';
import { Act, ProofForm, ReturnFailure } from '../parts/act.js';
import { useAsked } from '../parts/address.js';
import { Button } from '../parts/controls.js';
import { Moment } from '../parts/display.js';
import { Check, NewPasswordField, TextField, useForm } from '../parts/form.js';
import { Failure, Secret, showToast } from '../parts/notice.js';
import { Empty, Fact, Page, Region } from '../parts/page.js';
import { type Column, Listing } from '../parts/table.js';

/** What the person who is signed in may reach and through what, their sessions and their API tokens. */
export function MyAccess() {
  return (
    <Page title="My access" intro="What you may reach, and through what.">
      <EffectiveAccess
        name="My access"
        of="own"
        why={null}
        read={(page) => bodyOf(api.GET('/api/access/effective', { params: { query: page } }))}
        empty={
          <Empty
            title="You reach nothing yet"
            text="No grant names you or a group that you are in. Ask an administrator for what you need."
          />
        }
      />
      <div className="pair">
        <Sessions
          of="own"
          read={(page) => bodyOf(api.GET('/api/auth/sessions', { params: { query: page } }))}
          end={endOwn}
          endAll={(others) => Promise.all(others.map(({ id }) => endOwn(id)))}
        />
        <ApiTokens />
        <OwnAccount />
        <ProviderLink />
      </div>
    </Page>
  );
}

function endOwn(id: string): Promise<unknown> {
  return bodyOf(api.DELETE('/api/auth/sessions/{id}', { params: { path: { id } } }));
}

type Changed = 'e-mail' | 'password';

/** The own name, e-mail address and password. */
function OwnAccount() {
  const { asked, ask, close } = useAsked('ask');
  const { username, has_password: hasPassword } = useMe();
  const query = useQuery({ queryKey: ['own-account'], queryFn: () => bodyOf(api.GET('/api/auth/me')) });
  const changed = (['e-mail', 'password'] as const).find((each) => each === asked);
  return (
    <Region
      title="Account"
      isStack
      actions={
        hasPassword && (
          <span className="row">
            <Button text="Change e-mail" look="small quiet" onClick={() => ask('e-mail')} />
            <Button text="Change password" look="small quiet" onClick={() => ask('password')} />
          </span>
        )
      }
    >
      {hasPassword && changed !== undefined && <OwnChange key={changed} of={changed} close={close} />}
      {query.isError && <Failure problem={query.error} retry={() => void query.refetch()} />}
      <dl className="facts facts--rows">
        <Fact name="Username">{username}</Fact>
        <Fact name="E-mail">{query.data?.email ?? <span className="dim">none</span>}</Fact>
        <Fact name="Signs in with">{hasPassword ? 'password' : 'the identity provider, which has the password'}</Fact>
      </dl>
    </Region>
  );
}

function OwnChange({ of, close }: { of: Changed; close: () => void }) {
  const [{ next }, field] = useForm({ next: '' });
  const change = async (current: string): Promise<void> => {
    const proof = { current_password: current };
    if (of === 'e-mail') await bodyOf(api.PATCH('/api/auth/me', { body: { ...proof, email: next.trim() } }));
    else await bodyOf(api.POST('/api/auth/password', { body: { ...proof, new_password: next } }));
  };
  const done = (): void => {
    showToast({ text: `Your ${of === 'e-mail' ? 'e-mail address' : 'password'} is changed.` });
    close();
    void queries.invalidateQueries();
  };
  return (
    <ProofForm isPanel label={`Change ${of}`} act="Save" asks="password" run={change} done={done} close={close}>
      {() =>
        of === 'e-mail' ? (
          <TextField label="New e-mail" type="email" {...field('next')} maxLength={254} autoFocus required />
        ) : (
          <>
            <p className="dim">Your other sessions end, and your API tokens.</p>
            <NewPasswordField {...field('next')} />
          </>
        )
      }
    </ProofForm>
  );
}

/** Why nothing was linked. */
const TEXTS = {
  sign_in_cancelled: 'You did not sign in at the provider. Nothing was linked.',
  person_linked: 'Whoever signed in there has another account here. Nothing was linked.',
  other: 'The provider sent you back, and nothing was linked.',
};

/** The link of the own account to the identity provider, if there is one. */
function ProviderLink() {
  const { data: provider } = useProvider();
  return provider?.enabled === true ? <Link name={provider.name ?? 'the provider'} /> : null;
}

function Link({ name }: { name: string }) {
  const { asked } = useAsked('ask'); // a failure while a dialog is open belongs to that dialog
  const { has_password: hasPassword } = useMe();
  const query = useQuery({ queryKey: ['own-link'], queryFn: () => bodyOf(api.GET('/api/auth/oidc/link')) });
  const linkedAt = query.data?.linked_at;
  return (
    <Region
      title={`Sign-in with ${name}`}
      isStack
      actions={
        hasPassword &&
        linkedAt !== undefined &&
        (linkedAt === null ? (
          <Act
            title={`Link to ${name}?`}
            act="Sign in at the provider"
            slug="link"
            asks="password"
            run={linkAtProvider}
            button={{ text: 'Link…', look: 'small quiet' }}
          >
            <p>You sign in at {name} as yourself, and come back here.</p>
          </Act>
        ) : (
          <Act
            title={`Unlink from ${name}?`}
            act="Unlink"
            run={() => bodyOf(api.DELETE('/api/auth/oidc/link'))}
            done={() => queries.invalidateQueries()}
            button={{ text: 'Unlink…', look: 'small quiet' }}
          >
            <p>You sign in with your password alone. Sessions that began at {name} end.</p>
          </Act>
        ))
      }
    >
      {asked === null && <ReturnFailure texts={TEXTS} />}
      {query.isError && <Failure problem={query.error} retry={() => void query.refetch()} />}
      {linkedAt === null && <p className="dim">Not linked. Link your account to sign in there as well.</p>}
      {typeof linkedAt === 'string' && (
        <p>
          Linked since <Moment at={linkedAt} />.
        </p>
      )}
    </Region>
  );
}

type Token = Schemas['ApiTokenResponse'];
type Scope = Token['scopes'][number];

const KEY = ['own-tokens'];
const MOST = 50;
const DAY = 86_400_000;

const SCOPES: readonly { scope: Scope; hint: string; isForAdministrators?: true }[] = [
  { scope: 'queries', hint: 'Run SQL under your name.' },
  { scope: 'access.read', hint: 'Read what you may reach, and why.' },
  { scope: 'admin.read', hint: 'Read all that administrators see.', isForAdministrators: true },
  { scope: 'admin.write', hint: 'Grant, revoke, publish.', isForAdministrators: true },
];

const COLUMNS: readonly Column<Token>[] = [
  { name: 'Name', cell: ({ name }) => name },
  { name: 'Scopes', cell: ({ scopes }) => <span className="dim">{scopes.join(', ')}</span> },
  { name: 'Expires', className: 'nowrap', isLabelled: true, cell: ({ expires_at: at }) => <Moment at={at} /> },
  {
    name: 'Action',
    className: 'num',
    isHidden: true,
    cell: ({ id, name }) => (
      <Act
        title={`Revoke ${name}?`}
        act="Revoke"
        slug={`revoke-${id}`}
        isDanger
        run={() => bodyOf(api.DELETE('/api/auth/tokens/{id}', { params: { path: { id } } }))}
        done={() => queries.invalidateQueries({ queryKey: KEY })}
        button={{ look: 'small quiet', 'aria-label': `Revoke ${name}` }}
      >
        <p>Programs that use it are refused from then on.</p>
      </Act>
    ),
  },
];

/** The own tokens of programs: made, shown once, and revoked. */
function ApiTokens() {
  const { asked, ask, close } = useAsked('ask');
  const [made, setMade] = useState<Schemas['NewApiTokenResponse'] | null>(null);
  const query = useQuery({ queryKey: KEY, queryFn: () => bodyOf(api.GET('/api/auth/tokens')) });
  const items = query.data?.items ?? null;
  return (
    <Region
      title="API tokens"
      isStack
      count={items !== null && `${items.length} of ${MOST}`}
      actions={<Button text="New token" look="small quiet" icon="plus" onClick={() => ask('new-token')} />}
    >
      {made !== null && (
        <Secret
          title={`Token ${made.name}`}
          secret={made.token}
          expiresAt={made.expires_at}
          close={() => setMade(null)}
        >
          Give it to the program it is for.
        </Secret>
      )}
      {asked === 'new-token' && (
        <NewToken
          close={close}
          done={(token) => {
            setMade(token);
            close();
            void queries.invalidateQueries({ queryKey: KEY });
          }}
        />
      )}
      <Listing
        name="API tokens"
        list={{ query, items }}
        empty={<p className="dim">No program acts in your name.</p>}
        columns={COLUMNS}
        keyOf={({ id }) => id}
      />
    </Region>
  );
}

function NewToken({ close, done }: { close: () => void; done: (token: Schemas['NewApiTokenResponse']) => void }) {
  const isAdministrator = useMe().role === 'admin';
  const offered = SCOPES.filter(({ isForAdministrators }) => isForAdministrators !== true || isAdministrator);
  const [{ name, scopes, until }, field] = useForm(() => ({
    name: '',
    scopes: ['queries'] as Scope[],
    until: new Date(now().getTime() + 90 * DAY).toISOString().slice(0, 10),
  }));
  const body = { name: name.trim(), scopes, expires_at: `${until}T00:00:00Z` };
  const make = () => bodyOf(api.POST('/api/auth/tokens', { body }));
  return (
    <ProofForm isPanel label="New token" act="Save" asks="recent proof" run={make} done={done} close={close}>
      {(isHere) =>
        isHere && (
          <>
            <div className="pair">
              <TextField label="Name" {...field('name')} maxLength={128} autoFocus required />
              <TextField label="Expires" {...field('until')} hint="A day, such as 2027-03-31." required />
            </div>
            <fieldset>
              <legend>Scopes</legend>
              {offered.map(({ scope, hint }) => (
                <Check key={scope} value={scope} all={scopes} set={field('scopes').set} hint={hint} />
              ))}
            </fieldset>
          </>
        )
      }
    </ProofForm>
  );
}
