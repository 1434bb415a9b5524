import { setImmediate as nextTurn } from 'node:timers/promises';
import { Client } from 'pg';
import { administrator } from '../support/service/administrator.js';
import { type Answer, ApiClient, passwordOf, registrant, signedUp } from '../support/service/api-client.js';
import { asSuperuser, freshDatabase, type TestDatabase } from '../support/database/database.js';
import { inFastMotion, inSlowMotion } from '../support/fakes/fast-motion.js';
import { lockWaiters } from '../support/database/lock-waiters.js';
import { startService, type TestService } from '../support/service/service.js';
import { TcpProxy } from '../support/service/tcp-proxy.js';
import { unauditedGrants } from '../support/snapshots/unaudited-grants.js';
import { until } from '../support/service/until.js';

const UNAVAILABLE = { status: 503, code: 'database_unavailable', retryAfter: '5' };
/** Connections of the service. */
const POOL = 10;
/** Milliseconds that a write of access waits for its turn. */
const LONGEST_WAIT = 10_000;
/** Grants of one batch. */
const BATCH = 3;

const seen = ({ status, body, headers }: Answer) => ({
  status,
  code: body?.['code'] ?? null,
  retryAfter: headers.get('retry-after'),
});

describe('PostgreSQL', () => {
  let database: TestDatabase;
  let proxy: TcpProxy;
  let service: TestService;
  let anonymous: ApiClient;
  let admin: ApiClient;
  let ana: ApiClient;
  let anaId: number;
  let direct: Client;
  beforeAll(async () => {
    database = await freshDatabase();
    proxy = await TcpProxy.to(database.url);
    service = await startService({ AUTH_THROTTLE_ENABLED: 'false' }, { database: { ...database, url: proxy.url } });
    anonymous = new ApiClient(service.url);
    admin = await administrator(service);
    const { access_token, id } = await signedUp(anonymous, 'ana');
    [ana, anaId] = [anonymous.as(access_token), id];
    direct = new Client(database.url);
    await direct.connect();
  });
  // The proxy first: the service waits for queries on stranded connections, and in slow motion their limits are minutes.
  afterAll(async () => {
    await proxy.down();
    await service.stop();
    await direct.end();
    await database.drop();
  });

  afterEach(() => direct.query('ROLLBACK'));

  const login = (): Promise<Answer> =>
    anonymous.post('/api/auth/login', { username: 'ana', password: passwordOf('ana') });
  const grant = (schema: string): Promise<Answer> =>
    admin.post('/api/admin/grants', {
      principal: { type: 'user', id: anaId },
      resource: { catalog: 'sales', schema },
      privileges: ['SELECT'],
    });
  const batch = (schemas: readonly string[]): Promise<Answer> =>
    admin.post('/api/admin/grants/batch', {
      grant: schemas.map((schema) => ({
        principal: { type: 'user', id: anaId },
        resource: { catalog: 'sales', schema },
        privileges: ['SELECT'],
      })),
      revoke: [],
    });
  const grantedSchemas = async (): Promise<unknown[]> => {
    const { rows } = await direct.query<{ schema_name: string }>('SELECT schema_name FROM grants ORDER BY id');
    return rows.map(({ schema_name }) => schema_name);
  };

  /** All of them, once PostgreSQL can be reached again; nothing was restarted. */
  async function works(): Promise<void> {
    await until(async () => (await service.ready()).status === 200);
    expect((await ana.get('/api/auth/me')).status).toBe(200);
    expect((await login()).status).toBe(200);
  }

  it('that is slow makes answers slow, and fails none', async () => {
    proxy.delay = 30;
    const answers = await Promise.all([ana.get('/api/auth/me'), login(), grant('slow')]);
    const { status, body } = await service.ready();
    proxy.delay = 0;

    expect(answers.map((answer) => answer.status)).toEqual([200, 200, 201]);
    expect([status, body.parts['database']]).toEqual([200, 'up']);
    expect(await grantedSchemas()).toContain('slow');
  });

  it('that is gone makes every route that needs it 503, and is found again', async () => {
    await proxy.down();
    const answers = await Promise.all([ana.get('/api/auth/me'), login(), grant('gone')]);
    const { status, body } = await service.ready();
    const { ready, degraded } = await service.scraped();
    await proxy.up();

    expect(answers.map(seen)).toEqual([UNAVAILABLE, UNAVAILABLE, UNAVAILABLE]);
    expect([status, body.status, body.parts['database']]).toEqual([503, 'down', 'down']);
    expect([ready, degraded]).toEqual([0, ['database', 'migrations']]);
    await works();
    expect(await grantedSchemas()).not.toContain('gone');
  });

  it('that has no connection left for the service is like one that is gone', async () => {
    const name = new URL(database.url).pathname.slice(1);
    await asSuperuser(`ALTER DATABASE ${name} CONNECTION LIMIT 0`);
    await asSuperuser(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = '${name}' AND application_name = 'grantline'`);
    await until(async () => (await ana.get('/api/auth/me')).status === 503);
    const answers = await Promise.all([login(), grant('refused')]);
    const { body } = await service.ready();
    await asSuperuser(`ALTER DATABASE ${name} CONNECTION LIMIT -1`);

    expect(answers.map(seen)).toEqual([UNAVAILABLE, UNAVAILABLE]);
    expect(body.parts['database']).toBe('down');
    await works();
    expect(await grantedSchemas()).not.toContain('refused');
  });

  it('in which all access is locked, as by a large snapshot file, leaves connections for everybody else', async () => {
    await direct.query('BEGIN; LOCK TABLE groups IN EXCLUSIVE MODE');
    const granting = Array.from({ length: 2 * POOL }, (_, at) => grant(`queued_${at}`));
    await until(async () => (await lockWaiters(direct)).length >= POOL / 2);
    const answers = await Promise.all([ana.get('/api/auth/me'), login()]);
    const { status, body } = await service.ready();
    await direct.query('COMMIT');

    expect(answers.map((answer) => answer.status)).toEqual([200, 200]);
    expect([status, body.parts['database']]).toEqual([200, 'up']);
    // On a slow machine some may have waited for too long.
    expect(new Set((await Promise.all(granting)).map((answer) => seen(answer).code ?? 'granted'))).toContain('granted');
  });

  it('in which it stays locked makes writes of access 503 that wait for their turn', async () => {
    await direct.query('BEGIN; LOCK TABLE groups IN EXCLUSIVE MODE');
    const first = Array.from({ length: POOL / 2 }, (_, at) => grant(`first_${at}`));
    await until(async () => (await lockWaiters(direct)).length === POOL / 2);
    const answers = await inFastMotion(
      () => Promise.all(Array.from({ length: POOL }, (_, at) => grant(`late_${at}`))),
      LONGEST_WAIT,
    );
    await direct.query('COMMIT');

    expect(answers.map(seen)).toEqual(answers.map(() => ({ status: 503, code: 'busy', retryAfter: '5' })));
    expect((await Promise.all(first)).map((answer) => answer.status)).toEqual(first.map(() => 201));
    expect((await grantedSchemas()).filter((schema) => String(schema).startsWith('late_'))).toEqual([]);
  });

  it('that ends one of two batches that wait for each other lets both be written', async () => {
    const schemas = ['mutual_0', 'mutual_1', 'mutual_2'];
    await direct.query(
      `BEGIN; INSERT INTO grants (user_id, catalog_name, schema_name, privileges, granted_at)
              VALUES (${anaId}, 'sales', '${schemas[1]}', '{SELECT}', now())`,
    );
    const batches = [schemas, schemas.toReversed()].map((names) => batch(names));
    await until(async () => (await lockWaiters(direct)).length === 2);
    await direct.query('ROLLBACK');

    expect((await Promise.all(batches)).map((answer) => answer.status)).toEqual([200, 200]);
    expect((await grantedSchemas()).filter((schema) => schemas.includes(String(schema))).sort()).toEqual(schemas);
  });

  it('that ends a statement, as after its timeout, makes the request 503', async () => {
    await direct.query('BEGIN; LOCK TABLE grants IN ACCESS EXCLUSIVE MODE');
    const granting = grant('waiting');
    const cancel = `SELECT pg_cancel_backend(pid) FROM pg_stat_activity
                     WHERE pg_backend_pid() = ANY (pg_blocking_pids(pid))`;
    await until(async () => (await direct.query(cancel)).rowCount === 1);
    const answer = await granting;
    await direct.query('COMMIT');

    expect(seen(answer)).toEqual(UNAVAILABLE);
    expect(await grantedSchemas()).not.toContain('waiting');
  });

  describe('that answers nothing any more', () => {
    afterEach(() => proxy.resume());

    beforeEach(async () => {
      proxy.delay = 50; // so that each of them has a connection of its own, which stays in the pool
      await Promise.all(Array.from({ length: POOL }, () => ana.get('/api/auth/me')));
      proxy.delay = 0;
    });

    it('makes requests 503, and no connection of that time is used again', async () => {
      proxy.hang();
      const logins = Array.from({ length: POOL }, () => login);
      const [ready, ...answers] = await inFastMotion(() =>
        Promise.all([service.ready(), ana.get('/api/auth/me'), grant('hung'), ...logins.map((ask) => ask())]),
      );

      expect(new Set(answers.map((answer) => JSON.stringify(seen(answer))))).toEqual(
        new Set([JSON.stringify(UNAVAILABLE)]),
      );
      expect(ready.body.parts['database']).toBe('down');
      proxy.strand();
      proxy.resume();
      const again = await inSlowMotion(() => Promise.all(logins.map((ask) => ask())));
      expect(again.map(seen)).toEqual(logins.map(() => ({ status: 200, code: null, retryAfter: null })));
      await works();
      expect(await grantedSchemas()).not.toContain('hung');
    });

    it('within a transaction leaves it whole or undone, and no other request in it', async () => {
      const batches = ['x', 'y', 'z'];
      const holder = new Client(database.migrationUrl);
      await holder.connect();
      await holder.query('BEGIN');
      await holder.query('LOCK TABLE grants IN ACCESS EXCLUSIVE MODE');
      const waiting = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
      const answers = await inFastMotion(async () => {
        const asked = batches.map((name) => batch(Array.from({ length: BATCH }, (_, at) => `${name}_${at}`)));
        while ((await direct.query(waiting)).rowCount === 0) await nextTurn();
        proxy.hang();
        await holder.query('ROLLBACK');
        await holder.end();
        return Promise.all(asked);
      });
      expect(answers.map(seen)).toEqual([UNAVAILABLE, UNAVAILABLE, UNAVAILABLE]);

      proxy.resume();
      await works();
      const names = Array.from({ length: 12 }, (_, at) => `late_${at}`);
      const registered = await Promise.all(names.map((name) => anonymous.post('/api/auth/register', registrant(name))));
      const granted = await grant('after');

      expect([...registered, granted].map(({ status }) => status)).toEqual([...names, granted].map(() => 201));
      const { rows } = await direct.query<{ username: string }>(
        `SELECT username FROM users WHERE username LIKE 'late%'`,
      );
      expect(rows.map(({ username }) => username).sort()).toEqual(names.sort());
      const schemas = await grantedSchemas();
      expect(schemas).toContain('after');
      for (const name of batches) {
        expect([0, BATCH]).toContain(schemas.filter((schema) => String(schema).startsWith(name)).length);
      }
      expect(await unauditedGrants(direct)).toEqual([]);
    });
  });
});
