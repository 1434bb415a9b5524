import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from 'wouter';
import { api, bodyOf, Problem, type Schemas } from '../api/client.js';
import { countOf, usePages } from '../api/pages.js';
import { AccountBadge, signInText } from '../parts/account.js';
import { EffectiveAccess } from '../parts/effective-access.js';
import { whyOfEntry } from '../domain/why-address.js';
import { Empty, Fact, PageHead, Region } from '../parts/page.js';
import { Failure } from '../parts/failure.js';
import { NewGrant } from '../parts/grants.js';
import { Moment } from '../parts/moment.js';
import { Principal, Shape } from '../parts/principal.js';
import { Sessions } from '../parts/sessions.js';
import { NotHere } from './absent.js';
import { AccountActs } from './account-acts.js';

type Account = Schemas['UsedAccountResponse'];

/** One account: what it reaches and through what, its groups, its sessions, and what can be done with it. */
export function Person() {
  const id = Number(useParams<{ id: string }>().id);
  const path = { path: { id } };
  const query = useQuery({
    queryKey: ['people', id],
    queryFn: () => bodyOf(api.GET('/api/admin/users/{id}', { params: path })),
  });
  if (query.error instanceof Problem && query.error.status === 404) return <NotHere />;
  const account = query.data;
  return (
    <main id="main" className="split split--aside" tabIndex={-1}>
      <div className="stack">
        {query.isError && <Failure problem={query.error} retry={() => void query.refetch()} />}
        <Head account={account} id={id} />
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
              action={<NewGrant query={`?principal=user:${id}`} />}
            >
              No grant names the account or a group that it is in.
            </Empty>
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

function Head({ account, id }: { account: Account | undefined; id: number }) {
  const name = account?.username ?? 'Person';
  return (
    <PageHead
      title={name}
      heading={
        account === undefined ? (
          <span className="skeleton skeleton--m" />
        ) : (
          <>
            <Shape of={{ type: 'user', name }} />
            {name} <AccountBadge account={account} />
          </>
        )
      }
      actions={
        <>
          <NewGrant query={`?principal=user:${id}`} />
          <Link className="button" href={`/why?principal=user:${id}`}>
            Ask why
          </Link>
        </>
      }
    />
  );
}

function Facts({ account }: { account: Account }) {
  return (
    <dl className="facts facts--rows">
      <Fact name="E-mail">{account.email ?? <span className="dim">none</span>}</Fact>
      <Fact name="Signs in with">{signInText(account)}</Fact>
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
      {more !== undefined && (
        <button className="button button--small" type="button" onClick={more}>
          More groups
        </button>
      )}
    </Region>
  );
}
