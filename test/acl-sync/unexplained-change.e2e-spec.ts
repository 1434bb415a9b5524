import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { DataSource } from 'typeorm';
import { AuditService } from '../../src/audit/audit.service.js';
import type { AuditEventName } from '../../src/audit/domain/audit-event.js';
import { ApiClient, signIn } from '../support/service/api-client.js';
import { administrator, people } from '../support/service/administrator.js';
import { startService, type TestService } from '../support/service/service.js';

const ACL = '/api/admin/acl';
/** As many as an unexplained change needs to be worth a refusal. */
const TABLES = 60;

describe('an unexplained change', () => {
  let directory: string;
  let service: TestService;
  let admin: ApiClient;
  let ids: Record<'alice' | 'bob' | 'carol', number>;

  const environment = () => ({ ACL_FILE_DIRECTORY: directory, SERVICE_QUERY_USER: 'service-account-grantline' });
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'unexplained-change-'));
    service = await startService(environment());
    admin = await administrator(service);
    ids = await people(service, 'alice', 'bob', 'carol');
    const tables = Array.from({ length: TABLES }, (_, i) => grantOn('alice', `t${i}`));
    await admin.post('/api/admin/grants/batch', { grant: [...tables, grantOn('bob', 'orders')], revoke: [] });
    expect(await sync()).toMatchObject({ outcome: 'applied', publication: { is_withdrawal: false } });
  });
  afterEach(async () => {
    await service.stop();
    await rm(directory, { recursive: true });
  });

  const grantOn = (name: keyof typeof ids, table: string) => ({
    principal: { type: 'user', id: ids[name] },
    resource: { catalog: 'sales', schema: 'eu', table },
    privileges: ['SELECT'],
  });
  const live = () => readFile(join(directory, 'rules.json'), 'utf8');
  const sync = async () => (await admin.post(`${ACL}/sync`)).body;
  const status = async () => (await admin.get(`${ACL}/status`)).body;
  const behindOurBack = (statement: string) => service.app.get(DataSource).query(statement);
  const revoke = async (which: string, by = admin) => {
    const { body } = await by.get(`/api/admin/grants?limit=200&${which}`);
    const revoke = (body?.['items'] as { id: number }[]).map(({ id }) => id);
    expect((await by.post('/api/admin/grants/batch', { grant: [], revoke })).status).toBe(200);
  };
  const audited = async (event: AuditEventName) =>
    (await service.app.get(AuditService).page({ event }, { limit: 9, after: null })).items;

  it('waits for an approval while only revokes are published; once approved, exactly that text is published', async () => {
    const before = await live();
    await behindOurBack(`DELETE FROM grants WHERE table_name LIKE 't%'`);

    const refused = await sync();

    const hash = refused?.['awaits'];
    expect(refused).toMatchObject({ outcome: 'refused', publication: null, reasons: [{ code: 'unexplained-change' }] });
    expect(hash).toMatch(/^[0-9a-f]{64}$/);
    expect(await live()).toBe(before);
    expect(await status()).toMatchObject({
      waiting_for_approval: { hash, since: '2026-11-20T12:00:00.000Z', reasons: [{ code: 'unexplained-change' }] },
      refused_since: '2026-11-20T12:00:00.000Z',
      restored_until: null,
    });
    expect((await admin.post(`${ACL}/preview`)).body).toMatchObject({
      would: 'refused',
      awaits: hash,
      hash,
      diff: { access: { gained_in_all: 0, changed_pairs: expect.any(Number) as number } },
    });

    expect(await sync()).toMatchObject({ outcome: 'refused' });
    const { body: listed } = await admin.get(`${ACL}/publications?runs=all`);
    expect(listed?.['items']).toMatchObject([
      {
        outcome: 'refused',
        trigger: 'route',
        triggered_by: { name: 'admin' },
        reasons: [{ code: 'unexplained-change' }],
      },
      { outcome: 'applied', version: 1, at: '2026-11-20T12:00:00.000Z' },
    ]);
    expect((await admin.get(`${ACL}/publications`)).body?.['items']).toMatchObject([{ version: 1 }]);
    for (const wrong of ['runs=some', 'after=WyJhIiwiYiJd', 'after=x']) {
      expect(await admin.get(`${ACL}/publications?${wrong}`)).toMatchObject({ status: 400 });
    }

    await revoke(`principal=user:${ids.bob}`);
    await admin.post('/api/admin/grants', grantOn('carol', 'orders'));
    service.clock.advance(60);
    const meanwhile = await sync();
    expect(meanwhile).toMatchObject({ outcome: 'refused', publication: { version: 2, is_withdrawal: true } });
    expect(await live()).toContain('alice');
    expect(await live()).not.toMatch(/bob|carol/);
    expect((await admin.get(`${ACL}/publications/2`)).body).toMatchObject({
      access: { gained: [], lost: expect.arrayContaining([LOST_BY_BOB]) as unknown },
    });
    expect(await sync()).toMatchObject({ outcome: 'refused', publication: null });

    const next = meanwhile?.['awaits'];
    expect(await status()).toMatchObject({
      waiting_for_approval: { hash: next, since: '2026-11-20T12:00:00.000Z' },
      published: { version: 2 },
    });
    expect((await admin.post(`${ACL}/approvals`, { hash })).body).toMatchObject({ code: 'approval_not_awaited' });
    expect((await admin.post(`${ACL}/approvals`, { hash: next })).status).toBe(204);
    expect(await audited('publication_approved')).toMatchObject([
      { actor: { username: 'admin' }, details: { hash: next } },
    ]);
    expect(await sync()).toMatchObject({ outcome: 'applied', publication: { version: 3, hash: next } });
    expect(await live()).toContain('carol');
    expect(await live()).not.toMatch(/alice|bob/);
    expect(await status()).toMatchObject({ waiting_for_approval: null, refused_since: null });
  });

  it('is refused whatever its size when there should be grants and there is none', async () => {
    await revoke(`principal=user:${ids.alice}`);
    expect(await sync()).toMatchObject({ outcome: 'applied' });
    await behindOurBack('DELETE FROM grants WHERE revoked_at IS NULL');
    expect(await sync()).toMatchObject({ outcome: 'refused', reasons: [{ code: 'unexplained-change' }] });
  });

  it('is published where it is small, with a warning', async () => {
    await behindOurBack(`DELETE FROM grants WHERE table_name = 't1'`);
    expect(await sync()).toMatchObject({ outcome: 'applied', awaits: null });
    expect(await live()).not.toMatch(/t1[^0-9]/);
    expect((await admin.get(`${ACL}/publications/2`)).body).toMatchObject({
      checks: [
        { code: 'unexplained-change', severity: 'warning', message: expect.stringContaining('alice') as string },
      ],
    });
    expect(await audited('unexplained_change')).toMatchObject([
      { details: { message: expect.stringContaining('alice') as string } },
    ]);
    expect(await service.metrics()).toMatch(/^grantline_acl_last_unexplained_change_timestamp_seconds [1-9]/m);
    const line = service.logLines.find((candidate) => candidate.includes('TRINO_ACL_UNEXPLAINED_CHANGE'));
    expect(line).toContain('alice');
  });

  it('is none where everything was recorded: revoked, deactivated', async () => {
    await revoke('catalog=sales');
    expect(await sync()).toMatchObject({ outcome: 'applied', reasons: [] });
    expect(await live()).not.toMatch(/alice|bob/);
  });

  it.each([-900, 900])('is none that a replica recorded whose clock is %i s off', async (seconds) => {
    service.clock.advance(seconds);
    const there = admin.as((await signIn(admin, 'admin')).access_token);
    await revoke(`principal=user:${ids.alice}`, there);
    service.clock.advance(-seconds);

    expect(await sync()).toMatchObject({ outcome: 'applied', reasons: [] });
    expect(await live()).not.toContain('alice');
  });

  it('is none that a transaction recorded which ended after a later one was published', async () => {
    const slow = new Client(service.database.url);
    await slow.connect();
    await slow.query('BEGIN');
    await slow.query(`UPDATE grants SET revoked_at = now() WHERE user_id = $1`, [ids.alice]);
    await slow.query(
      `INSERT INTO audit_events (at, event, subject_type, subject_id, details)
       SELECT '2026-11-20T12:00:00Z', 'grant_revoked', 'grant', id::text, '{}' FROM grants WHERE user_id = $1`,
      [ids.alice],
    );
    service.clock.advance(900);
    await revoke(`principal=user:${ids.bob}`);
    expect(await sync()).toMatchObject({ outcome: 'applied' });
    await slow.query('COMMIT');
    await slow.end();

    expect(await sync()).toMatchObject({ outcome: 'applied', reasons: [] });
    expect(await live()).not.toContain('alice');
  });

  it('is everything where the target holds a newer version than the database, also by the preview', async () => {
    const annotations = join(directory, 'rules.json.annotations');
    const newer = (await live()).replaceAll('alice', 'carol');
    const text = JSON.parse(await readFile(annotations, 'utf8')) as Record<string, string>;
    await writeFile(annotations, JSON.stringify({ ...text, 'grantline.io/generation': '9' }));
    await writeFile(join(directory, 'rules.json'), newer);

    const preview = (await admin.post(`${ACL}/preview`)).body;
    expect(preview).toMatchObject({ would: 'refused', checks: [{ code: 'database-behind' }], drift: false });
    expect(await status()).toMatchObject({ database_behind: null, published: { version: 1 } });
    expect(await sync()).toMatchObject({ outcome: 'refused', publication: null, awaits: preview?.['awaits'] });
    expect(await live()).toBe(newer);
    expect(await status()).toMatchObject({ database_behind: { version: 9, found_at: '2026-11-20T12:00:00.000Z' } });
    const found = (await admin.get(`${ACL}/publications/9?against=1`)).body;
    expect(found).toMatchObject({ is_found: true });
    expect(JSON.stringify(found?.['access'])).toMatch(/"gained":\[.*carol.*"lost":\[.*alice/);
    expect(await audited('database_behind')).toMatchObject([{ subject: { type: 'publication', id: '9' } }]);

    await revoke(`principal=user:${ids.bob}`);
    expect(await sync()).toMatchObject({ publication: { version: 10, is_withdrawal: true } });
    expect(await live()).toContain('carol');
    const hash = (await sync())?.['awaits'];
    expect((await admin.post(`${ACL}/approvals`, { hash })).status).toBe(204);
    expect(await sync()).toMatchObject({ outcome: 'applied', publication: { version: 11, hash } });
    expect(await live()).not.toMatch(/carol|bob/);
    expect(await readFile(annotations, 'utf8')).toContain('"grantline.io/generation":"11"');
    expect(await status()).toMatchObject({ database_behind: null, waiting_for_approval: null });
  });

  it('is one of the settings, too', async () => {
    const before = await live();
    const closed = { ...environment(), ACL_METADATA_CATALOG: 'sales' };
    const other = await startService(closed, { database: service.database });
    const visitor = new ApiClient(other.url);
    const here = visitor.as((await signIn(visitor, 'admin')).access_token);

    const { body } = await here.post(`${ACL}/preview`);
    expect(body).toMatchObject({ would: 'refused', diff: { access: { gained: [] } } });
    expect(body?.['checks']).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ code: 'closed-catalog', severity: 'warning' }),
        expect.objectContaining({ code: 'unexplained-change', severity: 'error' }),
      ]),
    );
    expect((await here.post(`${ACL}/sync`)).body).toMatchObject({ outcome: 'refused' });
    expect(await live()).toBe(before);
    await here.send('PATCH', `/api/admin/users/${ids.bob}`, { is_active: false });
    expect((await here.post(`${ACL}/sync`)).body).toMatchObject({
      outcome: 'refused',
      publication: { is_withdrawal: true },
    });
    expect(await live()).not.toContain('bob');
    expect(await live()).toContain('alice');
    await other.stop();
  });
});

const LOST_BY_BOB = { what: 'SELECT from sales.eu.orders', people: ['bob'], others: 0 };
