import { rmSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { ApiClient, signedUp, registrant } from '../support/api-client.js';
import { EmbeddedCluster, folderOfClusters } from '../support/embedded-cluster.js';
import { column, FakeTrino } from '../support/fake-trino.js';
import type { ScriptedPage } from '../support/fake-trino-statement.js';
import { GrantlineProcess } from '../support/grantline-process.js';
import { NpmStart } from '../support/npm-start.js';
import { RawConnection } from '../support/raw-connection.js';
import { SteadyClients } from '../support/steady-clients.js';

describe('the stop', () => {
  let folder: string;
  let cluster: EmbeddedCluster;
  let environment: Record<string, string>;
  beforeEach(() => {
    folder = folderOfClusters();
    cluster = new EmbeddedCluster(join(folder, 'data'));
    environment = { DATA_DIR: join(folder, 'data'), PORT: '0', OPERATIONS_PORT: '0', AUTH_BCRYPT_COST: '4' };
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  /** A registration that waits for a lock, and the release of that lock. */
  const heldRegistration = async (url: string) => {
    const other = await cluster.connect();
    await other.query('BEGIN');
    await other.query('LOCK TABLE users IN ACCESS EXCLUSIVE MODE');
    const registration = new ApiClient(url).post('/api/auth/register', registrant('ana'));
    const waits = `SELECT FROM pg_locks WHERE NOT granted AND relation = 'users'::regclass`;
    while ((await other.query(waits)).rowCount === 0);
    return { registration, release: () => other.end() };
  };

  it('by Ctrl-C at the terminal of npm start, under load: every request is answered, and nothing of ours is left', async () => {
    cluster.lay();
    const npm = new NpmStart(folder, environment);
    const url = await npm.url();
    const { registration, release } = await heldRegistration(url);
    const load = new SteadyClients(`${url}/api/openapi.json`, 8);
    await load.answered(100);

    npm.signalGroup('SIGINT');
    await load.ended;
    await release();

    expect((await registration).status).toBe(201);
    await npm.ended;
    expect(load.failures).toEqual([]);
    expect(new Set(load.answers)).toEqual(new Set([200]));
    expect(cluster.postmaster()).toBeNull();
    expect(npm.hasLeftovers).toBe(false);
  });

  it('is not cut short by further signals', async () => {
    cluster.lay();
    const service = new GrantlineProcess(['serve'], environment);
    const { registration, release } = await heldRegistration(await service.url());

    service.signal('SIGTERM');
    await service.untilOutput(/"stopping"/);
    service.signal('SIGTERM');
    service.signal('SIGINT');
    await release();

    expect((await registration).status).toBe(201);
    expect((await service.finished).code).toBe(0);
    expect(cluster.postmaster()).toBeNull();
  });

  it('ends within 20 s whatever requests are waiting for, the database first', async () => {
    cluster.lay();
    const service = new GrantlineProcess(['serve'], environment);
    const { registration } = await heldRegistration(await service.url());
    const brokenOff = expect(registration).rejects.toThrow();
    const begun = performance.now();

    service.signal('SIGTERM');
    const { code } = await service.finished;

    expect((performance.now() - begun) / 1000).toBeLessThan(21);
    await brokenOff;
    expect(code).toBe(1);
    expect(cluster.postmaster()).toBeNull();
  });

  it('ends within 20 s whatever readers do, and the database is stopped, not killed', async () => {
    cluster.lay();
    const engine = new FakeTrino();
    const { hostname, port } = new URL(await engine.listen());
    const columns = [column('v', 'varchar')];
    const filler = { text: 'x', bytes: 2 ** 20 };
    engine.answers('SELECT endless', ...Array<ScriptedPage>(100_000).fill({ columns, data: [['v']] }));
    engine.answers('SELECT unread', ...Array<ScriptedPage>(100).fill({ columns, data: '[["@filler"]]', filler }));
    const service = new GrantlineProcess(['serve'], {
      ...environment,
      SERVICE_QUERY_HOST: hostname,
      SERVICE_QUERY_PORT: port,
    });
    const url = await service.url();
    const anonymous = new ApiClient(url);
    const ana = anonymous.as((await signedUp(anonymous, 'ana')).access_token);
    const rows = async (sql: string): Promise<RawConnection> => {
      const path = (await ana.post('/api/queries', { sql })).headers.get('location') ?? '';
      const connection = await RawConnection.open(url);
      connection.send(
        `GET ${path}/rows HTTP/1.1\r\nHost: x\r\nAccept: text/csv\r\nAuthorization: Bearer ${ana.token}\r\n\r\n`,
      );
      await connection.reads(/ 200 OK/);
      return connection;
    };
    const endless = await rows('SELECT endless');
    const unread = (await rows('SELECT unread')).stopReading();
    const begun = performance.now();

    service.signal('SIGTERM');
    await service.finished;

    expect((performance.now() - begun) / 1000).toBeLessThan(21);
    const streamed = engine.statements.filter(({ sql }) => /endless|unread/.test(sql));
    expect(streamed.map(({ cancelled }) => cancelled)).toEqual([true, true]);
    expect(cluster.postmaster()).toBeNull();
    expect(cluster.log()).toContain('LOG:  shutting down'); // only a server that writes everything back first logs this
    for (const connection of [endless, unread]) connection.destroy();
    await engine.close();
  });

  it('during the start leaves no database behind', async () => {
    const service = new GrantlineProcess(['serve'], environment);
    while (cluster.postmaster() === null) await new Promise((look) => setTimeout(look, 5));

    service.signal('SIGTERM');

    await service.finished;
    expect(cluster.postmaster()).toBeNull();
  });

  it('after a start that failed leaves no database behind', async () => {
    cluster.lay();
    const taken = createServer();
    await new Promise<void>((listening) => taken.listen(0, '127.0.0.1', listening));
    const { port } = taken.address() as AddressInfo;

    const { code, stderr } = await new GrantlineProcess(['serve'], { ...environment, PORT: String(port) }).finished;

    expect(code).toBe(2);
    expect(stderr).toContain('EADDRINUSE');
    expect(cluster.postmaster()).toBeNull();
    taken.close();
  });

  it('of a command leaves no database behind', async () => {
    const command = new GrantlineProcess(['migrate'], environment);
    while (cluster.postmaster() === null) await new Promise((look) => setTimeout(look, 5));

    command.signal('SIGINT');

    expect([0, 130]).toContain((await command.finished).code);
    expect(cluster.postmaster()).toBeNull();
  });
});
