import { AuditService } from '../../src/audit/audit.service.js';
import type { AuditEventName } from '../../src/audit/domain/audit-event.js';
import { DataSource } from 'typeorm';
import { apiToken } from '../support/service/api-tokens.js';
import { BROKEN, GRANTS, GUARANTEES, guaranteesOf } from '../support/service/guarantees.js';
import { sharedService } from '../support/service/service.js';
import { expectVersions } from '../support/service/versions.js';

/** `GRANTLINE_RACES=1000` has as many once. */
const RACES = Number(process.env['GRANTLINE_RACES'] ?? 20);

describe('guarantees', () => {
  const service = sharedService({ ACL_METADATA_CATALOG: 'grantline', SERVICE_QUERY_USER: 'service-account-grantline' });
  const { admin, ids, group, user, grant, made } = guaranteesOf(service);
  const audited = async (event: AuditEventName) =>
    (await service.app.get(AuditService).page({ event }, { limit: 200, after: null })).items;
  /** As the identity provider would. */
  const push = ({ id }: { id?: number }, member: number) =>
    service.app
      .get(DataSource)
      .query('INSERT INTO group_members (group_id, user_id, added_at) VALUES ($1, $2, now())', [id, member]);

  it('are made, read, changed in one step and deleted', async () => {
    const analysts = await group(ids.ana);
    const { status, headers, body } = await admin.post(GUARANTEES, {
      name: 'nobody of analysts sees people',
      kind: 'never',
      principal: analysts,
      except: [{ type: 'engine', name: 'airflow' }, user('cyd')],
      resource: { catalog: 'one', schema: 'hr', table: 'people', column: 'ssn' },
    });

    expect(status).toBe(201);
    expect(body).toEqual({
      id: Number(headers.get('location')?.split('/').at(-1)),
      name: 'nobody of analysts sees people',
      description: null,
      kind: 'never',
      mode: 'enforced',
      principal: { ...analysts, name: expect.any(String) as unknown },
      except: [
        { ...user('cyd'), name: 'cyd' },
        { type: 'engine', name: 'airflow' },
      ],
      resource: { catalog: 'one', schema: 'hr', table: 'people', column: 'ssn' },
      privileges: ['SELECT'],
      state: 'holds',
      since: null,
      broken_by: 0,
      witnesses: [],
      checked: { principals: 1, nodes: 2 },
      not_about: ['service-account-grantline'],
      judged_at: '2026-11-20T12:00:00.000Z',
      written_by: { id: expect.any(Number) as unknown, name: 'admin' },
      created_at: '2026-11-20T12:00:00.000Z',
      changed_at: '2026-11-20T12:00:00.000Z',
    });
    const path = headers.get('location') ?? '';
    expect((await admin.get(path)).body).toEqual(body);
    expect((await admin.get(GUARANTEES)).body).toEqual({ items: [body], next: null });

    const changed = await admin.send('PUT', path, {
      name: 'at most two write',
      description: 'and one of them is away',
      kind: 'at_most',
      count: 2,
      resource: { catalog: 'one' },
      privileges: ['INSERT', 'OWNERSHIP'],
      mode: 'reported',
    });
    expect(changed).toMatchObject({
      status: 200,
      body: {
        ...{ kind: 'at_most', count: 2, mode: 'reported', description: 'and one of them is away' },
        ...{ principal: { type: 'everyone' }, privileges: ['INSERT', 'OWNERSHIP'] },
      },
    });
    expect((await admin.send('DELETE', path)).status).toBe(204);
    expect((await admin.send('DELETE', path)).status).toBe(204);
    expect((await admin.get(path)).status).toBe(404);
    expect((await admin.send('DELETE', `${GUARANTEES}/999`)).status).toBe(404);
    expect((await admin.send('PUT', path, changed.body)).status).toBe(404);
    const [deleted] = await audited('guarantee_deleted');
    expect(deleted).toMatchObject({ subject: { type: 'guarantee', name: 'at most two write' } });
    const [of] = await audited('guarantee_changed');
    expect(of?.details).toMatchObject({ before: { kind: 'never' }, after: { kind: 'at_most', count: 2 } });
  });

  it('are not overwritten by somebody who has read an older version', async () => {
    const asked = { name: 'one reads versions', kind: 'at_most', count: 1, resource: { catalog: 'versions' } };
    await expectVersions(admin, GUARANTEES, asked);
  });

  it('refuse what is no guarantee, with every field', async () => {
    const refused = await admin.post(GUARANTEES, {
      name: '',
      kind: 'never',
      principal: { type: 'group', id: 999 },
      except: [{ type: 'engine', name: 'service-account-grantline' }],
      resource: { catalog: 'grantline' },
      unfiltered: true,
      privileges: ['INSERT'],
      count: 3,
    });

    expect(refused).toMatchObject({ status: 400, body: { code: 'validation_failed' } });
    const errors = refused.body?.['errors'] as { field: string }[];
    expect(errors.map(({ field }) => field).sort()).toEqual(
      ['count', 'except.0.name', 'name', 'principal', 'privileges.0', 'resource'].sort(),
    );
    expect((await admin.post(GUARANTEES, { kind: 'sometimes', name: 'x' })).status).toBe(400);
    await made({ name: 'Only ana', kind: 'only', principals: [user('ana')], resource: { catalog: 'nobody' } });
    const again = { name: 'only ANA', kind: 'only', principals: [user('ana')], resource: { catalog: 'nobody' } };
    expect(await admin.post(GUARANTEES, again)).toMatchObject({ status: 409, body: { code: 'name_taken' } });
  });

  it('refuse a grant that would break one, with the person and the way', async () => {
    const [analysts, writers] = [await group(ids.ana, ids.bob), await group(ids.cyd)];
    const id = await made({
      ...{ name: 'only writers write', kind: 'only', principals: [writers] },
      ...{ resource: { catalog: 'two', schema: 'pay' }, privileges: ['INSERT'] },
    });

    expect(await grant(writers, { catalog: 'two' }, 'SELECT', 'INSERT')).toMatchObject({ status: 201 });
    expect(await grant(analysts, { catalog: 'two' }, 'SELECT')).toMatchObject({ status: 201 });
    const refused = await grant(analysts, { catalog: 'two', schema: 'pay', table: 'salaries' }, 'INSERT');
    expect(refused).toMatchObject(BROKEN);
    expect(refused.body?.['errors']).toEqual([
      {
        field: '',
        message: expect.stringContaining('ana may INSERT into two.pay.salaries by grant') as unknown,
        guarantee: { id, name: 'only writers write' },
        witness: {
          principal: { ...user('ana'), name: 'ana' },
          resource: { catalog: 'two', schema: 'pay', table: 'salaries' },
          privilege: 'INSERT',
          grants: [expect.any(Number) as unknown],
          policies: [],
          through: { group: { id: analysts.id, name: expect.any(String) as unknown } },
          message: expect.any(String) as unknown,
        },
      },
    ]);
    const { body } = await admin.get(`${GRANTS}?principal=group:${analysts.id}`);
    expect(body?.['items']).toHaveLength(1);
    const other = await grant(analysts, { catalog: 'two', schema: 'other' }, 'INSERT');
    expect(other).toMatchObject({ status: 201 });
    expect(await admin.get(`${GUARANTEES}/${id}`)).toMatchObject({ body: { state: 'holds' } });
  });

  it('refuse a member, an exception that ends, and a restriction that goes', async () => {
    const [readers, auditors] = [await group(ids.ana), await group(ids.ana, ids.bob)];
    await grant(readers, { catalog: 'three' }, 'SELECT');
    const deny = await admin.post('/api/admin/policies', {
      ...{ kind: 'deny', principal: readers, except: [auditors] },
      ...{ resource: { catalog: 'three', schema: 'hr' }, privileges: ['SELECT'] },
    });
    await made({
      ...{ name: 'auditors alone read hr', kind: 'never', principal: { type: 'everyone' }, except: [auditors] },
      ...{ resource: { catalog: 'three', schema: 'hr' }, privileges: ['SELECT'] },
    });
    const policy = `/api/admin/policies/${String(deny.body?.['id'])}`;
    const other = { ...{ kind: 'deny', principal: readers, except: [auditors] }, resource: { catalog: 'elsewhere' } };

    expect(await admin.send('DELETE', `/api/admin/groups/${auditors.id}/members/${ids.ana}`)).toMatchObject({
      status: 204,
    });
    expect(await admin.send('PUT', `/api/admin/groups/${readers.id}/members/${ids.cyd}`)).toMatchObject({
      status: 204,
    });
    expect(await admin.send('DELETE', policy)).toMatchObject(BROKEN);
    expect(await admin.send('PUT', policy, other)).toMatchObject(BROKEN);
    expect((await admin.get(policy)).body).toMatchObject({ resource: { catalog: 'three', schema: 'hr' } });
    await admin.post(GRANTS, {
      principal: user('bob'),
      resource: { catalog: 'three', schema: 'hr' },
      privileges: ['SELECT'],
    });
    expect(await admin.send('DELETE', `/api/admin/groups/${auditors.id}/members/${ids.bob}`)).toMatchObject(BROKEN);
  });

  it('refuse only what adds a breach, once a provider has broken one', async () => {
    const [staff, writers] = [await group(ids.ana), await group()];
    await grant(writers, { catalog: 'four' }, 'INSERT');
    const id = await made({
      ...{ name: 'staff writes nothing', kind: 'never', principal: staff },
      ...{ resource: { catalog: 'four' }, privileges: ['INSERT'] },
    });
    await push(writers, ids.ana);
    await push(staff, ids.bob);

    expect(await admin.send('PUT', `/api/admin/groups/${writers.id}/members/${ids.bob}`)).toMatchObject(BROKEN);
    // ana writes all of the catalog already.
    expect(await grant(user('ana'), { catalog: 'four', schema: 's', table: 't' }, 'INSERT')).toMatchObject({
      status: 201,
    });
    expect(await grant(user('cyd'), { catalog: 'four' }, 'INSERT')).toMatchObject({ status: 201 });
    expect((await admin.get(`${GUARANTEES}/${id}`)).body).toMatchObject({ state: 'broken', broken_by: 3 });
    expect(await audited('guarantee_broken')).toMatchObject([{ subject: { name: 'staff writes nothing' } }]);
    await admin.send('DELETE', `/api/admin/groups/${writers.id}/members/${ids.ana}`);
    expect((await admin.get(`${GUARANTEES}/${id}`)).body).toMatchObject({ state: 'broken' });
    const { body } = await admin.get(`${GRANTS}?principal=user:${ids.ana}&catalog=four`);
    const [own] = body?.['items'] as { id: number }[];
    await admin.send('DELETE', `${GRANTS}/${own?.id ?? 0}`);
    expect(await grant(user('cyd'), { catalog: 'four', schema: 's' }, 'INSERT')).toMatchObject({ status: 201 });
    expect((await admin.get(`${GUARANTEES}/${id}`)).body).toMatchObject({ state: 'holds', since: null, witnesses: [] });
    expect(await audited('guarantee_holds_again')).toHaveLength(1);
  });

  it('are refused where they are broken today, unless they refuse nothing', async () => {
    await grant(user('ana'), { catalog: 'five' }, 'SELECT');
    const broken = {
      name: 'nobody reads five',
      kind: 'at_most',
      count: 1,
      except: [user('bob')],
      resource: { catalog: 'five' },
    };
    await grant(user('cyd'), { catalog: 'five' }, 'SELECT');

    expect(await admin.post(GUARANTEES, broken)).toMatchObject(BROKEN);
    const id = await made({ ...broken, mode: 'reported' });
    expect((await admin.get(`${GUARANTEES}/${id}`)).body).toMatchObject({
      ...{ state: 'broken', since: '2026-11-20T12:00:00.000Z', broken_by: 2 },
    });
    expect(await admin.send('PUT', `${GUARANTEES}/${id}`, broken)).toMatchObject(BROKEN);
    const always = { name: 'ana reads six', kind: 'always', principal: user('ana'), resource: { catalog: 'six' } };
    const missing = await made({ ...always, privileges: ['SELECT'] });
    const before = await admin.get(`${GUARANTEES}/${missing}`);
    expect(before.body).toMatchObject({ state: 'broken' });
    expect(await grant(user('ana'), { catalog: 'six' }, 'SELECT')).toMatchObject({
      status: 201,
      body: { id: expect.any(Number) as unknown },
    });
    const after = await admin.get(`${GUARANTEES}/${missing}`);
    expect(after.body).toMatchObject({ state: 'holds' });
    expect(after.headers.get('etag')).toBe(before.headers.get('etag')); // a verdict makes no other version
    const deny = await admin.post('/api/admin/policies', {
      ...{ kind: 'deny', principal: { type: 'everyone' }, resource: { catalog: 'six', schema: 's', table: 't' } },
    });
    expect(deny).toMatchObject({ status: 201 });
    const [warning] = deny.body?.['warnings'] as string[];
    expect(warning).toContain('ana may not SELECT from six.s.t by policy');
    expect((await admin.get(`${GUARANTEES}/${missing}`)).body).toMatchObject({
      state: 'broken',
      witnesses: [{ resource: { catalog: 'six', schema: 's', table: 't' }, policies: [deny.body?.['id']] }],
    });
  });

  it('keep two rights apart, and count people', async () => {
    const [one, two] = [
      { catalog: 'seven', schema: 'a' },
      { catalog: 'seven', schema: 'b' },
    ];
    const apart = {
      first: { resource: one, privileges: ['INSERT'] },
      second: { resource: two, privileges: ['INSERT'] },
    };
    await made({ name: 'nobody asks and approves', kind: 'apart', ...apart });
    await made({ name: 'one writes a', kind: 'at_most', count: 1, resource: one, privileges: ['INSERT'] });

    expect(await grant(user('ana'), one, 'INSERT')).toMatchObject({ status: 201 });
    expect(await grant(user('bob'), two, 'INSERT')).toMatchObject({ status: 201 });
    const both = await grant(user('ana'), two, 'INSERT');
    expect(both).toMatchObject(BROKEN);
    expect(both.body?.['errors']).toMatchObject([{ witness: { resource: one, second: { resource: two } } }]);
    expect(await grant(user('cyd'), one, 'INSERT')).toMatchObject(BROKEN);
  });

  it(
    'refuse the second of two writes that break one together',
    async () => {
      await made({
        name: 'one reads eight',
        kind: 'at_most',
        count: 1,
        resource: { catalog: 'eight' },
        privileges: ['SELECT'],
      });
      const readers = await group();
      await grant(readers, { catalog: 'eight' }, 'SELECT');
      const member = `/api/admin/groups/${readers.id}/members/${ids.bob}`;
      for (let i = 0; i < RACES; i++) {
        const resource = { catalog: 'eight', schema: `s${i}` };
        const [a, b] = await Promise.all([
          grant(user('ana'), resource, 'SELECT'),
          i % 2 === 0 ? grant(user('bob'), resource, 'SELECT') : admin.send('PUT', member),
        ]);
        const [written, refused] = [a, b].sort((one, other) => one.status - other.status);
        expect({ i, status: written?.status }).toEqual({ i, status: written === a || i % 2 === 0 ? 201 : 204 });
        expect(refused).toMatchObject(BROKEN);
        const path = written === b && i % 2 === 1 ? member : `${GRANTS}/${String(written?.body?.['id'])}`;
        expect(await admin.send('DELETE', path)).toMatchObject({ status: 204 });
      }
    },
    Math.max(180_000, RACES * 1_000),
  );

  it('are made and checked by an API token, and changed by none', async () => {
    const token = await apiToken(admin, service.clock.now(), 'admin.read', 'admin.write');
    const program = admin.as(token.token);
    const asked = { name: 'nobody reads nine', kind: 'at_most', count: 1, resource: { catalog: 'nine' } };
    const { body } = await program.post(GUARANTEES, asked);
    const path = `${GUARANTEES}/${String(body?.['id'])}`;

    expect(await program.get(path)).toMatchObject({ status: 200 });
    expect(await program.send('PUT', path, asked)).toMatchObject({ status: 403, body: { code: 'insufficient_scope' } });
    expect(await program.send('DELETE', path)).toMatchObject({ status: 403, body: { code: 'insufficient_scope' } });
    await grant(user('ana'), { catalog: 'nine' }, 'SELECT');
    const unsaved = { ...asked, kind: 'never', count: undefined, principal: user('ana'), name: 'ana reads nothing' };
    expect(await program.post(`${GUARANTEES}/check`, { guarantees: [unsaved] })).toMatchObject({
      status: 200,
      body: { guarantees: [{ id: null, state: 'broken', witnesses: [{ principal: { name: 'ana' } }] }] },
    });
    expect(await program.post(`${GUARANTEES}/check`, {})).toMatchObject({
      body: { guarantees: [{ id: body?.['id'], state: 'holds' }] },
    });
  });

  it('keep the groups that they name', async () => {
    const named = await group();
    await made({ name: 'a group', kind: 'only', principals: [named], resource: { catalog: 'ten' } });
    const refused = await admin.send('DELETE', `/api/admin/groups/${named.id}`);
    expect(refused).toMatchObject({
      status: 409,
      body: { code: 'group_in_use', detail: expect.stringMatching(/guarantee \d/) as unknown },
    });
  });

  it('are exported, applied with a plan, and pruned by a person alone', async () => {
    const named = await group(ids.ana);
    await made({
      name: 'eleven',
      description: 'why',
      kind: 'never',
      principal: named,
      resource: { catalog: 'eleven' },
    });
    const { body: file } = await admin.get('/api/admin/snapshot');
    const { body: recorded } = await admin.get(`/api/admin/groups/${named.id}`);
    const guarantees = file?.['guarantees'] as Record<string, unknown>[];
    expect(guarantees).toMatchObject([
      { name: 'eleven', description: 'why', kind: 'never', principal: { type: 'group', name: recorded?.['name'] } },
    ]);
    const apply = (snapshot: object, more: object = {}, client = admin) =>
      client.post('/api/admin/snapshot', { snapshot, ...more });
    expect((await apply(file ?? {})).body).toMatchObject({ outcome: 'no_change' });

    const further = { name: 'twelve', kind: 'at_most', count: 1, resource: { catalog: 'twelve' } };
    const [first] = guarantees;
    const changed = { ...file, guarantees: [{ ...first, mode: 'reported' }, further] };
    const token = await apiToken(admin, service.clock.now(), 'admin.write');
    const program = admin.as(token.token);
    expect(await apply(changed, {}, program)).toMatchObject({
      status: 403,
      body: { code: 'reauthentication_required' },
    });
    expect((await apply(changed)).body).toMatchObject({
      outcome: 'applied',
      plan: [
        { action: 'add', kind: 'guarantee', row: { name: 'twelve' } },
        { action: 'change', kind: 'guarantee', row: { mode: 'reported' }, before: { mode: 'enforced' } },
      ].sort((a) => (a.action === 'change' ? -1 : 1)),
    });
    const breaking = [
      { principal: { type: 'user', name: 'ana' }, resource: { catalog: 'twelve' }, privileges: ['SELECT'] },
      { principal: { type: 'user', name: 'bob' }, resource: { catalog: 'twelve' }, privileges: ['SELECT'] },
    ];
    const grants = [...(file?.['grants'] as object[]), ...breaking];
    expect(await apply({ ...changed, grants })).toMatchObject(BROKEN);
    expect(await apply({ ...file, guarantees: [] }, { prune: true }, program)).toMatchObject({ status: 403 });
    expect((await apply({ ...file, guarantees: [] }, { prune: true })).body).toMatchObject({ outcome: 'applied' });
    expect((await admin.get(GUARANTEES)).body?.['items']).toEqual([]);
  });

  it('are told by a draft that would break them', async () => {
    const id = await made({ name: 'thirteen', kind: 'at_most', count: 1, resource: { catalog: 'thirteen' } });
    await grant(user('ana'), { catalog: 'thirteen' }, 'SELECT');
    const draft = { grant: [{ principal: user('bob'), resource: { catalog: 'thirteen' }, privileges: ['SELECT'] }] };
    const { status, body } = await admin.post('/api/admin/access/preview', draft);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      checks: [{ code: 'guarantee_broken', message: expect.stringContaining('bob may') as unknown }],
      guarantees: [{ id, state: 'broken', witnesses: [{ principal: { name: 'bob' } }] }],
    });
  });
});
