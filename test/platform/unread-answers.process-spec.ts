import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { freshDatabase, type TestDatabase } from '../support/database/database.js';
import { GrantlineProcess } from '../support/service/grantline-process.js';
import { get, RawConnection } from '../support/service/raw-connection.js';
import { TEST_SECRET } from '../support/service/secrets.js';

const BUNDLE = get('/api/docs/swagger-ui-bundle.js');
/** Bytes. How much garbage there is at the peak depends on the machine; copies of 300 assets take half a gigabyte, kept requests more. */
const LITTLE = 400 * 2 ** 20;

describe('connections that do not read their answers', () => {
  let database: TestDatabase;
  let service: GrantlineProcess;
  let url: string;
  beforeAll(async () => {
    database = await freshDatabase();
    service = new GrantlineProcess(['serve'], {
      NODE_OPTIONS: '--max-old-space-size=512',
      AUTH_SECRET_KEY: TEST_SECRET,
      DATABASE_URL: database.url,
      DATABASE_MIGRATION_URL: database.migrationUrl,
      ACL_SYNC_ENABLED: 'false',
      PORT: '0',
      OPERATIONS_PORT: '0',
    });
    url = await service.url();
  });
  afterAll(async () => {
    service.signal('SIGTERM');
    await service.finished;
    await database.drop();
  });

  /** The most memory that the process has had, in bytes. */
  const peakMemory = (): number =>
    Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${service.pid}/status`, 'utf8'))?.[1]) * 1024;

  it('cost little memory: 1,900 requests on each of 500 connections, which come at once', async () => {
    const before = peakMemory();
    const flood = get('/api/auth/me').repeat(1900);
    const open = Array.from({ length: 500 }, () =>
      connect(Number(new URL(url).port), '127.0.0.1').on('error', () => undefined),
    );
    for (const socket of open) socket.pause().write(flood);
    await Promise.all(open.map((socket) => once(socket, 'connect')));

    expect((await fetch(`${url}/api/auth/me`)).status).toBe(401);
    expect(peakMemory() - before).toBeLessThan(LITTLE);
    for (const socket of open) socket.destroy();
  });

  it.each([
    ['100 on each of 3 connections', 3, 100],
    ['16 on each of 100 connections', 100, 16],
    ['3,000 on each of 100 connections', 100, 3000],
  ])('cost little memory: assets, %s', async (_, connections, requests) => {
    const before = peakMemory();
    const open = await Promise.all(
      Array.from({ length: connections }, async () =>
        (await RawConnection.open(url)).stopReading().send(BUNDLE.repeat(requests)),
      ),
    );

    for (let answered = 0; answered < 20; answered += 1) {
      expect((await fetch(`${url}/api/auth/me`)).status).toBe(401);
    }
    expect(peakMemory() - before).toBeLessThan(LITTLE);
    for (const connection of open) connection.destroy();
  });
});
