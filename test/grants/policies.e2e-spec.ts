import { PRIVILEGE_TERMS, PRIVILEGES } from '../../src/trino-rules/model/privilege.js';
import { AuditService } from '../../src/audit/audit.service.js';
import { people, sharedAdministrator } from '../support/service/administrator.js';
import { duringTransaction } from '../support/database/concurrent-transaction.js';
import { sharedService } from '../support/service/service.js';
import { expectVersions } from '../support/service/versions.js';

const POLICIES = '/api/admin/policies';
const CUSTOMERS = { catalog: 'sales', schema: 'eu', table: 'customers' };

describe('policies', () => {
  const service = sharedService({ ACL_METADATA_CATALOG: 'grantline' });
  const admin = sharedAdministrator(service);
  let ids: Record<'alice' | 'bob', number>;

  beforeAll(async () => {
    ids = await people(service, 'alice', 'bob');
  });

  const filter = (overrides: object = {}) => ({
    kind: 'row_filter',
    principal: { type: 'everyone' },
    resource: CUSTOMERS,
    expression: `region = 'EU'`,
    ...overrides,
  });
  const mask = (column: string, overrides: object = {}) =>
    filter({ kind: 'column_mask', resource: { ...CUSTOMERS, column }, expression: 'NULL', ...overrides });
  const groupOf = async (name: string, ...members: number[]) => {
    const { body } = await admin.post('/api/admin/groups', { name });
    for (const id of members) await admin.send('PUT', `/api/admin/groups/${String(body?.['id'])}/members/${id}`);
    return { type: 'group', id: body?.['id'] };
  };

  it('show their subject, their exceptions and their rule', async () => {
    const alice = { type: 'user', id: ids.alice };
    const except = [alice, { type: 'engine', name: 'loader' }, alice];
    const { status, headers, body } = await admin.post(POLICIES, filter({ except, description: 'only Europe' }));

    expect(status).toBe(201);
    expect(body).toEqual({
      id: Number(headers.get('location')?.split('/').at(-1)),
      kind: 'row_filter',
      principal: { type: 'everyone' },
      except: [
        { type: 'user', id: ids.alice, name: 'alice' },
        { type: 'engine', name: 'loader' },
      ],
      resource: CUSTOMERS,
      expression: `region = 'EU'`,
      description: 'only Europe',
      created_at: '2026-11-20T12:00:00.000Z',
      changed_at: '2026-11-20T12:00:00.000Z',
    });
    expect((await admin.get(headers.get('location') ?? '')).body).toEqual(body);
  });

  it('are not overwritten by somebody who has read an older version', async () => {
    await expectVersions(admin, POLICIES, filter());
  });

  it('deny all privileges where none is named, else the named ones', async () => {
    const deny = { kind: 'deny', principal: { type: 'user', id: ids.bob }, resource: { catalog: 'sales' } };
    const given = await admin.post(POLICIES, deny);
    expect(given.body).toMatchObject({
      privileges: PRIVILEGES.filter((one) => PRIVILEGE_TERMS[one].nodeKinds.includes('catalog')),
    });
    expect((await admin.post(POLICIES, { ...deny, privileges: ['DELETE', 'INSERT'] })).body?.['privileges']).toEqual([
      'INSERT',
      'DELETE',
    ]);
  });

  it('are changed in one step, kind and all', async () => {
    const { headers, body } = await admin.post(POLICIES, filter());
    const path = headers.get('location') ?? '';
    service.clock.advance(60);

    const changed = await admin.send('PUT', path, {
      kind: 'hidden_column',
      principal: { type: 'user', id: ids.bob },
      except: [],
      resource: { catalog: 'sales', column: 'ssn' },
    });

    expect(changed.status).toBe(200);
    expect(changed.body).toMatchObject({
      id: body?.['id'],
      kind: 'hidden_column',
      principal: { name: 'bob' },
      resource: { catalog: 'sales', column: 'ssn' },
      created_at: body?.['created_at'],
      changed_at: '2026-11-20T12:01:00.000Z',
    });
    expect(changed.body).not.toHaveProperty('expression');
    const { items } = await service.app.get(AuditService).page({ event: 'policy_changed' }, { limit: 1, after: null });
    expect(items[0]).toMatchObject({ subject: { id: String(body?.['id']) }, details: { kind: 'hidden_column' } });
  });

  it.each([
    ['row_filter', 'id IN (SELECT id FROM ref.eu.members)', 'IN (SELECT …) makes the row filter a join'],
    ['row_filter', "NOT contains(current_groups(), 'x')", "current_groups() asks the engine's own group provider"],
    ['column_mask', "if(contains(current_groups(), 'x'), a)", "current_groups() asks the engine's own group provider"],
  ])('that let more through than they say are answered with a warning: %s %s', async (kind, expression, warning) => {
    const resource = { ...CUSTOMERS, table: 'warned', ...(kind === 'column_mask' && { column: 'a' }) };
    const warned = { warnings: [expect.stringContaining(warning)] };
    const { headers, body } = await admin.post(POLICIES, filter({ kind, resource, expression }));
    expect(body).toMatchObject(warned);
    const path = headers.get('location') ?? '';
    expect((await admin.send('PUT', path, filter({ kind, resource, expression: "'a'" }))).body).not.toHaveProperty(
      'warnings',
    );
    expect((await admin.send('PUT', path, filter({ kind, resource, expression }))).body).toMatchObject(warned);
    await admin.delete(path);
  });

  it('are removed; twice is as good as once', async () => {
    const { headers } = await admin.post(POLICIES, filter({ resource: { catalog: 'gone' } }));
    const path = headers.get('location') ?? '';
    expect((await admin.delete(path)).status).toBe(204);
    expect((await admin.delete(path)).status).toBe(204);
    expect((await admin.get(path)).status).toBe(404);
    expect((await admin.send('PUT', path, filter())).status).toBe(404);
    expect((await admin.delete(`${POLICIES}/999999`)).status).toBe(404);
  });

  it('are listed page by page', async () => {
    const seen: unknown[] = [];
    let after = '';
    do {
      const { body } = await admin.get(`${POLICIES}?limit=1${after}`);
      seen.push(...(body?.['items'] as { id: number }[]).map(({ id }) => id));
      after = typeof body?.['next'] === 'string' ? `&after=${body['next']}` : '';
    } while (after !== '');
    const { body } = await admin.get(POLICIES);
    expect(seen).toEqual((body?.['items'] as { id: number }[]).map(({ id }) => id));
    expect(seen.length).toBeGreaterThan(2);
  });

  it.each([
    ['a text that breaks out', filter({ expression: 'x) OR (true' }), 'expression'],
    ['a comment', filter({ expression: 'a = 1 -- b' }), 'expression'],
    ['two statements', filter({ expression: 'true; DELETE FROM t' }), 'expression'],
    ['a filter without its expression', filter({ expression: undefined }), 'expression'],
    ['an expression of 10001 characters', filter({ expression: 'x'.repeat(10_001) }), 'expression'],
    ['a filter on a column', filter({ resource: { ...CUSTOMERS, column: 'c' } }), 'resource.column'],
    ['a filter with privileges', filter({ privileges: ['SELECT'] }), 'privileges'],
    ['a mask without a column', filter({ kind: 'column_mask' }), 'resource.column'],
    ['a hidden column with an expression', mask('c', { kind: 'hidden_column' }), 'expression'],
    ['a deny of nothing', filter({ kind: 'deny', expression: undefined, privileges: [] }), 'privileges'],
    ['an unknown kind', filter({ kind: 'rowFilter' }), 'kind'],
    ['the service’s own catalog', filter({ resource: { catalog: 'grantline' } }), 'resource'],
    ['everyone as an exception', filter({ except: [{ type: 'everyone' }] }), 'except.0.type'],
    ['an unknown account as an exception', filter({ except: [{ type: 'user', id: 999_999 }] }), 'except.0.id'],
    ['an id of everyone', filter({ principal: { type: 'everyone', id: 1 } }), 'principal.id'],
    ['no principal', filter({ principal: undefined }), 'principal'],
    ['an unknown field', filter({ exept: [] }), 'exept'],
  ])('are refused for %s', async (_, body, field) => {
    const answer = await admin.post(POLICIES, body);
    expect(answer.body).toMatchObject({ status: 400, code: 'validation_failed' });
    expect((answer.body?.['errors'] as { field: string }[]).map((error) => error.field)).toContain(field);
  });

  it('never mask one column twice for one person at the same distance', async () => {
    const both = await groupOf('both masks', ids.alice);
    const other = await groupOf('another mask', ids.alice, ids.bob);
    const { body: first } = await admin.post(POLICIES, mask('phone', { principal: both }));

    const second = mask('phone', { principal: other, expression: `'***'` });
    expect((await admin.post(POLICIES, second)).body).toMatchObject({
      status: 409,
      code: 'mask_conflict',
      policy_id: first?.['id'],
      detail: expect.stringContaining('alice') as string,
    });
    expect((await admin.post(POLICIES, { ...second, expression: 'NULL' })).status).toBe(201);
    expect((await admin.post(POLICIES, { ...second, except: [{ type: 'user', id: ids.alice }] })).status).toBe(409);
  });

  it('may mask one column at different distances, for different people, and on other columns', async () => {
    const table = { principal: { type: 'user', id: ids.alice } };
    expect((await admin.post(POLICIES, mask('email', table))).status).toBe(201);
    for (const [column, overrides] of [
      ['email', { ...table, resource: { catalog: 'sales', schema: 'eu', column: 'email' } }],
      ['email', { principal: { type: 'everyone' }, except: [table.principal] }],
      ['email2', table],
    ] as const) {
      expect((await admin.post(POLICIES, mask(column, { expression: `'***'`, ...overrides }))).status).toBe(201);
    }
  });

  it('cannot come to contradict each other by a change', async () => {
    const { headers } = await admin.post(POLICIES, mask('iban', { principal: { type: 'user', id: ids.alice } }));
    const { headers: other } = await admin.post(
      POLICIES,
      mask('iban', { principal: { type: 'user', id: ids.bob }, expression: `'***'` }),
    );
    const toEveryone = mask('iban', { expression: `'***'` });
    expect((await admin.send('PUT', other.get('location') ?? '', toEveryone)).body).toMatchObject({
      code: 'mask_conflict',
    });
    expect((await admin.get(other.get('location') ?? '')).body).toMatchObject({ principal: { name: 'bob' } });
    await admin.delete(headers.get('location') ?? '');
    expect((await admin.send('PUT', other.get('location') ?? '', toEveryone)).status).toBe(200);
  });

  it('that members came to contradict are resolved for one person after the other, as explain says', async () => {
    const one = await groupOf('one of two masks', ids.alice, ids.bob);
    const two = await groupOf('two of two masks');
    await admin.post(POLICIES, mask('iban2', { principal: one }));
    await admin.post(POLICIES, mask('iban2', { principal: two, expression: `'***'` }));
    for (const id of [ids.alice, ids.bob]) await admin.send('PUT', `/api/admin/groups/${String(two.id)}/members/${id}`);
    await admin.post('/api/admin/grants', { principal: one, resource: { catalog: 'sales' }, privileges: ['SELECT'] });
    const explained = async () => {
      const question = new URLSearchParams({ ...CUSTOMERS, column: 'iban2', privilege: 'SELECT' }).toString();
      const { body } = await admin.get(`/api/admin/access/explain?principal=user:${ids.alice}&${question}`);
      return body as { allowed: boolean; smallest_change: { steps: { kind: string; policy_id: number }[] } };
    };

    const { allowed, smallest_change: change } = await explained();
    expect([allowed, change.steps.map(({ kind }) => kind)]).toEqual([false, ['except']]);
    const path = `${POLICIES}/${change.steps[0]?.policy_id}`;
    const { expression, principal } = (await admin.get(path)).body as { expression: string; principal: typeof one };
    const replaced = mask('iban2', { principal: { type: 'group', id: principal.id }, expression });
    const narrower = { ...replaced, except: [{ type: 'user', id: ids.alice }] };
    const draft = { policies: { put: [{ id: change.steps[0]?.policy_id, ...narrower }] } };
    expect((await admin.post('/api/admin/access/preview', draft)).body).toMatchObject({ checks: [] });
    expect((await admin.send('PUT', path, narrower)).status).toBe(200);

    expect(await explained()).toMatchObject({ allowed: true });
    expect((await admin.send('PUT', path, replaced)).body).toMatchObject({ code: 'mask_conflict' });
  });

  it('cannot come to contradict each other in a race', async () => {
    const { headers } = await admin.post(POLICIES, mask('raced', { principal: { type: 'user', id: ids.alice } }));
    const id = headers.get('location')?.split('/').at(-1);

    const created = await duringTransaction(service.database.url, async (other) => {
      await other.query('SELECT pg_advisory_xact_lock(7471020)');
      await other.query('UPDATE policies SET user_id = $1 WHERE id = $2', [ids.bob, id]);
      return () => admin.post(POLICIES, mask('raced', { principal: { type: 'user', id: ids.bob }, expression: '1' }));
    });

    expect(created.body).toMatchObject({ code: 'mask_conflict' });
  });

  it('are live where the published rules restrict reading in the same way', async () => {
    const resource = { catalog: 'late', schema: 's', table: 't' };
    const grant = { principal: { type: 'everyone' }, resource, privileges: ['SELECT'] };
    const engine = { ...grant, principal: { type: 'engine', name: 'late-reader' } };
    await admin.post('/api/admin/grants', engine);
    const synced = await admin.post('/api/admin/acl/sync');
    expect(synced.body).toMatchObject({ outcome: 'applied' });
    const published = async (more = ''): Promise<unknown> => {
      const question = `principal=engine:late-reader&catalog=late&schema=s&table=t&privilege=SELECT${more}`;
      return (await admin.get(`/api/admin/access/explain?${question}`)).body?.['published'];
    };
    expect(await published()).toMatchObject({ allowed: true, is_same: true });
    const policy = { principal: engine.principal, resource };
    const column = { ...resource, column: 'c' };
    for (const rule of [
      { ...policy, kind: 'row_filter', expression: 'a = 1' },
      { ...policy, kind: 'row_filter', expression: "b = ')'" },
      { ...policy, kind: 'column_mask', resource: column, expression: 'NULL' },
      { ...policy, kind: 'hidden_column', resource: { ...resource, column: 'd' } },
    ]) {
      expect((await admin.post('/api/admin/policies', rule)).status).toBe(201);
      expect(await published()).toMatchObject({ allowed: true, is_same: false });
      await admin.post('/api/admin/acl/sync');
      expect(await published()).toMatchObject({ allowed: true, is_same: true });
    }
    expect(await published('&column=c')).toMatchObject({ is_same: true });
    expect(await published('&column=x')).toMatchObject({ is_same: true });
  });
});
