import { ApiClient, signedUp } from '../support/service/api-client.js';
import { freshDatabase } from '../support/database/database.js';
import { GrantlineProcess } from '../support/service/grantline-process.js';
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
    const headers = { 'X-Request-Id': 'x'.repeat(128), Authorization: `Bearer ${token}` };
    const [, operations = ''] = await service.untilOutput(/"operations":"([^"]+)"/);
    service.stopReadingOutput();
    const dropped = async (): Promise<number> => {
      const scraped = await (await fetch(`${operations.replace('localhost', '127.0.0.1')}/metrics`)).text();
      return Number(/^grantline_log_lines_dropped_total (\d+)$/m.exec(scraped)?.[1]);
    };
    expect(await dropped()).toBe(0);
    let isFlooding = true;
    const floods = Array.from({ length: 16 }, async () => {
      while (isFlooding) await (await fetch(`${url}/api/auth/me`, { headers })).arrayBuffer();
    });
    await until(async () => (await dropped()) > 0);
    isFlooding = false;
    await Promise.all(floods);

    expect((await fetch(`${url}/api/auth/me`)).status).toBe(401);
    service.signal('SIGTERM');
    expect(await service.exited()).toBe(0);
    await database.drop();
  });
});
