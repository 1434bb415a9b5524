import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { useSearchParams } from 'wouter';
import type { Schemas } from '../api/client.js';
import { signIn, useProvider } from '../api/session.js';
import { CopyButton } from '../parts/copy-button.js';
import { Failure } from '../parts/failure.js';
import { Brand, Icon } from '../parts/icon.js';
import { useTitle } from '../parts/page.js';
import { ReturnFailure } from '../parts/proof-form.js';

/** Signing in, or, where nobody can grant anything yet, how the first administrator is made. */
export function SignIn({ isFirst }: { isFirst: boolean }) {
  useTitle(isFirst ? 'First start' : 'Sign in');
  const { data: provider, isPending } = useProvider();
  return (
    <div className="gate">
      <main className="stack">
        {isFirst ? <FirstStart /> : <Head title="Sign in">See who may reach which data, and why.</Head>}
        {isFirst && <p className="rule">or sign in</p>}
        {provider?.enabled === true && <AtProvider provider={provider} />}
        {!isPending && (provider?.password_sign_in === false ? <ForAdministrators /> : <SignInForm />)}
      </main>
      <Line isBroken={isFirst} />
    </div>
  );
}

/** The way to the identity provider, and why somebody came back from it without being signed in. */
function AtProvider({ provider }: { provider: Schemas['ProviderResponse'] }) {
  const [search] = useSearchParams();
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

/** For when nobody can sign in at the provider. */
function ForAdministrators() {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button className="button button--quiet" type="button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        Administrators: with a password
      </button>
      {isOpen && <SignInForm />}
    </>
  );
}

function SignInForm() {
  const signingIn = useMutation({ mutationFn: signIn });
  return (
    <>
      <CredentialsForm
        isBusy={signingIn.isPending}
        submit={(username, password) => signingIn.mutate({ username, password })}
      />
      {signingIn.isError && <Failure problem={signingIn.error} />}
    </>
  );
}

/** @param props.username given: of a session that has ended */
export function CredentialsForm({ username, isBusy, submit }: CredentialsProps) {
  return (
    <form
      className="stack stack--tight"
      method="post"
      onSubmit={(event) => {
        event.preventDefault();
        if (isBusy) return;
        const form = new FormData(event.currentTarget);
        submit(textOf(form.get('username')), textOf(form.get('password')));
      }}
    >
      <div className="field">
        <label className="label" htmlFor="username">
          Username
        </label>
        <input
          className="input"
          id="username"
          name="username"
          type="text"
          defaultValue={username}
          readOnly={username !== undefined}
          autoComplete="username"
          autoCapitalize="none"
          spellCheck={false}
          required
        />
      </div>
      <div className="field">
        <label className="label" htmlFor="password">
          Password
        </label>
        <input
          className="input"
          id="password"
          name="password"
          type="password"
          autoComplete="current-password"
          autoFocus={username !== undefined}
          required
        />
      </div>
      <button className="button button--primary" type="submit" aria-disabled={isBusy}>
        Sign in
      </button>
    </form>
  );
}

interface CredentialsProps {
  username?: string;
  isBusy: boolean;
  submit: (username: string, password: string) => void;
}

function textOf(value: FormDataEntryValue | null): string {
  return typeof value === 'string' ? value : '';
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
      <p className="note" role="status">
        <Icon name="info" />
        <span>It reads the password from its standard input. This page goes on by itself.</span>
      </p>
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

/** The five stations of an answer: person, group, grant, node, rule. */
function Line({ isBroken }: { isBroken: boolean }) {
  return (
    <svg className="gate__line" viewBox="0 0 352 32" aria-hidden="true">
      {isBroken ? (
        <path d="M38 16h48M114 16h48M190 16h48M266 16h48" strokeDasharray="3 5" />
      ) : (
        <path d="M38 16h48M114 16h48M190 16h48M266 16h48" className="on" />
      )}
      <circle cx="24" cy="16" r="10" />
      <rect x="90" y="6" width="20" height="20" rx="6" />
      <path d="m176 4 12 12-12 12-12-12z" />
      <rect x="242" y="6" width="20" height="20" rx="2" />
      <circle cx="328" cy="16" r="11" className="fill" />
      <path d="m323.500 16.500 3 3 6-6.500" className="tick" />
    </svg>
  );
}
