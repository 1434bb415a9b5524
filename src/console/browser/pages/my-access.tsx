import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, bodyOf, type Schemas } from '../api/client.js';
import { linkAtProvider, queryClient, useOwnAccount, useIdentityProvider } from '../api/session.js';
import { DAY_MS, parseExpiry } from '../domain/moment-text.js';
import { now } from '../now.js';
import { EffectiveAccess, Sessions } from '../parts/account.js';
import { ActionButton, ProofForm } from '../parts/action-dialog.js';
import { useDialogInAddress } from '../parts/address.js';
import { Button } from '../parts/controls.js';
import { Moment } from '../parts/display.js';
import { Checkbox, NewPasswordField, TextField, useForm } from '../parts/form.js';
import { NewGrantLink } from '../parts/entries.js';
import { Failure, ReturnFailure, SecretNotice, showToast } from '../parts/notice.js';
import { EmptyState, Fact, Page, Region } from '../parts/page.js';
import { actionColumn, type Column, Listing } from '../parts/table.js';

/** The page about the signed-in person: access with the grants that give it, sessions, and API tokens. */
export function MyAccess() {
  const { id, role } = useOwnAccount();
  return (
    <Page title="My access" intro="What you may reach, and through what.">
      <EffectiveAccess
        name="My access"
        account="own"
        whyHref={null}
        readPage={(page) => bodyOf(api.GET('/api/access/effective', { params: { query: page } }))}
        emptyState={
          <EmptyState
            title="You reach nothing yet"
            text="No grant names you or a group that you are in. Administrators make grants."
            action={role === 'admin' && <NewGrantLink query={`?principal=user:${id}`} />}
          />
        }
      />
      <div className="pair">
        <Sessions
          account="own"
          readPage={(page) => bodyOf(api.GET('/api/auth/sessions', { params: { query: page } }))}
          endSession={endOwnSession}
          endAllSessions={(sessions) => Promise.all(sessions.map(({ id }) => endOwnSession(id)))}
        />
        <ApiTokens />
        <OwnAccount />
        <ProviderLink />
      </div>
    </Page>
  );
}

function endOwnSession(id: string): Promise<unknown> {
  return bodyOf(api.DELETE('/api/auth/sessions/{id}', { params: { path: { id } } }));
}

function OwnAccount() {
  const { dialog, openDialog, close } = useDialogInAddress('ask');
  const { username, has_password: hasPassword } = useOwnAccount();
  const query = useQuery({ queryKey: ['own-account'], queryFn: () => bodyOf(api.GET('/api/auth/me')) });
  const changedField = (['e-mail', 'password'] as const).find((each) => each === dialog);
  return (
    <Region
      title="Account"
      isTightStack
      actions={
        hasPassword && (
          <span className="row">
            <Button text="Change e-mail" look="small quiet" onClick={() => openDialog('e-mail')} />
            <Button text="Change password" look="small quiet" onClick={() => openDialog('password')} />
          </span>
        )
      }
    >
      {hasPassword && changedField !== undefined && <OwnChange key={changedField} kind={changedField} close={close} />}
      {query.isError && <Failure problem={query.error} retry={() => void query.refetch()} />}
      <dl className="facts facts--rows">
        <Fact name="Username">{username}</Fact>
        <Fact name="E-mail">{query.data?.email ?? <span className="dim">none</span>}</Fact>
        <Fact name="Signs in with">{hasPassword ? 'password' : 'the identity provider, which has the password'}</Fact>
      </dl>
    </Region>
  );
}

function OwnChange({ kind, close }: { kind: 'e-mail' | 'password'; close: () => void }) {
  const [{ next: newValue }, field] = useForm({ next: '' });
  const run = async (currentPassword: string): Promise<void> => {
    const proof = { current_password: currentPassword };
    if (kind === 'e-mail') await bodyOf(api.PATCH('/api/auth/me', { body: { ...proof, email: newValue.trim() } }));
    else await bodyOf(api.POST('/api/auth/password', { body: { ...proof, new_password: newValue } }));
  };
  const onDone = (): void => {
    showToast({ text: `Your ${kind === 'e-mail' ? 'e-mail address' : 'password'} is changed.` });
    close();
    void queryClient.invalidateQueries();
  };
  return (
    <ProofForm isPanel label={`Change ${kind}`} action="Save" proof="password" {...{ run, onDone, close }}>
      {() =>
        kind === 'e-mail' ? (
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

const NOT_LINKED_TEXTS = {
  sign_in_cancelled: 'You did not sign in at the provider. Nothing was linked.',
  person_linked: 'Whoever signed in there has another account here. Nothing was linked.',
  other: 'The provider sent you back, and nothing was linked.',
};

function ProviderLink() {
  const { data: provider } = useIdentityProvider();
  return provider?.enabled === true ? <ProviderLinkRegion name={provider.name ?? 'the provider'} /> : null;
}

function ProviderLinkRegion({ name }: { name: string }) {
  const { dialog } = useDialogInAddress('ask'); // a failure while a dialog is open belongs to that dialog
  const { has_password: hasPassword } = useOwnAccount();
  const query = useQuery({ queryKey: ['own-link'], queryFn: () => bodyOf(api.GET('/api/auth/oidc/link')) });
  const linkedAt = query.data?.linked_at;
  return (
    <Region
      title={`Sign-in with ${name}`}
      isTightStack
      actions={
        hasPassword &&
        linkedAt !== undefined &&
        (linkedAt === null ? (
          <ActionButton
            title={`Link to ${name}?`}
            action="Sign in at the provider"
            slug="link"
            proof="password"
            run={linkAtProvider}
            button={{ text: 'Link…', look: 'small quiet' }}
          >
            <p>You sign in at {name} as yourself, and come back here.</p>
          </ActionButton>
        ) : (
          <ActionButton
            title={`Unlink from ${name}?`}
            action="Unlink"
            run={() => bodyOf(api.DELETE('/api/auth/oidc/link'))}
            onDone={() => queryClient.invalidateQueries()}
            button={{ text: 'Unlink…', look: 'small quiet' }}
          >
            <p>You sign in with your password alone. Sessions that began at {name} end.</p>
          </ActionButton>
        ))
      }
    >
      {dialog === null && <ReturnFailure texts={NOT_LINKED_TEXTS} />}
      {query.isError && <Failure problem={query.error} retry={() => void query.refetch()} />}
      {linkedAt === null && <p className="dim">Not linked. Link your account to sign in there as well.</p>}
      {typeof linkedAt === 'string' && (
        <p>
          Linked since <Moment time={linkedAt} />.
        </p>
      )}
    </Region>
  );
}

type Token = Schemas['ApiTokenResponse'];
type Scope = Token['scopes'][number];

const TOKENS_KEY = ['own-tokens'];

const SCOPES: readonly { scope: Scope; hint: string; isForAdministrators?: true }[] = [
  { scope: 'queries', hint: 'Run SQL under your name.' },
  { scope: 'access.read', hint: 'Read what you may reach, and why.' },
  { scope: 'admin.read', hint: 'Read all that administrators see.', isForAdministrators: true },
  { scope: 'admin.write', hint: 'Grant, revoke, publish.', isForAdministrators: true },
];

const TOKEN_COLUMNS: readonly Column<Token>[] = [
  { name: 'Name', cell: ({ name }) => name },
  { name: 'Scopes', cell: ({ scopes }) => <span className="dim">{scopes.join(', ')}</span> },
  { name: 'Expires', className: 'nowrap', isLabelled: true, cell: ({ expires_at: time }) => <Moment time={time} /> },
  actionColumn(({ id, name }) => (
    <ActionButton
      title={`Revoke ${name}?`}
      action="Revoke"
      slug={`revoke-${id}`}
      isDanger
      run={() => bodyOf(api.DELETE('/api/auth/tokens/{id}', { params: { path: { id } } }))}
      onDone={() => queryClient.invalidateQueries({ queryKey: TOKENS_KEY })}
      button={{ look: 'small quiet', 'aria-label': `Revoke ${name}` }}
    >
      <p>Programs that use it are refused from then on.</p>
    </ActionButton>
  )),
];

function ApiTokens() {
  const { dialog, openDialog, close } = useDialogInAddress('ask');
  const [newToken, setNewToken] = useState<Schemas['NewApiTokenResponse'] | null>(null);
  const query = useQuery({ queryKey: TOKENS_KEY, queryFn: () => bodyOf(api.GET('/api/auth/tokens')) });
  const tokens = query.data?.items ?? null;
  return (
    <Region
      title="API tokens"
      isTightStack
      count={tokens !== null && `${tokens.length} of 50`}
      actions={<Button text="New token" look="small quiet" icon="plus" onClick={() => openDialog('new-token')} />}
    >
      {newToken !== null && (
        <SecretNotice
          title={`Token ${newToken.name}`}
          secret={newToken.token}
          expiresAt={newToken.expires_at}
          close={() => setNewToken(null)}
        >
          Give it to the program it is for.
        </SecretNotice>
      )}
      {dialog === 'new-token' && (
        <NewToken
          close={close}
          onDone={(token) => {
            setNewToken(token);
            close();
            void queryClient.invalidateQueries({ queryKey: TOKENS_KEY });
          }}
        />
      )}
      <Listing
        name="API tokens"
        list={{ query, items: tokens }}
        emptyState={<p className="dim">No program acts in your name.</p>}
        columns={TOKEN_COLUMNS}
        keyOf={({ id }) => id}
      />
    </Region>
  );
}

function NewToken({ close, onDone }: { close: () => void; onDone: (token: Schemas['NewApiTokenResponse']) => void }) {
  const isAdministrator = useOwnAccount().role === 'admin';
  const offeredScopes = SCOPES.filter(({ isForAdministrators }) => isForAdministrators !== true || isAdministrator);
  const [{ name, scopes, until }, field] = useForm(() => ({
    name: '',
    scopes: ['queries'] as Scope[],
    until: new Date(now().getTime() + 89 * DAY_MS).toISOString().slice(0, 10),
  }));
  const expiry = parseExpiry(until, now());
  const problem = 'problem' in expiry ? expiry.problem : undefined;
  const expiresAt = 'expiresAt' in expiry ? (expiry.expiresAt?.toISOString() ?? '') : '';
  const body = { name: name.trim(), scopes, expires_at: expiresAt };
  return (
    <ProofForm
      isPanel
      label="New token"
      action="Save"
      proof="recent"
      isDisabled={problem !== undefined}
      run={() => bodyOf(api.POST('/api/auth/tokens', { body }))}
      onDone={onDone}
      close={close}
    >
      {(mayActNow) =>
        mayActNow && (
          <>
            <div className="pair">
              <TextField label="Name" {...field('name')} maxLength={128} autoFocus required />
              <TextField
                label="Expires"
                {...field('until')}
                error={problem}
                hint="The end of that day, in UTC."
                required
              />
            </div>
            <fieldset>
              <legend>Scopes</legend>
              {offeredScopes.map(({ scope, hint }) => (
                <Checkbox key={scope} value={scope} values={scopes} set={field('scopes').set} hint={hint} />
              ))}
            </fieldset>
          </>
        )
      }
    </ProofForm>
  );
}
