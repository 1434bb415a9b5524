import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { api, bodyOf, type Schemas } from '../api/client.js';
import {
  checkSession,
  type Interruption,
  type OwnAccount,
  resume,
  signIn,
  signOut,
  takeOneTimePassword,
  useOwnAccount,
  useIdentityProvider,
} from '../api/session.js';
import { useAddress } from '../parts/address.js';
import { Brand, Button, CopyButton } from '../parts/controls.js';
import { Dialog } from '../parts/dialog.js';
import { Form, HiddenUsername, NewPasswordField, PasswordField, TextField, useForm } from '../parts/form.js';
import { Failure, Note, ReturnFailure } from '../parts/notice.js';
import { useTitle } from '../parts/page.js';

/** The sign-in page. While there is no administrator, it shows how to create the first one. */
export function SignIn({ isFirstStart }: { isFirstStart: boolean }) {
  useTitle(isFirstStart ? 'First start' : 'Sign in');
  const { data: provider, isPending } = useIdentityProvider();
  return (
    <div className="gate">
      <main className="stack">
        {isFirstStart ? <FirstStart /> : <Banner title="Sign in">See who may reach which data, and why.</Banner>}
        {isFirstStart && <p className="rule">or sign in</p>}
        {provider?.enabled === true && <ProviderSignIn provider={provider} />}
        {!isPending && (provider?.password_sign_in === false ? <AdministratorSignIn /> : <PasswordSignIn />)}
      </main>
      <DecorativeLine isDashed={isFirstStart} />
    </div>
  );
}

function ProviderSignIn({ provider }: { provider: Schemas['ProviderResponse'] }) {
  const { search } = useAddress();
  return (
    <>
      <ReturnFailure texts={{ other: 'The identity provider sent you back, and you are not signed in.' }} />
      <a
        className="button button--primary"
        href={`/api/auth/oidc/console?${new URLSearchParams({ to: search.get('to') ?? '/' }).toString()}`}
      >
        Sign in with {provider.name}
      </a>
      {provider.password_sign_in && <p className="rule">or with a password</p>}
    </>
  );
}

function AdministratorSignIn(props: PasswordSignInProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button
        text="Administrators: with a password"
        look="quiet"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      />
      {isOpen && <PasswordSignIn {...props} />}
    </>
  );
}

interface PasswordSignInProps {
  username?: string;
}

function PasswordSignIn({ username: knownUsername }: PasswordSignInProps) {
  const [credentials, field] = useForm({ username: knownUsername ?? '', password: '' });
  const signInMutation = useMutation({ mutationFn: () => signIn(credentials) });
  return (
    <Form mutation={signInMutation} action="Sign in">
      <TextField
        label="Username"
        name="username"
        autoComplete="username"
        {...field('username')}
        readOnly={knownUsername !== undefined}
        required
      />
      <PasswordField label="Password" name="password" {...field('password')} />
    </Form>
  );
}

const CREATE_ADMIN_COMMAND = 'npx --no -- grantline users create-admin --username NAME --email ADDRESS';

function FirstStart() {
  return (
    <>
      <Banner title="No administrator yet">Run this line where the service runs, then sign in with that name.</Banner>
      <pre className="code" tabIndex={0} role="group" aria-label="Command">
        {CREATE_ADMIN_COMMAND}
      </pre>
      <CopyButton value={CREATE_ADMIN_COMMAND} text="Copy the line" />
      <Note role="status">It reads the password from its standard input. This page goes on by itself.</Note>
    </>
  );
}

function Banner({ title, children }: { title: string; children: string }) {
  return (
    <div className="stack stack--tight">
      <span className="brand">
        <Brand />
      </span>
      <div>
        <h1>{title}</h1>
        <p className="dim">{children}</p>
      </div>
    </div>
  );
}

function DecorativeLine({ isDashed }: { isDashed: boolean }) {
  return (
    <svg className="gate__line" viewBox="0 0 352 32" aria-hidden="true">
      <path
        d="M38 16h48M114 16h48M190 16h48M266 16h48"
        {...(isDashed ? { strokeDasharray: '3 5' } : { className: 'on' })}
      />
      <circle cx="24" cy="16" r="10" />
      <rect x="90" y="6" width="20" height="20" rx="6" />
      <path d="m176 4 12 12-12 12-12-12z" />
      <rect x="242" y="6" width="20" height="20" rx="2" />
      <circle cx="328" cy="16" r="11" className="fill" />
      <path d="m323.500 16.500 3 3 6-6.500" className="tick" />
    </svg>
  );
}

/** The dialog to sign in again after the session has ended. The page below it keeps all typed text. */
export function SessionEnded({ reason }: { reason: Interruption }) {
  const account = useOwnAccount();
  const { username, has_password: hasPassword } = account;
  const { data: provider } = useIdentityProvider();
  if (reason === 'password-change') return <PasswordChange username={username} />;
  if (!hasPassword || provider?.password_sign_in === false) return <SignInElsewhere account={account} />;
  return (
    <Dialog title="Sign in again">
      <p>Your session has ended. What is on this page is kept.</p>
      <PasswordSignIn username={username} />
    </Dialog>
  );
}

/** A link to sign in at the provider in another tab, so that this tab keeps its typed text. */
function SignInElsewhere({ account: { id, username, role, has_password: hasPassword } }: { account: OwnAccount }) {
  const checkMutation = useMutation({ mutationFn: () => checkSession(id) });
  const { data: signedInAccount } = checkMutation;
  return (
    <Dialog title="Sign in again">
      <p>
        Your session has ended. Sign in at the provider in another tab, then go on here. What is on this page is kept.
      </p>
      {signedInAccount !== undefined && (
        <Note icon="warn" role="alert">
          {signedInAccount === null
            ? 'You are not signed in yet.'
            : `${signedInAccount.username} is signed in. Sign in as ${username}.`}
        </Note>
      )}
      {checkMutation.isError && <Failure problem={checkMutation.error} />}
      <div className="actions">
        <Button text="Go on" look="quiet" onClick={() => checkMutation.mutate()} />
        <a className="button button--primary" href="/api/auth/oidc/console?to=/me" target="_blank" rel="noopener">
          Sign in at the provider
        </a>
      </div>
      {role === 'admin' && hasPassword && <AdministratorSignIn username={username} />}
    </Dialog>
  );
}

/** The dialog to replace a one-time password. Until it is replaced, the session allows nothing else. */
function PasswordChange({ username }: { username: string }) {
  const [body, field] = useForm(() => ({ current_password: takeOneTimePassword(), new_password: '' }));
  const [isPasswordKnown] = useState(body.current_password !== '');
  const passwordMutation = useMutation({
    mutationFn: () => bodyOf(api.POST('/api/auth/password', { body })),
    onSuccess: () => resume(),
  });
  const signOutMutation = useMutation({ mutationFn: signOut });
  return (
    <Dialog title="Choose your password">
      <p>
        You signed in with a one-time password. Choose your own before you go on. It ends your other sessions, and your
        API tokens.
      </p>
      <Form
        mutation={passwordMutation}
        action="Change password"
        cancelText="Sign out"
        close={() => signOutMutation.mutate()}
      >
        <HiddenUsername username={username} />
        {!isPasswordKnown && <PasswordField label="One-time password" {...field('current_password')} />}
        <NewPasswordField {...field('new_password')} />
        {signOutMutation.isError && <Failure problem={signOutMutation.error} />}
      </Form>
    </Dialog>
  );
}
