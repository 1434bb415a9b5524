import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link, useParams } from 'wouter';
import { api, bodyOf, isProblem, type Schemas } from '../api/client.js';
import { refreshAccess } from '../api/entries.js';
import { loadedCountText, usePages } from '../api/pages.js';
import { useIdentityProvider } from '../api/session.js';
import { whyAddressOfEntry } from '../domain/why-address.js';
import { EffectiveAccess, Sessions } from '../parts/account.js';
import { ActionButton } from '../parts/action-dialog.js';
import { Button, ButtonLink } from '../parts/controls.js';
import { AccountState, Moment, Principal, PrincipalIcon, SignInMeans } from '../parts/display.js';
import { NewGrantLink } from '../parts/entries.js';
import { Failure, SecretNotice } from '../parts/notice.js';
import { EmptyState, Fact, NotFoundPage, PageHead, Region } from '../parts/page.js';

type Account = Schemas['AccountDetailsResponse'];

/** The page of an account: its access and where that comes from, its groups and sessions, and actions on the account. */
export function Person() {
  const id = Number(useParams<{ id: string }>().id);
  const params = { path: { id } };
  const query = useQuery({
    queryKey: ['people', id],
    queryFn: () => bodyOf(api.GET('/api/admin/users/{id}', { params })),
  });
  if (isProblem(query.error, 404)) return <NotFoundPage />;
  const account = query.data;
  return (
    <main key={id} id="main" className="split split--aside" tabIndex={-1}>
      <div className="stack">
        {query.isError && <Failure problem={query.error} retry={() => void query.refetch()} />}
        <PageHead
          title={account?.username ?? 'Person'}
          heading={
            account === undefined ? (
              <span className="skeleton skeleton--m" />
            ) : (
              <>
                <PrincipalIcon principal={{ type: 'user', name: account.username }} />
                {account.username} <AccountState isActive={account.is_active} isBadge />
              </>
            )
          }
          actions={
            <>
              <NewGrantLink query={`?principal=user:${id}`} />
              <ButtonLink text="Ask why" href={`/why?principal=user:${id}`} />
            </>
          }
        />
        <EffectiveAccess
          name="Effective access"
          account={id}
          whyHref={(entry) => whyAddressOfEntry({ type: 'user', id }, entry)}
          readPage={(page) =>
            bodyOf(api.GET('/api/admin/access/effective', { params: { query: { principal: `user:${id}`, ...page } } }))
          }
          emptyState={
            <EmptyState
              title={`${account?.username ?? 'This account'} reaches nothing`}
              text="No grant names the account or a group that it is in."
              action={<NewGrantLink query={`?principal=user:${id}`} />}
            />
          }
        />
        <Sessions
          account={id}
          readPage={(page) => bodyOf(api.GET('/api/admin/users/{id}/sessions', { params: { ...params, query: page } }))}
          endSession={(session) =>
            bodyOf(api.DELETE('/api/admin/users/{id}/sessions/{session}', { params: { path: { id, session } } }))
          }
          endAllSessions={() => bodyOf(api.DELETE('/api/admin/users/{id}/sessions', { params }))}
        />
      </div>
      <aside className="sunken stack" aria-label={`About ${account?.username ?? 'the account'}`}>
        {account !== undefined && <AccountFacts account={account} />}
        <Groups id={id} />
        {account !== undefined && <AccountActions account={account} />}
      </aside>
    </main>
  );
}

function AccountFacts({ account }: { account: Account }) {
  return (
    <dl className="facts facts--rows">
      <Fact name="E-mail">{account.email ?? <span className="dim">none</span>}</Fact>
      <Fact name="Signs in with">
        <SignInMeans account={account} />
      </Fact>
      <Fact name="Last sign-in">
        {account.last_sign_in_at === null ? (
          <span className="dim">none known</span>
        ) : (
          <Moment time={account.last_sign_in_at} />
        )}
      </Fact>
      <Fact name="Account since">
        <Moment time={account.created_at} />
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
  const { query, items: groups, readMore } = list;
  return (
    <Region title="Groups" count={loadedCountText(list)} isTightStack>
      {query.isError && <Failure problem={query.error} retry={() => void query.refetch()} />}
      {groups?.length === 0 && <p className="dim">In no group.</p>}
      <ul className="stack stack--tight">
        {groups?.map((group) => (
          <li key={group.id} className="row row--apart">
            <Principal principal={{ type: 'group', id: group.id, name: group.name }} href={`/groups/${group.id}`} />
            {group.source !== 'local' && <small className="dim">from the provider</small>}
          </li>
        ))}
      </ul>
      {readMore !== undefined && <Button text="More groups" look="small" onClick={readMore} />}
    </Region>
  );
}

function AccountActions({ account }: { account: Schemas['AccountDetailsResponse'] }) {
  const [password, setPassword] = useState<Schemas['OneTimePasswordResponse'] | null>(null);
  const { id, username } = account;
  const params = { path: { id } };
  const isAdministrator = account.role === 'admin';
  const { data: provider } = useIdentityProvider();
  const { data: providerLink } = useQuery({
    queryKey: ['people', id, 'link'],
    queryFn: () => bodyOf(api.GET('/api/admin/users/{id}/link', { params })),
    enabled: provider?.enabled === true,
  });
  const isLinked = typeof providerLink?.linked_at === 'string';
  const changeAccount = (body: Schemas['UserChangeDto']) =>
    bodyOf(api.PATCH('/api/admin/users/{id}', { params, body }));
  const requiredProof = isAdministrator ? 'recent' : undefined;
  const onDone = (): void => void refreshAccess();
  const dangerButton = { look: 'quiet danger', icon: 'stop' };
  return (
    <Region title="Account" isTightStack>
      {password !== null && (
        <SecretNotice
          title={`One-time password of ${username}`}
          secret={password.one_time_password}
          expiresAt={password.expires_at}
          close={() => setPassword(null)}
        >
          {`Give it to them: they sign in with it and choose their own.${
            password.revoked_tokens > 0 ? ` ${password.revoked_tokens} API tokens of theirs were revoked.` : ''
          }`}
        </SecretNotice>
      )}
      <div className="menu">
        <ActionButton
          onDone={onDone}
          title={`One-time password for ${username}?`}
          action="One-time password"
          proof="recent"
          run={async () => setPassword(await bodyOf(api.POST('/api/admin/users/{id}/one-time-password', { params })))}
          button={{ look: 'quiet', text: 'One-time password…', icon: 'grant' }}
        >
          <p>
            It replaces the password, and ends all sessions and API tokens of {username}.
            {isLinked && ' The link to the identity provider stays: unlink the account where it is not theirs.'}
          </p>
        </ActionButton>
        {isAdministrator ? (
          <ActionButton
            onDone={onDone}
            title={`Make ${username} a user?`}
            action="Make user"
            proof="recent"
            run={() => changeAccount({ role: 'user' })}
            button={{ look: 'quiet', text: 'Make user…', icon: 'policy' }}
          >
            <p>{username} can no longer see or change access of others.</p>
          </ActionButton>
        ) : (
          <ActionButton
            onDone={onDone}
            title={`Make ${username} administrator?`}
            action="Make administrator"
            proof="new"
            run={() => changeAccount({ role: 'admin' })}
            button={{ look: 'quiet', text: 'Make administrator…', icon: 'policy' }}
          >
            <p>{username} can then see and change all access.</p>
          </ActionButton>
        )}
        {account.is_active ? (
          <ActionButton
            isDanger
            onDone={onDone}
            title={`Deactivate ${username}?`}
            action="Deactivate"
            proof={requiredProof}
            run={() => changeAccount({ is_active: false })}
            button={{ ...dangerButton, text: 'Deactivate…' }}
          >
            <p>Sessions and statements end at once, and access with the next publication.</p>
            <p>
              Views that {username} owns then stop for everybody who reads them: the engine runs a view with its
              owner&apos;s access. It does not tell who owns which; {username} can own views where {username} has
              OWNERSHIP. Have another owner run CREATE OR REPLACE VIEW first.
            </p>
          </ActionButton>
        ) : (
          <ActionButton
            onDone={onDone}
            title={`Activate ${username}?`}
            action="Activate"
            proof={requiredProof}
            run={() => changeAccount({ is_active: true })}
            button={{ look: 'quiet', text: 'Activate…', icon: 'check' }}
          >
            <p>{username} can sign in again, and has all that grants give with the next publication.</p>
          </ActionButton>
        )}
        {isLinked && (
          <ActionButton
            isDanger
            onDone={onDone}
            title={`Unlink ${username} from the provider?`}
            action="Unlink"
            proof="recent"
            run={() => bodyOf(api.DELETE('/api/admin/users/{id}/link', { params }))}
            button={{ ...dangerButton, text: 'Unlink…' }}
          >
            {account.has_password ? (
              <p>{username} signs in with the password alone. Sessions that began at the provider end.</p>
            ) : (
              <p>
                Sessions of {username} that began at the provider end. Whoever signs in there next under this name has
                the account.
              </p>
            )}
          </ActionButton>
        )}
        {account.former_names.map((name) => (
          <ActionButton
            key={name}
            isDanger
            onDone={onDone}
            title={`Free the name ${name}?`}
            action={`Free ${name}`}
            run={() =>
              bodyOf(api.DELETE('/api/admin/users/{id}/former-names/{name}', { params: { path: { id, name } } }))
            }
            button={{ ...dangerButton, text: `Free ${name}…` }}
          >
            <p>
              Anybody can have the name then: a new account, a person of the provider&apos;s, a program. {username}{' '}
              keeps grants, groups and history; the audit trail and ended grants stay with {username}.
            </p>
            <p>
              To the engine, the next holder is who {name} was: views that {name} owns run with the access of that
              holder, and an older version of the rules that is restored gives them what it gave {name}.
            </p>
          </ActionButton>
        ))}
      </div>
      <p className="hint">Deactivating ends sessions and statements at once, and access with the next publication.</p>
    </Region>
  );
}
