import { DataSource } from 'typeorm';
import { GuaranteeStore } from '../../src/grants/guarantee.store.js';
import { Transaction } from '../../src/platform/database/transaction.js';
import { people } from '../support/service/administrator.js';
import { ACL, PublishingService } from './publishing-service.js';

const PEOPLE = { catalog: 'lake', schema: 'hr', table: 'people' };

describe('a version that would break a guarantee', () => {
  const publishing = new PublishingService();
  const { live, grant, sync, status, audited } = publishing;

  const post = async (path: string, body: object) => {
    const made = await publishing.admin.post(`/api/admin/${path}`, body);
    expect(made).toMatchObject({ status: 201 });
    return Number(made.body?.['id']);
  };
  const group = async (name: string, ...members: number[]) => {
    const id = await post('groups', { name });
    for (const member of members) await publishing.admin.send('PUT', `/api/admin/groups/${id}/members/${member}`);
    return { type: 'group', id };
  };
  const stateOf = async (id: number) => (await publishing.admin.get(`/api/admin/guarantees/${id}`)).body;

  it('is not published, revokes go out meanwhile, and what mends it is published again', async () => {
    const { alice, bob } = publishing.ids;
    const [analysts, auditors] = [await group('analysts', alice, bob), await group('auditors', bob)];
    await post('grants', { principal: analysts, resource: { catalog: 'lake', schema: 'hr' }, privileges: ['SELECT'] });
    await post('policies', {
      ...{ kind: 'hidden_column', principal: { type: 'everyone' }, except: [auditors] },
      resource: { ...PEOPLE, column: 'ssn' },
    });
    const { body: orders } = await grant('alice', 'orders');
    const id = await post('guarantees', {
      ...{ name: 'nobody of analysts but bob sees ssn', kind: 'never', principal: analysts },
      ...{ except: [{ type: 'user', id: bob }], resource: { ...PEOPLE, column: 'ssn' } },
    });
    expect(await sync()).toMatchObject({ outcome: 'applied', reasons: [] });
    expect(await stateOf(id)).toMatchObject({ state: 'holds', checked: { principals: 1 } });

    // As the identity provider would.
    const push = 'INSERT INTO group_members (group_id, user_id, added_at) VALUES ($1, $2, now())';
    await publishing.service.app.get(DataSource).query(push, [auditors.id, alice]);
    await publishing.admin.send('DELETE', `/api/admin/grants/${String(orders?.['id'])}`);
    const text = await live();
    expect(text).toContain('orders');

    const message = 'alice may SELECT from lake.hr.people, with the real value of ssn by grant';
    expect((await publishing.admin.post(`${ACL}/preview`)).body).toMatchObject({
      would: 'refused',
      // The companions of the table, too.
      guarantees: [{ id, state: 'broken', witnesses: [{ principal: { name: 'alice' } }, {}] }],
    });
    const refused = await sync();
    expect(refused).toMatchObject({ outcome: 'refused', publication: { version: 2 } });
    const reasons = refused?.['reasons'] as { code: string; message: string; rule: string }[];
    expect(reasons).toMatchObject([{ code: 'guarantee-broken', rule: expect.stringMatching(/^tables/) as unknown }]);
    expect(reasons[0]?.message).toContain(message);
    expect(await live()).not.toContain('orders');
    expect(await live()).toContain('{"user":"alice","catalog":"lake","schema":"hr","table":"people"');
    expect(await status()).toMatchObject({
      last_outcome: 'refused',
      broken_guarantees: [
        { id, since: '2026-11-20T12:00:00.000Z', message: expect.stringContaining(message) as unknown },
      ],
    });
    expect(await stateOf(id)).toMatchObject({ state: 'broken', since: '2026-11-20T12:00:00.000Z', broken_by: 2 });
    expect(await audited('guarantee_broken')).toMatchObject([{ subject: { type: 'guarantee', id: String(id) } }]);
    expect(await publishing.service.metrics()).toMatch(/^grantline_guarantees\{mode="enforced",state="broken"\} 1$/m);
    expect(await publishing.service.metrics()).toMatch(
      /^grantline_guarantee_broken_since_timestamp_seconds\{name="nobody of analysts but bob sees ssn"\} 1795176000$/m,
    );

    await publishing.admin.send('DELETE', `/api/admin/groups/${auditors.id}/members/${alice}`);
    expect(await sync()).toMatchObject({ outcome: 'no_change', reasons: [] });
    expect(await stateOf(id)).toMatchObject({ state: 'holds', since: null });
    expect(await status()).toMatchObject({ broken_guarantees: [], refused_since: null });
    expect(await publishing.service.metrics()).toMatch(/^grantline_guarantees\{mode="enforced",state="holds"\} 1$/m);
    expect(await publishing.service.metrics()).not.toMatch(/^grantline_guarantee_broken_since_timestamp_seconds\{/m);
    expect(await audited('guarantee_holds_again')).toHaveLength(1);
  });

  it('is published all the same where the guarantee refuses nothing', async () => {
    const { alice } = publishing.ids;
    const everyone = { principal: { type: 'everyone' }, resource: PEOPLE, privileges: ['SELECT'] };
    await post('grants', everyone);
    const always = await post('guarantees', { name: 'alice reads', kind: 'always', ...everyone });
    const told = { kind: 'never', principal: { type: 'user', id: alice }, resource: { catalog: 'lake' } };
    const reported = await post('guarantees', { name: 'alice reads nothing', mode: 'reported', ...told });
    await post('policies', { kind: 'deny', principal: { type: 'user', id: alice }, resource: PEOPLE });

    expect(await stateOf(always)).toMatchObject({ state: 'broken' });
    expect(await stateOf(reported)).toMatchObject({ state: 'holds' });
    expect(await sync()).toMatchObject({ outcome: 'applied' });
    const { body } = await publishing.admin.get(`${ACL}/publications/1`);
    expect(body?.['checks']).toMatchObject([{ code: 'guarantee-broken', severity: 'warning' }]);
    expect(await status()).toMatchObject({ broken_guarantees: [{ name: 'alice reads' }] });
  });

  it('is not approved while it would break one', async () => {
    const { alice, bob } = publishing.ids;
    const readers = await group('readers', bob);
    const onTable = (principal: object, table: string) => ({
      ...{ principal, resource: { catalog: 'sales', schema: 'eu', table }, privileges: ['SELECT'] },
    });
    const user = (id: number) => ({ type: 'user', id });
    const many = Array.from({ length: 60 }, (_, i) => onTable(user(bob), `t${i}`));
    const orders = onTable(readers, 'orders');
    await publishing.admin.post('/api/admin/grants/batch', { grant: [...many, orders], revoke: [] });
    const { resource } = orders;
    await post('guarantees', { name: 'alice reads no orders', kind: 'never', principal: user(alice), resource });
    expect(await sync()).toMatchObject({ outcome: 'applied' });
    const database = publishing.service.app.get(DataSource);
    await database.query(`DELETE FROM grants WHERE table_name LIKE 't%'`);
    const hash = (await sync())?.['awaits'];
    expect(hash).toMatch(/^[0-9a-f]{64}$/);

    const push = 'INSERT INTO group_members (group_id, user_id, added_at) VALUES ($1, $2, now())';
    await database.query(push, [readers.id, alice]);
    const approve = () => publishing.admin.post(`${ACL}/approvals`, { hash });
    const broken = {
      status: 409,
      body: { code: 'guarantee_broken', errors: [{ witness: { principal: { name: 'alice' }, resource } }] },
    };
    expect(await approve()).toMatchObject(broken);
    expect(await sync()).toMatchObject({ outcome: 'refused', awaits: null, reasons: [{ code: 'guarantee-broken' }] });
    expect(await approve()).toMatchObject(broken);
    expect(await audited('publication_approved')).toEqual([]);

    await publishing.admin.send('DELETE', `/api/admin/groups/${readers.id}/members/${alice}`);
    expect(await sync()).toMatchObject({ outcome: 'refused', awaits: hash, reasons: [{ code: 'unexplained-change' }] });
    expect(await approve()).toMatchObject({ status: 204 });
    expect(await sync()).toMatchObject({ outcome: 'applied', publication: { hash } });
  });

  it('keeps out of the rules an account that registers', async () => {
    await post('grants', { principal: { type: 'everyone' }, resource: PEOPLE, privileges: ['SELECT'] });
    const { body: me } = await publishing.admin.get('/api/auth/me');
    const staff = await group('staff', ...Object.values(publishing.ids), Number(me?.['id']));
    const id = await post('guarantees', { name: 'staff reads', kind: 'only', principals: [staff], resource: PEOPLE });
    const { body: orders } = await grant('bob', 'orders');
    expect(await sync()).toMatchObject({ outcome: 'applied' });

    expect(await people(publishing.service, 'mallory')).toEqual({ mallory: expect.any(Number) as unknown });
    await publishing.admin.send('DELETE', `/api/admin/grants/${String(orders?.['id'])}`);
    expect(await sync()).toMatchObject({ outcome: 'refused', reasons: [{ code: 'guarantee-broken' }] });
    expect(await live()).not.toContain('mallory');
    expect(await live()).not.toContain('orders');
    expect(await stateOf(id)).toMatchObject({ state: 'broken', witnesses: [{ principal: { name: 'mallory' } }] });
  });

  it('is judged before an account is activated', async () => {
    const { alice } = publishing.ids;
    await grant('bob', 'orders');
    await grant('alice', 'orders');
    const account = `/api/admin/users/${alice}`;
    await publishing.admin.send('PATCH', account, { is_active: false });
    await post('guarantees', { name: 'one reads', kind: 'at_most', count: 1, resource: { catalog: 'sales' } });

    expect(await publishing.admin.send('PATCH', account, { is_active: true })).toMatchObject({
      ...{ status: 409, body: { code: 'guarantee_broken' } },
    });
    expect((await publishing.admin.get(account)).body).toMatchObject({ is_active: false });
  });

  it('is found by a run that waits for no write of guarantees', async () => {
    await grant('alice', 'orders');
    const id = await post('guarantees', { name: 'one reads', kind: 'at_most', count: 1, resource: PEOPLE });
    const { app, clock } = publishing.service;
    const store = app.get(GuaranteeStore);
    await app.get(Transaction).run(async () => {
      const held = await store.find(id);
      if (held !== null) await store.write(held.guarantee, 'being judged', { actor: null, origin: null }, clock.now());
      expect(await sync()).toMatchObject({ outcome: 'applied' });
    });
    expect(await stateOf(id)).toMatchObject({ state: 'holds', description: 'being judged' });
  });
});
