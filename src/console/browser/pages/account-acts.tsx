import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { api, bodyOf, type Schemas } from '../api/client.js';
import { accessChanged } from '../api/entries.js';
import { useProvider } from '../api/session.js';
import { ActDialog } from '../parts/act-dialog.js';
import { useAsked } from '../parts/address.js';
import { Icon } from '../parts/icon.js';
import type { Asks } from '../parts/proof-form.js';
import { Secret } from '../parts/secret.js';

type Account = Schemas['UsedAccountResponse'];

interface Act {
  title: string;
  act: string;
  icon: string;
  isDanger?: boolean;
  asks?: Asks;
  follows: ReactNode;
  run: () => Promise<unknown>;
}

/** What an administrator can do with an account. */
export function AccountActs({ account }: { account: Account }) {
  const { asked, ask, close } = useAsked('ask');
  const [password, setPassword] = useState<Schemas['OneTimePasswordResponse'] | null>(null);
  const { id, username } = account;
  const ofAdministrator = account.role === 'admin' ? 'recent proof' : undefined;
  const isProvider = useProvider().data?.enabled === true;
  const { data: link } = useQuery({
    queryKey: ['people', id, 'link'],
    queryFn: () => bodyOf(api.GET('/api/admin/users/{id}/link', { params: { path: { id } } })),
    enabled: isProvider,
  });
  const isLinked = typeof link?.linked_at === 'string';
  const change = (body: Schemas['UserChangeDto']) =>
    bodyOf(api.PATCH('/api/admin/users/{id}', { params: { path: { id } }, body }));
  const acts: Act[] = [
    {
      title: `One-time password for ${username}?`,
      act: 'One-time password',
      icon: 'grant',
      asks: 'recent proof',
      follows: (
        <p>
          It replaces the password, and ends all sessions and API tokens of {username}.
          {isLinked && ' The link to the identity provider stays: unlink the account where it is not theirs.'}
        </p>
      ),
      run: async () =>
        setPassword(await bodyOf(api.POST('/api/admin/users/{id}/one-time-password', { params: { path: { id } } }))),
    },
    account.role === 'admin'
      ? {
          title: `Make ${username} a user?`,
          act: 'Make user',
          icon: 'policy',
          asks: ofAdministrator,
          follows: <p>{username} can no longer see or change access of others.</p>,
          run: () => change({ role: 'user' }),
        }
      : {
          title: `Make ${username} administrator?`,
          act: 'Make administrator',
          icon: 'policy',
          asks: 'proof',
          follows: <p>{username} can then see and change all access.</p>,
          run: () => change({ role: 'admin' }),
        },
    account.is_active
      ? {
          title: `Deactivate ${username}?`,
          act: 'Deactivate',
          icon: 'stop',
          isDanger: true,
          asks: ofAdministrator,
          follows: (
            <>
              <p>Sessions and statements end at once, and access with the next publication.</p>
              <p>
                Views that {username} owns then stop for everybody who reads them: the engine runs a view with its
                owner&apos;s access. It does not tell who owns which; {username} can own views where {username} has
                OWNERSHIP. Have another owner run CREATE OR REPLACE VIEW first.
              </p>
            </>
          ),
          run: () => change({ is_active: false }),
        }
      : {
          title: `Activate ${username}?`,
          act: 'Activate',
          icon: 'check',
          asks: ofAdministrator,
          follows: <p>{username} can sign in again, and has all that grants give with the next publication.</p>,
          run: () => change({ is_active: true }),
        },
  ];
  if (isLinked) {
    acts.push({
      title: `Unlink ${username} from the provider?`,
      act: 'Unlink',
      icon: 'stop',
      isDanger: true,
      asks: 'recent proof',
      follows: account.has_password ? (
        <p>{username} signs in with the password alone. Sessions that began at the provider end.</p>
      ) : (
        <p>
          Sessions of {username} that began at the provider end. Whoever signs in there next under this name has the
          account.
        </p>
      ),
      run: () => bodyOf(api.DELETE('/api/admin/users/{id}/link', { params: { path: { id } } })),
    });
  }
  for (const name of account.former_names) {
    acts.push({
      title: `Free the name ${name}?`,
      act: `Free ${name}`,
      icon: 'stop',
      isDanger: true,
      follows: (
        <>
          <p>
            Anybody can have the name then: a new account, a person of the provider&apos;s, a program. {username} keeps
            grants, groups and history; the audit trail and ended grants stay with {username}.
          </p>
          <p>
            To the engine, the next holder is who {name} was: views that {name} owns run with the access of that holder,
            and an older version of the rules that is restored gives them what it gave {name}.
          </p>
        </>
      ),
      run: () => bodyOf(api.DELETE('/api/admin/users/{id}/former-names/{name}', { params: { path: { id, name } } })),
    });
  }
  const current = acts.find((each) => slugOf(each) === asked);
  return (
    <section className="stack stack--tight">
      <h2>Account</h2>
      {password !== null && (
        <Secret
          title={`One-time password of ${username}`}
          secret={password.one_time_password}
          expiresAt={password.expires_at}
          close={() => setPassword(null)}
        >
          {`Give it to them: they sign in with it and choose their own.${
            password.revoked_tokens > 0 ? ` ${password.revoked_tokens} API tokens of theirs were revoked.` : ''
          }`}
        </Secret>
      )}
      <div className="menu">
        {acts.map((each) => (
          <button
            key={each.act}
            className={`button button--quiet${each.isDanger === true ? ' button--danger' : ''}`}
            type="button"
            onClick={() => ask(slugOf(each))}
          >
            <Icon name={each.icon} />
            {each.act}…
          </button>
        ))}
      </div>
      <p className="hint">Deactivating ends sessions and statements at once, and access with the next publication.</p>
      {current !== undefined && (
        <ActDialog
          title={current.title}
          act={current.act}
          isDanger={current.isDanger}
          asks={current.asks}
          run={current.run}
          close={close}
          // Once it is closed: another act stands in the place of this one then.
          done={() => void accessChanged()}
        >
          {current.follows}
        </ActDialog>
      )}
    </section>
  );
}

/** In the address: *make-administrator*. */
function slugOf({ act }: Act): string {
  return act.toLowerCase().replaceAll(' ', '-');
}
