import { api, bodyOf } from '../api/client.js';
import { EffectiveAccess } from '../parts/effective-access.js';
import { Empty, PageHead } from '../parts/page.js';
import { ProviderLink } from '../parts/provider-link.js';
import { Sessions } from '../parts/sessions.js';
import { ApiTokens } from './api-tokens.js';

/** What the person who is signed in may reach and through what, their sessions and their API tokens. */
export function MyAccess({ isAdministrator }: { isAdministrator: boolean }) {
  return (
    <main id="main" tabIndex={-1}>
      <div className="stack">
        <PageHead title="My access">What you may reach, and through what.</PageHead>
        <EffectiveAccess
          name="My access"
          of="own"
          why={null}
          read={(page) => bodyOf(api.GET('/api/access/effective', { params: { query: page } }))}
          empty={
            <Empty title="You reach nothing yet">
              No grant names you or a group that you are in. Ask an administrator for what you need.
            </Empty>
          }
        />
        <div className="pair">
          <Sessions
            of="own"
            read={(page) => bodyOf(api.GET('/api/auth/sessions', { params: { query: page } }))}
            end={endOwn}
            endAll={(sessions) => Promise.all(sessions.filter(({ current }) => !current).map(({ id }) => endOwn(id)))}
          />
          <ApiTokens isAdministrator={isAdministrator} />
          <ProviderLink />
        </div>
      </div>
    </main>
  );
}

function endOwn(id: string): Promise<unknown> {
  return bodyOf(api.DELETE('/api/auth/sessions/{id}', { params: { path: { id } } }));
}
