import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { api, bodyOf, type Schemas } from '../api/client.js';
import {
  type Interruption,
  interrupt,
  queries,
  signIn,
  signOut,
  takeOneTimePassword,
  useMe,
  useProvider,
} from '../api/session.js';
import { Dialog, ReturnFailure } from '../parts/act.js';
import { useAddress } from '../parts/address.js';
import { Brand, Button, CopyButton } from '../parts/controls.js';
import { Form, HiddenUsername, NewPasswordField, PasswordField, TextField, useForm } from '../parts/form.js';
import { Failure, Note } from '../parts/notice.js';
import { useTitle } from '../parts/page.js';

/** The sign-in, or how the first administrator is made while there is none. */
export function SignIn({ isFirst }: { isFirst: boolean }) {
  useTitle(isFirst ? 'First start' : 'Sign in');
  const { data: provider, isPending } = useProvider();
  return (
    <div className="gate">
      <main className="stack">
        {isFirst ? <FirstStart /> : <Head title="Sign in">See who may reach which data, and why.</Head>}
        {isFirst && <p className="rule">or sign in</p>}
        {provider?.enabled === true && <AtProvider provider={provider} />}
        {!isPending && (provider?.password_sign_in === false ? <ForAdministrators /> : <PasswordSignIn />)}
      </main>
      <Line isBroken={isFirst} />
    </div>
  );
}

/** A link to the identity provider, and the reason why a sign-in there failed. */
function AtProvider({ provider }: { provider: Schemas['ProviderResponse'] }) {
  const { search } = useAddress();
  return (
    <>
      <ReturnFailure texts={NOT_SIGNED_IN} />
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

const NOT_SIGNED_IN = { other: 'The identity provider sent you back, and you are not signed in.' };

/** Password sign-in of administrators, for when the provider does not work. */
function ForAdministrators() {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button
        text="Administrators: with a password"
        look="quiet"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      />
      {isOpen && <PasswordSignIn />}
    </>
  );
}

/** @param props.username of a session that has ended; it cannot be changed */
function PasswordSignIn({ username: ended, done }: { username?: string; done?: () => Promise<void> }) {
  const [credentials, field] = useForm({ username: ended ?? '', password: '' });
  const signingIn = useMutation({ mutationFn: () => signIn(credentials), onSuccess: () => done?.() });
  return (
    <>
      <form
        className="stack stack--tight"
        method="post"
        onChange={() => signingIn.isError && signingIn.reset()}
        onSubmit={(event) => {
          event.preventDefault();
          if (!signingIn.isPending) signingIn.mutate();
        }}
      >
        <TextField
          label="Username"
          name="username"
          complete="username"
          {...field('username')}
          readOnly={ended !== undefined}
          required
        />
        <PasswordField label="Password" name="password" {...field('password')} />
        <Button text="Sign in" look="primary" type="submit" isOff={signingIn.isPending} />
      </form>
      {signingIn.isError && <Failure problem={signingIn.error} />}
    </>
  );
}

const COMMAND = 'npx --no -- grantline users create-admin --username NAME --email ADDRESS';

function FirstStart() {
  return (
    <>
      <Head title="No administrator yet">Run this line where the service runs, then sign in with that name.</Head>
      <pre className="code" tabIndex={0} role="group" aria-label="Command">
        {COMMAND}
      </pre>
      <CopyButton value={COMMAND} text="Copy the line" />
      <Note role="status">It reads the password from its standard input. This page goes on by itself.</Note>
    </>
  );
}

function Head({ title, children }: { title: string; children: string }) {
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

/** A decorative line through five symbols: person, group, grant, node, rule. */
function Line({ isBroken }: { isBroken: boolean }) {
  return (
    <svg className="gate__line" viewBox="0 0 352 32" aria-hidden="true">
      <path
        d="M38 16h48M114 16h48M190 16h48M266 16h48"
        {...(isBroken ? { strokeDasharray: '3 5' } : { className: 'on' })}
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
export function SessionEnded({ by }: { by: Interruption }) {
  const { username, has_password: hasPassword } = useMe();
  const { data: provider } = useProvider();
  if (by === 'password-change') return <PasswordChange username={username} />;
  if (!hasPassword || provider?.password_sign_in === false) return <SignInElsewhere />;
  return (
    <Dialog title="Sign in again">
      <p>Your session has ended. What is on this page is kept.</p>
      <PasswordSignIn username={username} done={goOn} />
    </Dialog>
  );
}

async function goOn(): Promise<void> {
  await queries.cancelQueries(); // a refusal that comes later is of the state before
  interrupt(null);
  return queries.invalidateQueries();
}

/** The sign-in at the provider, in another tab: this one would lose its typed text. */
function SignInElsewhere() {
  return (
    <Dialog title="Sign in again">
      <p>
        Your session has ended. Sign in at the provider in another tab, then go on here. What is on this page is kept.
      </p>
      <div className="actions">
        <Button text="Go on" look="quiet" onClick={() => void goOn()} />
        <a className="button button--primary" href="/api/auth/oidc/console?to=/me" target="_blank" rel="noopener">
          Sign in at the provider
        </a>
      </div>
    </Dialog>
  );
}

/** The change of a one-time password, which opens nothing else. */
function PasswordChange({ username }: { username: string }) {
  const [body, field] = useForm(() => ({ current_password: takeOneTimePassword(), new_password: '' }));
  const [isTyped] = useState(body.current_password !== '');
  const changing = useMutation({
    mutationFn: () => bodyOf(api.POST('/api/auth/password', { body })),
    onSuccess: goOn,
  });
  return (
    <Dialog title="Choose your password">
      <p>
        You signed in with a one-time password. Choose your own before you go on. It ends your other sessions, and your
        API tokens.
      </p>
      <Form
        doing={changing}
        act="Change password"
        away="Sign out"
        close={() => void signOut().then(() => interrupt(null))}
      >
        <HiddenUsername username={username} />
        {!isTyped && <PasswordField label="One-time password" {...field('current_password')} />}
        <NewPasswordField {...field('new_password')} />
      </Form>
    </Dialog>
  );
}
