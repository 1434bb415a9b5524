import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { administratorOf } from '../support/service/administrator.js';
import type { Answer, ApiClient } from '../support/service/api-client.js';
import { freshDatabase, type TestDatabase } from '../support/database/database.js';
import { GrantlineProcess } from '../support/service/grantline-process.js';
import { TEST_SECRET } from '../support/service/secrets.js';
import { sharedFolder } from '../support/service/shared-folder.js';

describe('a full disk under the file target', () => {
  const folder = sharedFolder('grantline-disk-');
  let database: TestDatabase;
  let service: GrantlineProcess;
  let admin: ApiClient;
  beforeAll(async () => {
    database = await freshDatabase();
    const environment = {
      DATABASE_URL: database.url,
      DATABASE_MIGRATION_URL: database.migrationUrl,
      AUTH_SECRET_KEY: TEST_SECRET,
      AUTH_BCRYPT_COST: '4',
      ACL_SYNC_ENABLED: 'false',
      ACL_FILE_DIRECTORY: join(folder, 'acl'),
      PORT: '0',
      OPERATIONS_PORT: '0',
    };
    service = new GrantlineProcess(['serve'], environment);
    admin = await administratorOf(await service.url(), environment);
  });
  afterAll(async () => {
    service.signal('SIGTERM');
    await service.finished;
    await database.drop();
  });

  /** Files of the process grow to that size: the write that reaches it is cut short, and the next one fails. Also for root. */
  const limitFiles = (bytes: number | 'unlimited'): void => {
    execFileSync('prlimit', ['--pid', String(service.pid), `--fsize=${bytes}:`]);
  };
  const sync = (): Promise<Answer> => admin.post('/api/admin/acl/sync');
  const grant = (catalog: string): Promise<Answer> =>
    admin.post('/api/admin/grants', {
      principal: { type: 'user', id: 1 },
      resource: { catalog },
      privileges: ['SELECT'],
    });
  const files = (): Record<string, string> =>
    Object.fromEntries(
      readdirSync(join(folder, 'acl')).map((name) => [name, readFileSync(join(folder, 'acl', name), 'utf8')]),
    );

  it('makes a run 503, leaves both texts whole and no scraps, and is over without a restart', async () => {
    await grant('one');
    expect((await sync()).body).toMatchObject({ outcome: 'applied' });
    await grant('two');
    expect((await sync()).body).toMatchObject({ outcome: 'applied' });
    const before = files();
    expect(Object.keys(before).sort()).toEqual(['rules.json', 'rules.json.annotations', 'rules.json.bak']);

    limitFiles(512);
    expect((await grant('three')).status).toBe(201);
    for (let again = 0; again < 2; again++) {
      const { status, body } = await sync();
      expect([status, body?.['code'], body?.['reason']]).toEqual([503, 'target_unavailable', 'unreachable']);
      expect(String(body?.['detail'])).toContain('EFBIG');
      expect(files()).toEqual(before);
    }
    expect((await admin.get('/api/admin/acl/status')).body).toMatchObject({ last_outcome: 'failed' });
    const [, operations = ''] = await service.untilOutput(/"operations":"([^"]+)"/);
    const scraped = await (await fetch(`${operations.replace('localhost', '127.0.0.1')}/metrics`)).text();
    expect(scraped).toMatch(/^grantline_acl_failed_since_timestamp_seconds [1-9]/m);

    limitFiles('unlimited');
    expect((await sync()).body).toMatchObject({ outcome: 'applied' });
    expect(files()['rules.json']).toContain('three');
    expect(files()['rules.json.bak']).toBe(before['rules.json']);
  });
});
