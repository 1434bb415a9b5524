import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link, useParams } from 'wouter';
import { api, bodyOf, isProblem, type Schemas } from '../api/client.js';
import { refreshAccess } from '../api/entries.js';
import { countOf, usePages } from '../api/pages.js';
import { useProvider } from '../api/session.js';
import { whyOfEntry } from '../domain/why-address.js';
import { EffectiveAccess, Sessions } from '../parts/account.js';
import { Act } from '../parts/act.js';
import { Button, ButtonLink } from '../parts/controls.js';
import { AccountState, Moment, Principal, Shape, SignInMeans } from '../parts/display.js';
import { NewGrant } from '../parts/grants.js';
import { Failure, Secret } from '../parts/notice.js';
import { Empty, Fact, NotFoundPage, PageHead, Region } from '../parts/page.js';

type Account = Schemas['UsedAccountResponse'];

/** One account: what it reaches and through what, its groups, its sessions, and what can be done with it. */
export function Person() {
  const id = Number(useParams<{ id: string }>().id);
  const path = { path: { id } };
  const query = useQuery({
    queryKey: ['people', id],
    queryFn: () => bodyOf(api.GET('/api/admin/users/{id}', { params: path })),
  });
  if (isProblem(query.error, 404)) return <NotFoundPage />;
  const account = query.data;
  return (
    <main id="main" className="split split--aside" tabIndex={-1}>
      <div className="stack">
        {query.isError && <Failure problem={query.error} retry={() => void query.refetch()} />}
        <PageHead
          title={account?.username ?? 'Person'}
          heading={
            account === undefined ? (
              <span className="skeleton skeleton--m" />
            ) : (
              <>
                <Shape of={{ type: 'user', name: account.username }} />
                {account.username} <AccountState isActive={account.is_active} isBadge />
              </>
            )
          }
          actions={
            <>
              <NewGrant query={`?principal=user:${id}`} />
              <ButtonLink text="Ask why" href={`/why?principal=user:${id}`} />
            </>
          }
        />
        <EffectiveAccess
          key={id}
          name="Effective access"
          of={id}
          why={(entry) => whyOfEntry({ type: 'user', id }, entry)}
          read={(page) =>
            bodyOf(api.GET('/api/admin/access/effective', { params: { query: { principal: `user:${id}`, ...page } } }))
          }
          empty={
            <Empty
              title={`${account?.username ?? 'This account'} reaches nothing`}
              text="No grant names the account or a group that it is in."
              action={<NewGrant query={`?principal=user:${id}`} />}
            />
          }
        />
        <Sessions
          of={id}
          read={(page) => bodyOf(api.GET('/api/admin/users/{id}/sessions', { params: { ...path, query: page } }))}
          end={(session) =>
            bodyOf(api.DELETE('/api/admin/users/{id}/sessions/{session}', { params: { path: { id, session } } }))
          }
          endAll={() => bodyOf(api.DELETE('/api/admin/users/{id}/sessions', { params: path }))}
        />
      </div>
      <aside className="sunken stack" aria-label={`About ${account?.username ?? 'the account'}`}>
        {account !== undefined && <Facts account={account} />}
        <Groups id={id} />
        {account !== undefined && <AccountActs account={account} />}
      </aside>
    </main>
  );
}

function Facts({ account }: { account: Account }) {
  return (
    <dl className="facts facts--rows">
      <Fact name="E-mail">{account.email ?? <span className="dim">none</span>}</Fact>
      <Fact name="Signs in with">
        <SignInMeans of={account} />
      </Fact>
      <Fact name="Last sign-in">
        {account.last_sign_in_at === null ? (
          <span className="dim">none known</span>
        ) : (
          <Moment at={account.last_sign_in_at} />
        )}
      </Fact>
      <Fact name="Account since">
        <Moment at={account.created_at} />
      </Fact>
      <Fact name="Role">{account.role === 'admin' ? 'administrator' : 'user'}</Fact>
      <Fact name="History">
        <Link href={`/audit?user=${account.id}`}>All events</Link>
      </Fact>
    </dl>
  );
}

function Groups({ id }: { id: number }) {
  const list = usePages(
    ['groups', 'of', id],
    (page) => bodyOf(api.GET('/api/admin/groups', { params: { query: { member: String(id), ...page } } })),
    { limit: 20 },
  );
  const { query, items: groups, more } = list;
  return (
    <Region title="Groups" count={countOf(list)} isStack>
      {query.isError && <Failure problem={query.error} retry={() => void query.refetch()} />}
      {groups?.length === 0 && <p className="dim">In no group.</p>}
      <ul className="stack stack--tight">
        {groups?.map((group) => (
          <li key={group.id} className="row row--apart">
            <Principal of={{ type: 'group', id: group.id, name: group.name }} href={`/groups/${group.id}`} />
            {group.source !== 'local' && <small className="dim">from the provider</small>}
          </li>
        ))}
      </ul>
      {more !== undefined && <Button text="More groups" look="small" onClick={more} />}
    </Region>
  );
}

/** What an administrator can do with an account. */
function AccountActs({ account }: { account: Schemas['UsedAccountResponse'] }) {
  const [password, setPassword] = useState<Schemas['OneTimePasswordResponse'] | null>(null);
  const { id, username } = account;
  const params = { path: { id } };
  const isAdministrator = account.role === 'admin';
  const { data: provider } = useProvider();
  const { data: link } = useQuery({
    queryKey: ['people', id, 'link'],
    queryFn: () => bodyOf(api.GET('/api/admin/users/{id}/link', { params })),
    enabled: provider?.enabled === true,
  });
  const isLinked = typeof link?.linked_at === 'string';
  const change = (body: Schemas['UserChangeDto']) => bodyOf(api.PATCH('/api/admin/users/{id}', { params, body }));
  const asks = isAdministrator ? 'recent proof' : undefined;
  const done = (): void => void refreshAccess();
  const danger = { look: 'quiet danger', icon: 'stop' };
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
        <Act
          done={done}
          title={`One-time password for ${username}?`}
          act="One-time password"
          asks="recent proof"
          run={async () => setPassword(await bodyOf(api.POST('/api/admin/users/{id}/one-time-password', { params })))}
          button={{ look: 'quiet', text: 'One-time password…', icon: 'grant' }}
        >
          <p>
            It replaces the password, and ends all sessions and API tokens of {username}.
            {isLinked && ' The link to the identity provider stays: unlink the account where it is not theirs.'}
          </p>
        </Act>
        {isAdministrator ? (
          <Act
            done={done}
            title={`Make ${username} a user?`}
            act="Make user"
            asks="recent proof"
            run={() => change({ role: 'user' })}
            button={{ look: 'quiet', text: 'Make user…', icon: 'policy' }}
          >
            <p>{username} can no longer see or change access of others.</p>
          </Act>
        ) : (
          <Act
            done={done}
            title={`Make ${username} administrator?`}
            act="Make administrator"
            asks="proof"
            run={() => change({ role: 'admin' })}
            button={{ look: 'quiet', text: 'Make administrator…', icon: 'policy' }}
          >
            <p>{username} can then see and change all access.</p>
          </Act>
        )}
        {account.is_active ? (
          <Act
            isDanger
            done={done}
            title={`Deactivate ${username}?`}
            act="Deactivate"
            asks={asks}
            run={() => change({ is_active: false })}
            button={{ ...danger, text: 'Deactivate…' }}
          >
            <p>Sessions and statements end at once, and access with the next publication.</p>
            <p>
              Views that {username} owns then stop for everybody who reads them: the engine runs a view with its
              owner&apos;s access. It does not tell who owns which; {username} can own views where {username} has
              OWNERSHIP. Have another owner run CREATE OR REPLACE VIEW first.
            </p>
          </Act>
        ) : (
          <Act
            done={done}
            title={`Activate ${username}?`}
            act="Activate"
            asks={asks}
            run={() => change({ is_active: true })}
            button={{ look: 'quiet', text: 'Activate…', icon: 'check' }}
          >
            <p>{username} can sign in again, and has all that grants give with the next publication.</p>
          </Act>
        )}
        {isLinked && (
          <Act
            isDanger
            done={done}
            title={`Unlink ${username} from the provider?`}
            act="Unlink"
            asks="recent proof"
            run={() => bodyOf(api.DELETE('/api/admin/users/{id}/link', { params }))}
            button={{ ...danger, text: 'Unlink…' }}
          >
            {account.has_password ? (
              <p>{username} signs in with the password alone. Sessions that began at the provider end.</p>
            ) : (
              <p>
                Sessions of {username} that began at the provider end. Whoever signs in there next under this name has
                the account.
              </p>
            )}
          </Act>
        )}
        {account.former_names.map((name) => (
          <Act
            key={name}
            isDanger
            done={done}
            title={`Free the name ${name}?`}
            act={`Free ${name}`}
            run={() =>
              bodyOf(api.DELETE('/api/admin/users/{id}/former-names/{name}', { params: { path: { id, name } } }))
            }
            button={{ ...danger, text: `Free ${name}…` }}
          >
            <p>
              Anybody can have the name then: a new account, a person of the provider&apos;s, a program. {username}{' '}
              keeps grants, groups and history; the audit trail and ended grants stay with {username}.
            </p>
            <p>
              To the engine, the next holder is who {name} was: views that {name} owns run with the access of that
              holder, and an older version of the rules that is restored gives them what it gave {name}.
            </p>
          </Act>
        ))}
      </div>
      <p className="hint">Deactivating ends sessions and statements at once, and access with the next publication.</p>
    </section>
  );
}
