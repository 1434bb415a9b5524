import { ApiClient, signedUp } from '../support/service/api-client.js';
import { freshDatabase } from '../support/database/database.js';
import { GrantlineProcess } from '../support/service/grantline-process.js';
import { RawConnection } from '../support/service/raw-connection.js';
import { TEST_SECRET } from '../support/service/secrets.js';
import { until } from '../support/service/until.js';

describe('a log collector that does not read', () => {
  it('costs lines, which are counted, and neither requests nor the end of the service', async () => {
    const database = await freshDatabase();
    const service = new GrantlineProcess(['serve'], {
      NODE_ENV: 'test',
      AUTH_SECRET_KEY: TEST_SECRET,
      AUTH_BCRYPT_COST: '4',
      DATABASE_URL: database.url,
      DATABASE_MIGRATION_URL: database.migrationUrl,
      ACL_SYNC_ENABLED: 'false',
      PORT: '0',
      OPERATIONS_PORT: '0',
    });
    const url = await service.url();
    const { access_token: token } = await signedUp(new ApiClient(url), 'ana');
    // The log line of each has 300 bytes. Those of strangers would be answered slowly.
    const headers = `Host: x\r\nX-Request-Id: ${'x'.repeat(128)}\r\nAuthorization: Bearer ${token}\r\n`;
    const requests = `GET /api/auth/me HTTP/1.1\r\n${headers}\r\n`.repeat(300);
    const [, operations = ''] = await service.untilOutput(/"operations":"([^"]+)"/);
    service.stopReadingOutput();
    const dropped = async (): Promise<number> => {
      const scraped = await (await fetch(`${operations.replace('localhost', '127.0.0.1')}/metrics`)).text();
      return Number(/^grantline_log_lines_dropped_total (\d+)$/m.exec(scraped)?.[1]);
    };
    expect(await dropped()).toBe(0);
    const open = await Promise.all(Array.from({ length: 4 }, () => RawConnection.open(url)));
    const flood = setInterval(() => open.forEach((connection) => connection.send(requests)), 200);
    await until(async () => (await dropped()) > 0);
    clearInterval(flood);
    for (const connection of open) connection.destroy();

    expect((await fetch(`${url}/api/auth/me`)).status).toBe(401);
    service.signal('SIGTERM');
    expect(await service.exited()).toBe(0);
    await database.drop();
  });
});
