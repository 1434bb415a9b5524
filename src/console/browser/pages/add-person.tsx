import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'wouter';
import { api, bodyOf, type Schemas } from '../api/client.js';
import { queries } from '../api/session.js';
import { Failure } from '../parts/failure.js';
import { Icon } from '../parts/icon.js';
import { Secret } from '../parts/secret.js';

const WAYS = [
  { value: true, text: 'One-time password' },
  { value: false, text: 'At the identity provider' },
] as const;

/** Makes an account: its person signs in with a one-time password, or at the identity provider under the same name. */
export function AddPerson({ close }: { close: () => void }) {
  const [username, setUsername] = useState('');
  const [email, setEmail] = useState('');
  const [withPassword, setWithPassword] = useState(true);
  const adding = useMutation({
    mutationFn: () =>
      bodyOf(
        api.POST('/api/admin/users', {
          body: {
            username: username.trim(),
            role: 'user',
            one_time_password: withPassword,
            ...(email !== '' && { email }),
          },
        }),
      ),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['people'] }),
  });
  if (adding.isSuccess) return <Added person={adding.data} close={close} />;
  return (
    <section className="panel" aria-label="Add person">
      <form
        className="stack stack--tight"
        onSubmit={(event) => {
          event.preventDefault();
          if (!adding.isPending) adding.mutate();
        }}
      >
        <div className="pair">
          <div className="field">
            <label className="label" htmlFor="new-username">
              Username
            </label>
            <input
              className="input"
              id="new-username"
              value={username}
              onChange={(event) => setUsername(event.target.value)}
              autoComplete="off"
              autoCapitalize="none"
              spellCheck={false}
              maxLength={128}
              autoFocus
              required
            />
            <p className="hint">As the engine sees it.</p>
          </div>
          <div className="field">
            <label className="label" htmlFor="new-email">
              E-mail
            </label>
            <input
              className="input"
              id="new-email"
              type="email"
              value={email}
              onChange={(event) => setEmail(event.target.value)}
              autoComplete="off"
              maxLength={254}
            />
            <p className="hint">May stay empty.</p>
          </div>
        </div>
        <fieldset>
          <legend>Signs in with</legend>
          <div className="segments">
            {WAYS.map(({ value, text }) => (
              <label key={text}>
                <input
                  type="radio"
                  name="sign-in"
                  checked={withPassword === value}
                  onChange={() => setWithPassword(value)}
                />
                {text}
              </label>
            ))}
          </div>
        </fieldset>
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
    </section>
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
        <div className="notice notice--gain" role="status">
          <Icon name="check" />
          <div>
            <b>{username} was added</b>
            <p>The account is theirs once they sign in at the identity provider under this name.</p>
          </div>
          <div className="row">
            <Link className="button button--small" href={`/people/${id}`}>
              Open
            </Link>
            <button className="button button--small button--quiet" type="button" onClick={close}>
              Done
            </button>
          </div>
        </div>
      )}
      {warnings.map((warning) => (
        <p key={warning} className="note">
          <Icon name="info" />
          <span>{warning}</span>
        </p>
      ))}
    </>
  );
}
