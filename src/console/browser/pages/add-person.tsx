import { useState } from 'react';
import { Link } from 'wouter';
import { api, bodyOf, type Schemas } from '../api/client.js';
import { queries } from '../api/session.js';
import { Icon } from '../parts/icon.js';
import { Notice } from '../parts/notice.js';
import { ProofForm } from '../parts/proof-form.js';
import { Secret } from '../parts/secret.js';
import { Segments } from '../parts/segments.js';
import { TextField } from '../parts/text-field.js';

const WAYS = [
  ['password', 'One-time password'],
  ['provider', 'At the identity provider'],
] as const;

/** Makes an account: its person signs in with a one-time password, or at the identity provider under the same name. */
export function AddPerson({ close }: { close: () => void }) {
  const [username, setUsername] = useState('');
  const [email, setEmail] = useState('');
  const [way, setWay] = useState<(typeof WAYS)[number][0]>('password');
  const [added, setAdded] = useState<NewPerson | null>(null);
  const add = () =>
    bodyOf(
      api.POST('/api/admin/users', {
        body: {
          username: username.trim(),
          role: 'user',
          one_time_password: way === 'password',
          ...(email !== '' && { email }),
        },
      }),
    );
  if (added !== null) return <Added person={added} close={close} />;
  return (
    <ProofForm
      isPanel
      label="Add person"
      act="Save"
      asks={way === 'password' ? 'recent proof' : undefined}
      run={add}
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
                value={username}
                set={setUsername}
                hint="As the engine sees it."
                autoCapitalize="none"
                maxLength={128}
                isMono
                autoFocus
                required
              />
              <TextField
                label="E-mail"
                type="email"
                value={email}
                set={setEmail}
                hint="May stay empty."
                maxLength={254}
              />
            </div>
          )}
          <Segments legend="Signs in with" choices={WAYS} value={way} set={setWay} />
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
              <Link className="button button--small" href={`/people/${id}`}>
                Open
              </Link>
              <button className="button button--small button--quiet" type="button" onClick={close}>
                Done
              </button>
            </>
          }
        >
          <p>The account is theirs once they sign in at the identity provider under this name.</p>
        </Notice>
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
