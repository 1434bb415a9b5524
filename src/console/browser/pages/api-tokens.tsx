import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, bodyOf, type Schemas } from '../api/client.js';
import { queries } from '../api/session.js';
import { now } from '../now.js';
import { ActDialog } from '../parts/act-dialog.js';
import { useAsked } from '../parts/address.js';
import { Icon } from '../parts/icon.js';
import { Listing } from '../parts/listing.js';
import { Moment } from '../parts/moment.js';
import { ProofForm } from '../parts/proof-form.js';
import { Region } from '../parts/page.js';
import { Secret } from '../parts/secret.js';
import { Cell } from '../parts/table.js';
import { TextField } from '../parts/text-field.js';

type Token = Schemas['ApiTokenResponse'];
type Scope = Token['scopes'][number];

const COLUMNS = [{ name: 'Name' }, { name: 'Scopes' }, { name: 'Expires' }, { name: 'Action', isHidden: true }];
const KEY = ['own-tokens'];
const MOST = 50;
const DAY = 86_400_000;

const SCOPES: readonly { scope: Scope; hint: string; isForAdministrators?: true }[] = [
  { scope: 'queries', hint: 'Run SQL under your name.' },
  { scope: 'access.read', hint: 'Read what you may reach, and why.' },
  { scope: 'admin.read', hint: 'Read all that administrators see.', isForAdministrators: true },
  { scope: 'admin.write', hint: 'Grant, revoke, publish.', isForAdministrators: true },
];

/** The own tokens of programs: made, shown once, and revoked. */
export function ApiTokens({ isAdministrator }: { isAdministrator: boolean }) {
  const { asked, ask, close } = useAsked('ask');
  const [made, setMade] = useState<Schemas['NewApiTokenResponse'] | null>(null);
  const [revoked, setRevoked] = useState<Token | null>(null);
  const query = useQuery({ queryKey: KEY, queryFn: () => bodyOf(api.GET('/api/auth/tokens')) });
  const items = query.data?.items ?? null;
  return (
    <Region
      title="API tokens"
      isStack
      count={items !== null && `${items.length} of ${MOST}`}
      actions={
        <button className="button button--small button--quiet" type="button" onClick={() => ask('new-token')}>
          <Icon name="plus" />
          New token
        </button>
      }
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
          isAdministrator={isAdministrator}
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
        cells={(token) => <TokenCells token={token} revoke={() => setRevoked(token)} />}
      />
      {revoked !== null && (
        <ActDialog
          title={`Revoke ${revoked.name}?`}
          act="Revoke"
          isDanger
          close={() => setRevoked(null)}
          run={async () => {
            await bodyOf(api.DELETE('/api/auth/tokens/{id}', { params: { path: { id: revoked.id } } }));
            await queries.invalidateQueries({ queryKey: KEY });
          }}
        >
          <p>Programs that use it are refused from then on.</p>
        </ActDialog>
      )}
    </Region>
  );
}

function TokenCells({ token, revoke }: { token: Token; revoke: () => void }) {
  return (
    <>
      <Cell>{token.name}</Cell>
      <Cell>
        <span className="dim">{token.scopes.join(', ')}</span>
      </Cell>
      <Cell className="nowrap" data-label="Expires">
        <Moment at={token.expires_at} />
      </Cell>
      <Cell className="num">
        <button
          className="button button--small button--quiet"
          type="button"
          onClick={revoke}
          aria-label={`Revoke ${token.name}`}
        >
          Revoke
        </button>
      </Cell>
    </>
  );
}

interface NewTokenProps {
  isAdministrator: boolean;
  close: () => void;
  done: (token: Schemas['NewApiTokenResponse']) => void;
}

function NewToken({ isAdministrator, close, done }: NewTokenProps) {
  const [name, setName] = useState('');
  const [scopes, setScopes] = useState<readonly Scope[]>(['queries']);
  const [until, setUntil] = useState(() => new Date(now().getTime() + 90 * DAY).toISOString().slice(0, 10));
  const make = () =>
    bodyOf(
      api.POST('/api/auth/tokens', {
        body: { name: name.trim(), scopes: [...scopes], expires_at: `${until}T00:00:00Z` },
      }),
    );
  return (
    <ProofForm isPanel label="New token" act="Save" asks="recent proof" run={make} done={done} close={close}>
      {(isHere) =>
        isHere && (
          <>
            <div className="pair">
              <TextField label="Name" value={name} set={setName} maxLength={128} autoFocus required />
              <TextField label="Expires" type="date" value={until} set={setUntil} required />
            </div>
            <fieldset>
              <legend>Scopes</legend>
              {SCOPES.filter(({ isForAdministrators }) => isForAdministrators !== true || isAdministrator).map(
                ({ scope, hint }) => (
                  <label key={scope} className="check">
                    <input
                      type="checkbox"
                      checked={scopes.includes(scope)}
                      onChange={({ target }) =>
                        setScopes(target.checked ? [...scopes, scope] : scopes.filter((each) => each !== scope))
                      }
                    />
                    <span className="mono">{scope}</span>
                    <span className="hint">{hint}</span>
                  </label>
                ),
              )}
            </fieldset>
          </>
        )
      }
    </ProofForm>
  );
}
