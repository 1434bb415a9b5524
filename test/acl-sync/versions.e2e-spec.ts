import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AuditService } from '../../src/audit/audit.service.js';
import type { AuditEventName } from '../../src/audit/domain/audit-event.js';
import type { ApiClient } from '../support/service/api-client.js';
import { administrator, people } from '../support/service/administrator.js';
import { startService, type TestService } from '../support/service/service.js';

const ACL = '/api/admin/acl';

describe('published versions through the API', () => {
  let directory: string;
  let service: TestService;
  let admin: ApiClient;
  let ids: Record<'alice' | 'bob', number>;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'acl-sync-'));
    service = await startService({
      ACL_FILE_DIRECTORY: directory,
      ACL_WRITABLE_CATALOGS: 'lake',
      SERVICE_QUERY_USER: 'service-account-grantline',
    });
    admin = await administrator(service);
    ids = await people(service, 'alice', 'bob');
  });
  afterEach(async () => {
    await service.stop();
    await rm(directory, { recursive: true });
  });

  const live = (file = 'rules.json') => readFile(join(directory, file), 'utf8');
  const grant = (name: 'alice' | 'bob', table: string) =>
    admin.post('/api/admin/grants', {
      principal: { type: 'user', id: ids[name] },
      resource: { catalog: 'sales', schema: 'eu', table },
      privileges: ['SELECT'],
    });
  const sync = async () => (await admin.post(`${ACL}/sync`)).body;
  const status = async () => (await admin.get(`${ACL}/status`)).body;
  const audited = async (event: AuditEventName) =>
    (await service.app.get(AuditService).page({ event, user: null, from: null, to: null }, { limit: 200, after: null }))
      .items;

  it('keeps every version with its text and what it changed', async () => {
    await grant('alice', 'orders');
    await sync();
    const first = await live();
    const given = await grant('bob', 'items');
    await sync();
    await admin.delete(given.headers.get('location') ?? '');
    await sync();

    expect(await live()).toBe(first);
    const { body } = await admin.get(`${ACL}/publications?limit=2`);
    expect(body?.['items']).toMatchObject([{ version: 3 }, { version: 2 }]);
    expect(body?.['items']).not.toHaveProperty('0.text');
    expect((await admin.get(`${ACL}/publications?after=${String(body?.['next'])}`)).body).toMatchObject({
      items: [{ version: 1 }],
      next: null,
    });
    const second = (await admin.get(`${ACL}/publications/2`)).body;
    expect(second).toMatchObject({ version: 2, text: await live('rules.json.bak'), triggered_by: { name: 'admin' } });
    expect(second?.['diff']).toMatchObject({
      added: expect.arrayContaining([
        'tables {"user":"bob","catalog":"sales","schema":"eu","table":"items","privileges":["SELECT"]}',
      ]) as unknown,
    });
    for (const version of ['4', '0', 'x']) expect((await admin.get(`${ACL}/publications/${version}`)).status).toBe(404);
  });

  describe('with three versions', () => {
    let alice: number;
    beforeEach(async () => {
      alice = Number((await grant('alice', 'orders')).body?.['id']);
      await sync();
      await grant('bob', 'invoices');
      await sync();
    });

    const restore = (version: number, body: object = { reason: 'too wide', hours: 2 }) =>
      admin.post(`${ACL}/publications/${version}/restore`, body);

    it('compares any two of them', async () => {
      const forwards = (await admin.get(`${ACL}/publications/2?against=1`)).body;
      const backwards = (await admin.get(`${ACL}/publications/1?against=2`)).body;
      const invoices = '{"what":"SELECT from sales.eu.invoices","people":["bob"],"others":0}';

      expect(forwards).toMatchObject({ version: 2, access: { lost: [] } });
      expect(JSON.stringify(forwards?.['access'])).toContain(invoices);
      expect(backwards).toMatchObject({ version: 1, access: { gained: [] } });
      expect(JSON.stringify(backwards?.['access'])).toContain(invoices);
      expect(JSON.stringify(backwards?.['diff'])).toMatch(/"added":\[.*"removed":\[.*bob/);
      expect(await admin.get(`${ACL}/publications/1?against=99`)).toMatchObject({ status: 404 });
      expect(await admin.get(`${ACL}/publications/1?against=x`)).toMatchObject({ status: 400 });
    });

    it('restores an older one for some hours, and ends that by hand', async () => {
      const answer = await restore(1);
      expect(answer).toMatchObject({ status: 200, body: { outcome: 'applied', reasons: [{ code: 'restored' }] } });
      expect(answer.body?.['publication']).toMatchObject({
        version: 3,
        trigger: 'restore',
        restored: { version: 1, until: '2026-11-20T14:00:00.000Z', reason: 'too wide', ended: null },
      });
      expect(await live()).not.toContain('bob');
      expect(await status()).toMatchObject({ restored_until: '2026-11-20T14:00:00.000Z' });
      expect(await sync()).toMatchObject({ outcome: 'no_change', reasons: [{ code: 'restored' }] });
      const preview = (await admin.post(`${ACL}/preview`)).body;
      expect(preview).toMatchObject({ would: 'no_change' });
      expect(JSON.stringify(preview?.['checks'])).toContain('"restored"');

      expect(await admin.delete(`${ACL}/restore`)).toMatchObject({ status: 204 });
      expect(await live()).toContain('bob');
      expect(await status()).toMatchObject({ restored_until: null });
      expect(await admin.delete(`${ACL}/restore`)).toMatchObject({ status: 204 });
      expect(await audited('publication_restored')).toMatchObject([
        { actor: { username: 'admin' }, subject: { id: '1' } },
      ]);
      expect(await audited('restore_ended')).toMatchObject([
        { actor: { username: 'admin' }, details: { how: 'hand' } },
      ]);
    });

    it('restores none that gives what was revoked', async () => {
      await admin.delete(`/api/admin/grants/${alice}`);
      await sync();
      expect(await restore(1)).toMatchObject({
        status: 200,
        body: { outcome: 'refused', publication: null, reasons: [{ code: 'restore-contradicted' }] },
      });
      expect(await live()).not.toContain('alice');
    });

    it('ends a restore with the first run after a revoke', async () => {
      await restore(1);
      await admin.delete(`/api/admin/grants/${alice}`);
      expect(await sync()).toMatchObject({ outcome: 'applied', publication: { restored: null } });
      expect(await live()).not.toContain('alice');
    });

    it('wants a reason and at most 24 hours', async () => {
      expect(await restore(1, {})).toMatchObject({ status: 400 });
      expect(await restore(1, { reason: ' ' })).toMatchObject({ status: 400 });
      expect(await restore(1, { reason: 'x', hours: 25 })).toMatchObject({ status: 400 });
      expect(await restore(1, { reason: 'x', hours: 0.5 })).toMatchObject({ status: 400 });
      expect(await restore(99)).toMatchObject({ status: 404 });
      expect(await status()).toMatchObject({ published: { version: 2 } });
    });
  });
});
