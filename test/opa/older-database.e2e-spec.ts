import { generateKeyPairSync } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import { Client } from 'pg';
import { freshDatabase, type TestDatabase } from '../support/database/database.js';
import { administrator, people } from '../support/service/administrator.js';
import { ApiClient } from '../support/service/api-client.js';
import { startService, type TestService } from '../support/service/service.js';
import { until } from '../support/service/until.js';

const ACL = '/api/admin/acl';
const TOKEN = 'the-token-of-opa-0123456789-abcdef';

/** A backup of the first version is restored after the third one, which took what alice had, was published. */
describe('a database that was restored from a backup, with OPA as the only target', () => {
  let database: TestDatabase;
  let service: TestService;
  let admin: ApiClient;
  let newerTag: string;

  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const readFile = (): string => privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  const settings = { ACL_TARGET: 'opa', OPA_TOKEN: TOKEN, OPA_BUNDLE_SIGNING_KEY_FILE: '/etc/key.pem' };

  const ask = async (tag?: string) => {
    const { statusCode, headers, rawPayload } = await service.operations.inject({
      url: '/api/opa/bundles/grantline.tar.gz',
      headers: { authorization: `Bearer ${TOKEN}`, ...(tag !== undefined && { 'if-none-match': tag }) },
    });
    const bundle = statusCode === 200 ? gunzipSync(rawPayload).toString() : '';
    return { statusCode, tag: headers.etag ?? '', revision: /"revision":"(v\d+)-/.exec(bundle)?.[1] };
  };
  const body = async (answer: ReturnType<ApiClient['get']>) => (await answer).body ?? {};
  const status = () => body(admin.get(`${ACL}/status`));

  beforeAll(async () => {
    database = await freshDatabase();
    service = await startService(settings, { database, readFile });
    admin = await administrator(service);
    const { alice } = await people(service, 'alice');
    for (const schema of ['eu', 'us', 'asia']) {
      const grant = { principal: { type: 'user', id: alice }, resource: { catalog: 'sales', schema } };
      expect(await admin.post('/api/admin/grants', { ...grant, privileges: ['SELECT'] })).toMatchObject({
        status: 201,
      });
      expect(await admin.post(`${ACL}/sync`)).toMatchObject({ body: { outcome: 'applied' } });
    }
    await until(async () => (newerTag = (await ask()).tag).startsWith('"v3-'));
    await service.stop();
    const owner = new Client(database.migrationUrl);
    await owner.connect();
    await owner.query(`DELETE FROM acl_publications WHERE version > 1`);
    await owner.query(`DELETE FROM grants WHERE schema_name <> 'eu'`);
    await owner.query(`SELECT setval('acl_publications_version_seq', 1)`);
    await owner.end();
    service = await startService(settings, { database, readFile });
    admin = new ApiClient(service, admin.token);
  });
  afterAll(async () => {
    await service.stop();
    await database.drop();
  });

  it('is not believed to be older because of a tag that this installation did not make', async () => {
    const forged = newerTag.replace('v3-', 'v7-');
    expect(await ask(forged)).toMatchObject({ statusCode: 503 });
    expect(await status()).toMatchObject({ database_behind: null });
    expect(await ask()).toMatchObject({ statusCode: 200, revision: 'v1' });
  });

  it('does not give OPA its older bundle, and says that it is older', async () => {
    expect(await ask(newerTag)).toMatchObject({ statusCode: 503 });
    expect(await status()).toMatchObject({ database_behind: { version: 3 } });
    expect(await ask(newerTag)).toMatchObject({ statusCode: 503 });
  });

  it('publishes nothing until it is approved, and then a version above the newer one', async () => {
    const { awaits, ...refused } = await body(admin.post(`${ACL}/sync`));
    expect(refused).toMatchObject({
      outcome: 'refused',
      publication: null,
      reasons: [{ code: 'database-behind', message: expect.stringContaining('is not known here') as string }],
    });
    expect(await ask()).toMatchObject({ statusCode: 503 });
    expect((await admin.post(`${ACL}/approvals`, { hash: awaits })).status).toBe(204);
    expect(await body(admin.post(`${ACL}/sync`))).toMatchObject({ outcome: 'applied', publication: { version: 4 } });
    expect(await status()).toMatchObject({ database_behind: null, waiting_for_approval: null });
    await until(async () => (await ask(newerTag)).revision === 'v4');
  });
});
