import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useSearchParams } from 'wouter';
import { api, bodyOf, Problem } from '../api/client.js';
import { linkAtProvider, queries, useProvider, useStart } from '../api/session.js';
import { ActDialog } from './act-dialog.js';
import { RETURN } from './asked.js';
import { Dialog } from './dialog.js';
import { Failure } from './failure.js';
import { Moment } from './moment.js';
import { HiddenUsername, PasswordField } from './password-field.js';

/** Why nothing was linked; other codes have one sentence. */
const TEXTS: Record<string, string> = {
  sign_in_cancelled: 'You did not sign in at the provider. Nothing was linked.',
  person_linked: 'Whoever signed in there has another account here. Nothing was linked.',
};

/** How the own account signs in at the identity provider, where there is one. */
export function ProviderLink() {
  const { data: provider } = useProvider();
  return provider?.enabled === true ? <Link name={provider.name ?? 'the provider'} /> : null;
}

function Link({ name }: { name: string }) {
  const [search] = useSearchParams();
  const [act, setAct] = useState<'link' | 'unlink' | null>(null);
  const account = useStart().data?.account;
  const query = useQuery({ queryKey: ['own-link'], queryFn: () => bodyOf(api.GET('/api/auth/oidc/link')) });
  const linkedAt = query.data?.linked_at;
  const code = search.get(RETURN.code);
  const failed = TEXTS[code ?? ''] ?? 'The provider sent you back, and nothing was linked.';
  return (
    <section className="stack stack--tight">
      <div className="head">
        <h2>Sign-in with {name}</h2>
        {account?.has_password === true && linkedAt !== undefined && (
          <button
            className="button button--small button--quiet"
            type="button"
            onClick={() => setAct(linkedAt === null ? 'link' : 'unlink')}
          >
            {linkedAt === null ? 'Link…' : 'Unlink…'}
          </button>
        )}
      </div>
      {code !== null && <Failure problem={new Problem(0, code, failed, search.get(RETURN.requestId), null, [])} />}
      {query.isError && <Failure problem={query.error} retry={() => void query.refetch()} />}
      {linkedAt === null && <p className="dim">Not linked. Link your account to sign in there as well.</p>}
      {typeof linkedAt === 'string' && (
        <p>
          Linked since <Moment at={linkedAt} />.
        </p>
      )}
      {act === 'link' && <LinkDialog name={name} username={account?.username} close={() => setAct(null)} />}
      {act === 'unlink' && (
        <ActDialog
          title={`Unlink from ${name}?`}
          act="Unlink"
          run={() => bodyOf(api.DELETE('/api/auth/oidc/link'))}
          close={() => setAct(null)}
          done={() => void queries.invalidateQueries()}
        >
          <p>You sign in with your password alone. Sessions that began at {name} end.</p>
        </ActDialog>
      )}
    </section>
  );
}

function LinkDialog({ name, username, close }: { name: string; username: string | undefined; close: () => void }) {
  const [password, setPassword] = useState('');
  const { isPending, error, mutate } = useMutation({ mutationFn: () => linkAtProvider(password) });
  return (
    <Dialog title={`Link to ${name}?`} close={close}>
      <form
        className="stack stack--tight"
        method="post"
        onSubmit={(event) => {
          event.preventDefault();
          if (!isPending) mutate();
        }}
      >
        <p className="dim">You sign in at {name} as yourself, and come back here.</p>
        <HiddenUsername username={username} />
        <PasswordField
          id="link-password"
          label="Password"
          complete="current-password"
          value={password}
          set={setPassword}
        />
        {error !== null && <Failure problem={error} />}
        <div className="actions">
          <button className="button button--quiet" type="button" onClick={close}>
            Cancel
          </button>
          <button className="button button--primary" type="submit" aria-disabled={isPending}>
            Sign in at the provider
          </button>
        </div>
      </form>
    </Dialog>
  );
}
