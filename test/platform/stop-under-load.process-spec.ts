import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { submitted } from '../query-engine/queries-under-test.js';
import { ApiClient, passwordOf, signedUp } from '../support/service/api-client.js';
import { freshDatabase, type TestDatabase } from '../support/database/database.js';
import { column, FakeTrino } from '../support/fakes/fake-trino.js';
import { GrantlineProcess } from '../support/service/grantline-process.js';
import { RawConnection, statusesIn } from '../support/service/raw-connection.js';
import { TEST_SECRET } from '../support/service/secrets.js';
import { SteadyClients } from '../support/service/steady-clients.js';
import { until } from '../support/service/until.js';

const PIPELINED = 12;
const LOGINS = 9;

describe('a stop under load', () => {
  let folder: string;
  let database: TestDatabase;
  let engine: FakeTrino;
  let service: GrantlineProcess;
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'grantline-stop-load-'));
    database = await freshDatabase();
    engine = new FakeTrino();
    const { hostname, port } = new URL(await engine.listen());
    service = new GrantlineProcess(['serve'], {
      DATABASE_URL: database.url,
      DATABASE_MIGRATION_URL: database.migrationUrl,
      AUTH_SECRET_KEY: TEST_SECRET,
      ACL_FILE_DIRECTORY: join(folder, 'acl'),
      PORT: '0',
      OPERATIONS_PORT: '0',
      AUTH_BCRYPT_COST: '10',
      SERVICE_QUERY_HOST: hostname,
      SERVICE_QUERY_PORT: port,
    });
  });
  afterEach(async () => {
    service.signal('SIGKILL');
    await service.finished;
    await engine.close();
    await database.drop();
    rmSync(folder, { recursive: true });
  });

  it('fails no request of an accepted connection, accepts no further ones, and says that it is not ready', async () => {
    const url = await service.url();
    const [, operations = ''] = await service.untilOutput(/"operations":"([^"]+)"/);
    const anonymous = new ApiClient(url);
    const ana = anonymous.as((await signedUp(anonymous, 'ana')).access_token);
    let accept = (): void => undefined;
    engine.answers('SELECT waiting', { columns: [column('n', 'bigint')] }, { after: new Promise(() => undefined) });
    engine.answers('SELECT late', { columns: [column('n', 'bigint')], data: [[1]] });
    const waiting = await submitted(ana, { sql: 'SELECT waiting' });

    const load = new SteadyClients(`${url}/api/auth/me`, 8, { Authorization: `Bearer ${ana.token}` });
    await load.answered(50);
    const poll = ana.get(`${waiting}/rows`);
    // Held until the service is stopping, then to be tried again.
    engine.instead = [{ method: 'POST', status: 503, after: new Promise<void>((resolve) => (accept = resolve)) }];
    const submission = ana.post('/api/queries', { sql: 'SELECT late' });
    const logins = Array.from({ length: LOGINS }, () =>
      anonymous.post('/api/auth/login', { username: 'ana', password: passwordOf('ana') }),
    );
    const open = await RawConnection.open(url);
    const pipeline = await RawConnection.open(url);
    const me = `GET /api/auth/me HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${ana.token}\r\n\r\n`;
    pipeline.send(me.repeat(PIPELINED));
    await until(() => engine.instead.length === 0);

    service.signal('SIGTERM');
    const ready = `${operations.replace('localhost', '127.0.0.1')}/health/ready`;
    await until(async () => (await fetch(ready)).status === 503);
    const onTime = open.send('GET /api/auth/me HTTP/1.1\r\nHost: x\r\n\r\n').closed;

    // Connections that wait to be accepted when the stop begins still are.
    await until(() => isRefused(url));
    expect(statusesIn(await onTime)).toEqual([401]);
    accept();
    expect((await submission).status).toBe(201);
    expect((await poll).status).toBe(200);
    expect(new Set((await Promise.all(logins)).map(({ status }) => status))).toEqual(new Set([200]));
    expect(statusesIn(await pipeline.closed)).toEqual(Array<number>(PIPELINED).fill(200));
    await load.ended;
    expect(load.failures).toEqual([]);
    expect(new Set(load.answers)).toEqual(new Set([200]));
    const { code, stdout } = await service.finished;
    expect(stdout).not.toMatch(/"level":"error"/);
    expect(code).toBe(0);
  });
});

function isRefused(url: string): Promise<boolean> {
  return RawConnection.open(url).then(
    () => false,
    (error: unknown) => String(error).includes('ECONNREFUSED'),
  );
}
