import { gunzipSync } from 'node:zlib';
import { administrator, people } from '../support/service/administrator.js';
import type { ApiClient } from '../support/service/api-client.js';
import { sharedService } from '../support/service/service.js';

const ACL = '/api/admin/acl';
const TOKEN = 'the-token-of-opa-0123456789-abcdef';
const ORDERS = { catalog: 'sales', schema: 'eu', table: 'orders' };

const ITEMS = { ...ORDERS, table: 'items' };

describe('the service with OPA as the only target', () => {
  const service = sharedService({ ACL_TARGET: 'opa', ACL_SYNC_ENABLED: 'false', OPA_TOKEN: TOKEN });
  let admin: ApiClient;
  let alice: number;
  beforeAll(async () => {
    admin = await administrator(service);
    ({ alice } = await people(service, 'alice'));
  });

  const body = async (answer: ReturnType<ApiClient['get']>) => (await answer).body ?? {};
  const grant = (resource: object, privileges = ['SELECT']) =>
    admin.post('/api/admin/grants', { principal: { type: 'user', id: alice }, resource, privileges });
  const sync = () => body(admin.post(`${ACL}/sync`));
  const explained = (privilege = 'SELECT') =>
    body(
      admin.get(
        `/api/admin/access/explain?principal=user:${alice}&catalog=sales&schema=eu&table=orders&privilege=${privilege}`,
      ),
    );
  const served = async (): Promise<string> => {
    const url = '/api/opa/bundles/grantline.tar.gz';
    const answer = await service.operations.inject({ url, headers: { authorization: `Bearer ${TOKEN}` } });
    return answer.statusCode === 200 ? gunzipSync(answer.rawPayload).toString() : `${answer.statusCode}`;
  };

  it('publishes versions without a text, and serves them', async () => {
    expect(await grant(ORDERS)).toMatchObject({ status: 201 });
    expect(await sync()).toMatchObject({ outcome: 'applied', publication: { version: 1, rules: 0 } });
    const version = await body(admin.get(`${ACL}/publications/1`));
    expect(version).toMatchObject({ text: null, diff: { added: [], removed: [] }, hash: version['snapshot_hash'] });
    expect(await served()).toContain('"revision":"v1-');
    expect(await body(admin.get(`${ACL}/status`))).toMatchObject({
      target: 'opa',
      targets: [{ kind: 'opa', name: 'opa', published: expect.stringMatching(/^v1-/) as string }],
      published: { version: 1 },
    });
  });

  it('explains without a rule, by what is published', async () => {
    expect(await explained()).toMatchObject({
      allowed: true,
      rule: null,
      published: { version: 1, allowed: true, is_same: true },
    });
    expect(await grant(ORDERS, ['INSERT'])).toMatchObject({ status: 201 });
    expect(await explained('INSERT')).toMatchObject({
      allowed: true,
      published: { version: 1, allowed: false, is_same: false },
    });
    const masked = { principal: { type: 'user', id: alice }, resource: { ...ORDERS, column: 'card' } };
    await admin.post('/api/admin/policies', { kind: 'column_mask', ...masked, expression: "'***'" });
    expect(await explained()).toMatchObject({ allowed: true, published: { allowed: true, is_same: false } });
  });

  it('previews and compares without rules', async () => {
    expect(await body(admin.post(`${ACL}/preview`))).toMatchObject({
      would: 'publish',
      diff: { rules: { added: [], removed: [] }, access: { gained: [], people_losing: 1 } },
    });
    expect(await sync()).toMatchObject({ outcome: 'applied', publication: { version: 2 } });
    expect(await explained()).toMatchObject({ published: { version: 2, is_same: true } });
    expect(await body(admin.get(`${ACL}/publications/2?against=1`))).toMatchObject({
      diff: { added: [], removed: [] },
      access: { lost_in_all: expect.any(Number) as number },
    });
  });

  it('admits a write by its data, and judges guarantees by them', async () => {
    const guarantee = {
      name: 'nobody deletes items',
      kind: 'never',
      principal: { type: 'everyone' },
      resource: ITEMS,
      privileges: ['DELETE'],
    };
    expect(await admin.post('/api/admin/guarantees', guarantee)).toMatchObject({ status: 201 });
    expect(await grant(ITEMS, ['DELETE'])).toMatchObject({ status: 409, body: { code: 'guarantee_broken' } });
    expect(await grant({ catalog: 'sales' }, ['DELETE'])).toMatchObject({ status: 409 });
    expect(await sync()).toMatchObject({ outcome: 'no_change', publication: { version: 2 } });
  });

  it('restores a version with its hash', async () => {
    const { hash } = await body(admin.get(`${ACL}/publications/2`));
    expect(await grant({ catalog: 'sales', schema: 'us' })).toMatchObject({ status: 201 });
    expect(await sync()).toMatchObject({ outcome: 'applied', publication: { version: 3 } });
    expect(await admin.post(`${ACL}/publications/2/restore`, { reason: 'too much', hours: 1 })).toMatchObject({
      status: 200,
      body: { outcome: 'applied', publication: { version: 4, hash, restored: { version: 2 } } },
    });
    expect(await served()).not.toContain('"us":');
  });

  it('lets somebody act as a principal whose name no file can hold', async () => {
    const principal = (name: string) => ({ type: 'engine', name });
    const granted = (name: string, resource: object, privilege: string) =>
      admin.post('/api/admin/grants', { principal: principal(name), resource, privileges: [privilege] });
    expect(await granted('job$1', ORDERS, 'SELECT')).toMatchObject({ status: 201 });
    expect(await granted('dash', { as: principal('job$1') }, 'IMPERSONATE')).toMatchObject({ status: 201 });
    const question = 'principal=engine:dash&as=engine:job%241&privilege=IMPERSONATE';
    expect(await body(admin.get(`/api/admin/access/explain?${question}`))).toMatchObject({ allowed: true });
  });
});
