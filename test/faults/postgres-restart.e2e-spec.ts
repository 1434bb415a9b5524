import { Client } from 'pg';
import { administrator } from '../support/service/administrator.js';
import { type Answer, ApiClient, passwordOf, signedUp } from '../support/service/api-client.js';
import { type OwnPostgres, ownPostgres } from '../support/database/own-postgres.js';
import { startService, type TestService } from '../support/service/service.js';
import { until } from '../support/service/until.js';

describe('a PostgreSQL that crashes and starts again', () => {
  let postgres: OwnPostgres;
  let service: TestService;
  beforeAll(async () => {
    postgres = await ownPostgres();
    service = await startService({}, { database: postgres });
  });
  afterAll(async () => {
    await service.stop();
    await postgres.drop();
  });

  async function count(table: string): Promise<number> {
    const client = new Client(postgres.url);
    await client.connect();
    const { rows } = await client.query<{ count: number }>(`SELECT count(*)::int AS count FROM ${table}`);
    await client.end();
    return rows[0]?.count ?? Number.NaN;
  }

  it('in the middle of a batch of grants and of a login loses neither an answer nor half of anything', async () => {
    const anonymous = new ApiClient(service.url);
    const admin = await administrator(service);
    const ana = await signedUp(anonymous, 'ana');
    const grantOn = (schema: string): object => ({
      principal: { type: 'user', id: ana.id },
      resource: { catalog: 'sales', schema },
      privileges: ['SELECT'],
    });
    const attempts = (): Promise<Answer>[] => [
      admin.post('/api/admin/grants/batch', { grant: [grantOn('eu'), grantOn('us')], revoke: [] }),
      anonymous.post('/api/auth/login', { username: 'ana', password: passwordOf('ana') }),
    ];
    expect((await admin.post('/api/admin/grants', grantOn('answered'))).status).toBe(201);
    const sessions = await count('sessions');

    // Both have begun their transactions, and wait in the middle.
    const holder = new Client(postgres.migrationUrl);
    holder.on('error', () => undefined);
    await holder.connect();
    await holder.query('BEGIN');
    await holder.query('LOCK TABLE audit_events IN ACCESS EXCLUSIVE MODE');
    const monitor = new Client(postgres.url);
    monitor.on('error', () => undefined);
    await monitor.connect();
    const cut = Promise.all(attempts());
    const waiting = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    await until(async () => (await monitor.query(waiting)).rowCount === 2);
    await postgres.crash();

    for (const answer of await cut) {
      expect([answer.status, answer.body?.['code']]).toEqual([503, 'database_unavailable']);
      expect(answer.headers.get('retry-after')).toBe('5');
    }
    expect((await service.ready()).body).toMatchObject({ status: 'down', parts: { database: 'down' } });
    postgres.startAgain();
    await until(async () => (await service.ready()).status === 200);

    expect([await count('grants'), await count('sessions')]).toEqual([1, sessions]);
    expect((await Promise.all(attempts())).map(({ status }) => status)).toEqual([200, 200]);
    expect([await count('grants'), await count('sessions')]).toEqual([3, sessions + 1]);
  });
});
