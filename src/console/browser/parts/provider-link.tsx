import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, bodyOf } from '../api/client.js';
import { linkAtProvider, queries, useProvider, useStart } from '../api/session.js';
import { ActDialog } from './act-dialog.js';
import { useAsked } from './address.js';
import { Failure } from './failure.js';
import { Moment } from './moment.js';
import { ReturnFailure } from './proof-form.js';
import { Region } from './page.js';

/** Why nothing was linked. */
const TEXTS = {
  sign_in_cancelled: 'You did not sign in at the provider. Nothing was linked.',
  person_linked: 'Whoever signed in there has another account here. Nothing was linked.',
  other: 'The provider sent you back, and nothing was linked.',
};

/** How the own account signs in at the identity provider, where there is one. */
export function ProviderLink() {
  const { data: provider } = useProvider();
  return provider?.enabled === true ? <Link name={provider.name ?? 'the provider'} /> : null;
}

function Link({ name }: { name: string }) {
  const [act, setAct] = useState<'link' | 'unlink' | null>(null);
  const { asked } = useAsked('ask'); // who left for a token comes back to that
  const account = useStart().data?.account;
  const query = useQuery({ queryKey: ['own-link'], queryFn: () => bodyOf(api.GET('/api/auth/oidc/link')) });
  const linkedAt = query.data?.linked_at;
  return (
    <Region
      title={`Sign-in with ${name}`}
      isStack
      actions={
        account?.has_password === true &&
        linkedAt !== undefined && (
          <button
            className="button button--small button--quiet"
            type="button"
            onClick={() => setAct(linkedAt === null ? 'link' : 'unlink')}
          >
            {linkedAt === null ? 'Link…' : 'Unlink…'}
          </button>
        )
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
      {act === 'link' && (
        <ActDialog
          title={`Link to ${name}?`}
          act="Sign in at the provider"
          asks="password"
          run={linkAtProvider}
          close={() => setAct(null)}
        >
          <p>You sign in at {name} as yourself, and come back here.</p>
        </ActDialog>
      )}
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
    </Region>
  );
}
