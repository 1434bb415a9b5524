import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { administratorOf } from '../support/service/administrator.js';
import { ApiClient, registrant } from '../support/service/api-client.js';
import { asSuperuser, freshDatabase, type TestDatabase } from '../support/database/database.js';
import { GrantlineProcess } from '../support/service/grantline-process.js';
import { lockWaiters } from '../support/database/lock-waiters.js';
import { TEST_SECRET } from '../support/service/secrets.js';
import { unauditedGrants } from '../support/snapshots/unaudited-grants.js';
import { until } from '../support/service/until.js';

/** Grants of one batch. */
const BATCH = 3;
/** Milliseconds: several processes start one after the other. */
const TIMEOUT = 300_000;

describe('the service, in processes on one database', () => {
  let folder: string;
  let database: TestDatabase;
  let direct: Client;
  let environment: Record<string, string>;
  const running: GrantlineProcess[] = [];
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'grantline-processes-'));
    database = await freshDatabase();
    direct = new Client(database.url);
    await direct.connect();
    environment = {
      DATABASE_URL: database.url,
      DATABASE_MIGRATION_URL: database.migrationUrl,
      AUTH_SECRET_KEY: TEST_SECRET,
      AUTH_BCRYPT_COST: '4',
      AUTH_THROTTLE_ENABLED: 'false',
      ACL_FILE_DIRECTORY: join(folder, 'acl'),
      ACL_SYNC_ON_CHANGE_SECONDS: '1',
      PORT: '0',
      OPERATIONS_PORT: '0',
    };
  });
  afterEach(async () => {
    for (const process of running.splice(0)) {
      process.signal('SIGKILL');
      await process.finished;
    }
    await direct.end();
    await database.drop();
    rmSync(folder, { recursive: true });
  });

  const start = (settings: Record<string, string> = {}): GrantlineProcess => {
    const process = new GrantlineProcess(['serve'], { ...environment, ...settings });
    running.push(process);
    return process;
  };
  /** Without those that a killed process left unwritten. */
  const versions = async (): Promise<{ text: string }[]> =>
    (
      await direct.query<{ text: string }>(
        `SELECT text FROM acl_publications WHERE state = 'published' ORDER BY version`,
      )
    ).rows;
  const file = (name: string): string => readFileSync(join(folder, 'acl', name), 'utf8');
  const liveTextHas = (text: string) => async (): Promise<boolean> =>
    ((await versions()).at(-1)?.text ?? '').includes(text);
  const grantOn = (catalog: string): object => ({
    principal: { type: 'user', id: 1 },
    resource: { catalog },
    privileges: ['SELECT'],
  });

  it(
    'publishes each change once with two schedulers, and goes on when one is killed',
    async () => {
      const everySecond = { ACL_SYNC_CRON: '* * * * * *' };
      const [one, other] = [start(everySecond), start(everySecond)];
      const admin = await administratorOf(await one.url(), environment);
      const clients = [admin, new ApiClient(await other.url()).as(admin.token)];
      // Unlike each other, because alike names become one pattern in the rules.
      const catalogs = ['amber', 'brick'];
      for (const [at, catalog] of catalogs.entries()) {
        expect((await clients[at]?.post('/api/admin/grants', grantOn(catalog)))?.status).toBe(201);
      }
      for (const catalog of catalogs) await until(liveTextHas(catalog));
      one.signal('SIGKILL');
      await one.finished;
      expect((await clients[1]?.post('/api/admin/grants', grantOn('fjord')))?.status).toBe(201);
      await until(liveTextHas('fjord'));
      other.signal('SIGTERM');
      const outputs = [await one.finished, await other.finished].map(({ stdout }) => stdout);

      const published = await versions();
      const applied = outputs.flatMap((output) => output.match(/TRINO_ACL_SYNC_APPLIED/g) ?? []);
      expect(applied.length).toBeGreaterThanOrEqual(published.length - 1); // the line of the killed one may be missing
      expect(applied.length).toBeLessThanOrEqual(published.length);
      expect(new Set(published.map(({ text }) => text)).size).toBe(published.length);
      expect(file('rules.json')).toBe(published.at(-1)?.text);
      expect(file('rules.json.bak')).toBe(published.at(-2)?.text);
      expect(outputs.join('')).not.toMatch(/TRINO_ACL_SYNC_(FAILED|DRIFT|REFUSED)|TRINO_ACL_UNEXPLAINED/);
    },
    TIMEOUT,
  );

  it(
    'killed under load has lost nothing that it had answered, and no half of the rest',
    async () => {
      const killed = start();
      const url = await killed.url();
      const admin = await administratorOf(url, environment);
      const anonymous = new ApiClient(url);
      const answered: { people: string[]; batches: string[]; sessions: string[] } = {
        people: [],
        batches: [],
        sessions: [],
      };
      let count = 0;
      const one = async (client: number): Promise<void> => {
        const name = `n${client}_${(count += 1)}`;
        if (client % 2 === 0) {
          const grant = Array.from({ length: BATCH }, (_, at) => grantOn(`${name}_${at}`));
          if ((await admin.post('/api/admin/grants/batch', { grant, revoke: [] })).status === 200)
            answered.batches.push(name);
          return;
        }
        const { status, body } = await anonymous.post('/api/auth/register', registrant(name));
        if (status === 201) answered.people.push(name);
        const login = await anonymous.post('/api/auth/login', {
          username: name,
          password: registrant(name)['password'],
        });
        if (login.status === 200) answered.sessions.push(String(login.body?.['access_token']));
        expect([201, 200]).toContain(login.status === 200 ? status : (body?.['status'] ?? status));
      };
      const load = Promise.all(
        Array.from({ length: 4 }, async (_, client) => {
          // Until the connection is refused.
          for (;;) await one(client);
        }),
      ).catch(() => undefined);
      await until(() => answered.people.length >= 12 && answered.batches.length >= 4);
      // In the middle: grants are written, their audit events wait.
      const holder = new Client(database.migrationUrl);
      await holder.connect();
      await holder.query('BEGIN; LOCK TABLE audit_events IN SHARE MODE');
      await until(async () => (await lockWaiters(holder, 'grants')).length > 0);
      killed.signal('SIGKILL');
      await killed.finished;
      await load;
      for (const pid of await lockWaiters(holder)) await asSuperuser(`SELECT pg_terminate_backend(${pid})`);
      await holder.end();

      const next = start();
      const again = new ApiClient(await next.url());
      const { rows: people } = await direct.query<{ username: string }>('SELECT username FROM users');
      expect(people.map(({ username }) => username)).toEqual(expect.arrayContaining(answered.people));
      for (const token of answered.sessions) expect((await again.as(token).get('/api/auth/me')).status).toBe(200);
      const { rows: batches } = await direct.query<{ batch: string; grants: number }>(
        `SELECT regexp_replace(catalog_name, '_[0-9]+$', '') AS batch, count(*)::int AS grants FROM grants GROUP BY 1`,
      );
      expect(batches.map(({ batch }) => batch)).toEqual(expect.arrayContaining(answered.batches));
      expect(new Set(batches.map(({ grants }) => grants))).toEqual(new Set([BATCH]));
      expect(await unauditedGrants(direct)).toEqual([]);
      expect((await again.as(admin.token).post('/api/admin/grants', grantOn('after'))).status).toBe(201);
      await until(liveTextHas('after'));
      const published = await versions();
      await until(() => file('rules.json') === published.at(-1)?.text);
    },
    TIMEOUT,
  );
});
