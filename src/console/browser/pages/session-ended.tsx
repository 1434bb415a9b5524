import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { api, bodyOf } from '../api/client.js';
import { type Interruption, interrupt, queries, signIn, signOut, useProvider, useStart } from '../api/session.js';
import { Dialog } from '../parts/dialog.js';
import { Failure } from '../parts/failure.js';
import { Form } from '../parts/form.js';
import { HiddenUsername, PasswordField } from '../parts/password-field.js';
import { CredentialsForm } from './sign-in.js';

/** Over the page, which stays as it is with all that was typed in it. */
export function SessionEnded({ username, by }: { username: string; by: Interruption }) {
  return by === 'password-change' ? <PasswordChange username={username} /> : <SignInAgain username={username} />;
}

function goOn(): Promise<void> {
  interrupt(null);
  return queries.invalidateQueries();
}

function SignInAgain({ username }: { username: string }) {
  const hasPassword = useStart().data?.account?.has_password;
  const isOpen = useProvider().data?.password_sign_in;
  return hasPassword === false || isOpen === false ? <SignInElsewhere /> : <SignInHere username={username} />;
}

/** At the provider, in another tab: this one would lose what was typed. */
function SignInElsewhere() {
  return (
    <Dialog title="Sign in again">
      <p>
        Your session has ended. Sign in at the provider in another tab, then go on here. What is on this page is kept.
      </p>
      <div className="actions">
        <button className="button button--quiet" type="button" onClick={() => void goOn()}>
          Go on
        </button>
        <a className="button button--primary" href="/api/auth/oidc/console?to=/me" target="_blank" rel="noopener">
          Sign in at the provider
        </a>
      </div>
    </Dialog>
  );
}

function SignInHere({ username }: { username: string }) {
  const signingIn = useMutation({ mutationFn: signIn, onSuccess: goOn });
  return (
    <Dialog title="Sign in again">
      <p>Your session has ended. What is on this page is kept.</p>
      <CredentialsForm
        username={username}
        isBusy={signingIn.isPending}
        submit={(name, password) => signingIn.mutate({ username: name, password })}
      />
      {signingIn.isError && <Failure problem={signingIn.error} />}
    </Dialog>
  );
}

/** Of a one-time password, which opens nothing else. */
function PasswordChange({ username }: { username: string }) {
  const [current, setCurrent] = useState('');
  const [next, setNext] = useState('');
  const changing = useMutation({
    mutationFn: () =>
      bodyOf(api.POST('/api/auth/password', { body: { current_password: current, new_password: next } })),
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
        <PasswordField
          id="current-password"
          label="One-time password"
          complete="current-password"
          value={current}
          set={setCurrent}
        />
        <PasswordField id="new-password" label="New password" complete="new-password" value={next} set={setNext} />
      </Form>
    </Dialog>
  );
}
