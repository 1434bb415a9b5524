import { DataSource } from 'typeorm';
import { SessionStore } from '../../src/auth/session.store.js';
import { ApiTokenStore } from '../../src/identity/tokens/api-token.store.js';
import { DatabaseSession } from '../../src/platform/database/database-session.js';
import { freshDatabase, type TestDatabase } from '../support/database/database.js';

/** So often PostgreSQL plans a statement for its values, before it judges whether one plan for any values is as good. */
const PLANNED_ANEW = 5;

describe('the statements that admit requests', () => {
  let database: TestDatabase;
  let source: DataSource;
  beforeAll(async () => {
    database = await freshDatabase();
    source = await new DataSource({ type: 'postgres', url: database.url, extra: { max: 1 } }).initialize();
  });
  afterAll(async () => {
    await source.destroy();
    await database.drop();
  });

  it('are planned once, however many requests share them', async () => {
    const session = new DatabaseSession(source);
    const [sessions, tokens] = [new SessionStore(session), new ApiTokenStore(session)];
    const now = new Date();
    for (let turn = 0; turn < 6 * PLANNED_ANEW; turn += 1) {
      const asking = Array.from({ length: 1 + (turn % 3) }, () => [
        sessions.findLiveAccount('7d1f2ad0-1111-4222-8333-944445555666', 1, now),
        sessions.admitBrowser(Buffer.from('digest'), { now, idleSince: now, isUse: true }),
        tokens.admit('12345678', Buffer.from('digest'), now, now),
      ]);
      await Promise.all(asking.flat());
    }

    const plans = await source.query<unknown[]>(
      `SELECT name, custom_plans::integer, generic_plans::integer FROM pg_prepared_statements ORDER BY name`,
    );
    const planned = (runs: number) => ({ custom_plans: PLANNED_ANEW, generic_plans: runs - PLANNED_ANEW });
    const [alone, several] = [planned(2 * PLANNED_ANEW), planned(4 * PLANNED_ANEW)];
    expect(plans).toEqual([
      { name: 'admit', ...alone },
      { name: 'admit_browser', ...alone },
      { name: 'admit_browser_many', ...several },
      { name: 'admit_many', ...several },
      { name: 'admit_token', ...alone },
      { name: 'admit_token_many', ...several },
    ]);
  });
});
