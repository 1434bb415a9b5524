import { Client } from 'pg';
import { AdmissionService } from '../../src/grants/admission.service.js';
import { AdmissionProof } from '../../src/grants/domain/admission-ports.js';
import { WHOLE_SCOPE } from '../../src/grants/domain/guarantee.js';
import { GuaranteeStore } from '../../src/grants/guarantee.store.js';
import { DatabaseSession } from '../../src/platform/database/database-session.js';
import type { Snapshot } from '../../src/trino-rules/model/snapshot.js';
import { lockWaiters } from '../support/database/lock-waiters.js';
import { BROKEN, GUARANTEES, guaranteesOf } from '../support/service/guarantees.js';
import { sharedService } from '../support/service/service.js';
import { until } from '../support/service/until.js';

describe('guarantees at their limits', () => {
  const service = sharedService({ ACL_METADATA_CATALOG: 'grantline', SERVICE_QUERY_USER: 'service-account-grantline' });
  const { admin, ids, group, user, grant, made } = guaranteesOf(service);

  it('refuse what is no object, no node, or too much', async () => {
    const only = { name: 'many', kind: 'only', principals: [user('ana')], resource: { catalog: 'one' } };
    const fields = ({ body }: { body: Record<string, unknown> | null }) =>
      (body?.['errors'] as { field: string }[]).map(({ field }) => field);
    const many = Array.from({ length: 1_001 }, (_, i) => ({ type: 'engine', name: `job-${i}` }));

    expect(await admin.post(`${GUARANTEES}/check`, { guarantees: [null] })).toMatchObject({ status: 400 });
    expect(fields(await admin.post(GUARANTEES, { ...only, resource: [] }))).toEqual(['resource']);
    expect(fields(await admin.post(GUARANTEES, { ...only, resource: 'one' }))).toEqual(['resource']);
    expect(fields(await admin.post(GUARANTEES, { ...only, principals: many }))).toEqual(['principals']);
    const names = Array.from({ length: 501 }, (_, i) => `sentence ${i}`);
    const guarantees = names.map((name) => ({ ...only, principals: [{ type: 'user', name: 'ana' }], name }));
    expect((await admin.post('/api/admin/snapshot', { snapshot: { version: 1, guarantees } })).body).toMatchObject({
      outcome: 'refused',
      problems: [{ path: 'guarantees' }],
    });
  });

  describe('where a proof takes too long for a write', () => {
    const proof = (methods: Partial<AdmissionProof>) => Object.assign(service.app.get(AdmissionProof), methods);
    const judge = (method: AdmissionProof['judge']) => proof({ judge: method });
    let former: Pick<AdmissionProof, 'judge' | 'judgeGuarantees'>;
    beforeAll(() => {
      const own = service.app.get(AdmissionProof);
      former = { judge: own.judge.bind(own), judgeGuarantees: own.judgeGuarantees.bind(own) };
    });
    afterEach(() => proof(former));

    it('are judged all the same when a file writes them', async () => {
      judge(() => Promise.resolve({ refusal: null, verdicts: [] }));
      await grant(user('ana'), { catalog: 'fourteen' }, 'SELECT');
      const ana = { type: 'user', name: 'ana' };
      const broken = { name: 'ana reads none', kind: 'never', principal: ana, resource: { catalog: 'fourteen' } };

      expect(await admin.post('/api/admin/snapshot', { snapshot: { version: 1, guarantees: [broken] } })).toMatchObject(
        BROKEN,
      );
      expect((await admin.get(GUARANTEES)).body).toMatchObject({ items: [] });
    });

    it('are refused with the reason where they cannot be judged at all', async () => {
      const refusal = 'the rules combine more names than can be checked';
      proof({ judgeGuarantees: () => Promise.resolve({ refusal, verdicts: [] }) });
      const only = { name: 'ana alone', kind: 'only', principals: [user('ana')], resource: { catalog: 'twenty' } };
      const unjudged = {
        status: 409,
        body: { code: 'rules_unprovable', detail: expect.stringContaining(refusal) as unknown },
      };

      expect(await admin.post(GUARANTEES, only)).toMatchObject(unjudged);
      expect(await admin.post(`${GUARANTEES}/check`, { guarantees: [only] })).toMatchObject(unjudged);
      const named = { ...only, principals: [{ type: 'user', name: 'ana' }] };
      expect(await admin.post('/api/admin/snapshot', { snapshot: { version: 1, guarantees: [named] } })).toMatchObject({
        ...{ status: 422, body: { problems: [{ message: expect.stringContaining(refusal) as unknown }] } },
      });
      expect((await admin.get(GUARANTEES)).body).toMatchObject({ items: [] });
    });

    it('do not keep the rules from being proved', async () => {
      await made({ name: 'bob reads', kind: 'only', principals: [user('bob')], resource: { catalog: 'fifteen' } });
      const refusal = 'two names are one';
      judge(({ guarantees }: Snapshot) => Promise.resolve({ refusal: guarantees ? null : refusal, verdicts: [] }));

      expect(await grant(user('bob'), { catalog: 'fifteen' }, 'SELECT')).toMatchObject({
        ...{ status: 409, body: { code: 'rules_unprovable', detail: refusal } },
      });
    });
  });

  describe('while another write is judged', () => {
    const session = () => service.app.get(DatabaseSession);

    it('have writes wait for a while only', async () => {
      const id = await made({ name: 'bob', kind: 'only', principals: [user('bob')], resource: { catalog: 'sixteen' } });
      const store = service.app.get(GuaranteeStore);
      await session().run(async () => {
        const held = await store.find(id);
        const by = { actor: null, origin: null };
        if (held !== null) await store.write(held.guarantee, null, by, service.clock.now());
        const waiting = session().runOutside(() =>
          session().run(async () => {
            await session().query(`SET LOCAL lock_timeout = '50ms'`);
            await service.app.get(AdmissionService).admitGuarantees(WHOLE_SCOPE);
          }),
        );
        await expect(waiting).rejects.toMatchObject({ code: 'busy', details: { retryAfter: 5 } });
      });
    });

    it('are not found by a change that waited for their deletion', async () => {
      const asked = { name: 'deleted', kind: 'only', principals: [user('bob')], resource: { catalog: 'sixteen' } };
      const id = await made(asked);
      const database = new Client(service.database.url);
      await database.connect();
      const changing = await session().run(async () => {
        await service.app.get(GuaranteeStore).remove(id, { actor: null, origin: null }, service.clock.now());
        const answer = admin.send('PUT', `${GUARANTEES}/${id}`, asked);
        await until(async () => (await lockWaiters(database)).length > 0);
        return { answer };
      });
      await database.end();
      expect(await changing.answer).toMatchObject({ status: 404, body: { code: 'not_found' } });
    });

    it('do not hold back who leaves a group that they do not name', async () => {
      const readers = await group(ids.ana);
      await grant(readers, { catalog: 'sixteen' }, 'SELECT');
      const id = await made({ name: 'few', kind: 'at_most', count: 1, resource: { catalog: 'sixteen' } });
      await session().run(async () => {
        await session().query('SELECT FROM guarantees WHERE id = $1 FOR NO KEY UPDATE', [id]);
        expect(await admin.send('DELETE', `/api/admin/groups/${readers.id}/members/${ids.ana}`)).toMatchObject({
          status: 204,
        });
      });
    });
  });

  it('refuse an account and an engine principal that would become one too many of everyone', async () => {
    await grant({ type: 'everyone' }, { catalog: 'seventeen' }, 'SELECT');
    const readers = { name: 'few', kind: 'at_most', resource: { catalog: 'seventeen' }, privileges: ['SELECT'] };
    const { body } = await admin.post(`${GUARANTEES}/check`, { guarantees: [{ ...readers, count: 1 }] });
    const [{ broken_by: count }] = body?.['guarantees'] as [{ broken_by: number }];
    await made({ ...readers, count });
    const members = `/api/admin/groups/${(await group()).id}/members`;

    expect(await admin.post('/api/admin/users', { username: 'dan' })).toMatchObject(BROKEN);
    expect(await grant({ type: 'engine', name: 'reports' }, { catalog: 'two' }, 'SELECT')).toMatchObject(BROKEN);
    expect(await admin.send('PUT', `${members}/engine:reports`)).toMatchObject(BROKEN);
    const grants = [
      { principal: { type: 'engine', name: 'reports' }, resource: { catalog: 'two' }, privileges: ['SELECT'] },
    ];
    expect((await admin.post('/api/admin/access/preview', { grant: grants })).body).toMatchObject({
      checks: [{ code: 'guarantee_broken' }],
    });
  });

  it('refuse the right to kill queries where they are about the procedure that does', async () => {
    const resource = { catalog: 'system', schema: 'runtime', routine: 'kill_query' };
    await made({ name: 'ana kills none', kind: 'never', principal: user('ana'), resource });

    expect(await grant(user('ana'), { engine: true }, 'KILL_QUERIES')).toMatchObject(BROKEN);
  });

  it('refuse the first grant and the first group of an engine principal that then has what everyone has', async () => {
    await grant({ type: 'everyone' }, { catalog: 'hr' }, 'SELECT');
    await grant(user('ana'), { queries: { type: 'engine', name: 'etl' } }, 'KILL_QUERIES');
    const readers = await group(ids.ana);
    const bi = { type: 'engine', name: 'bi' };
    await made({ name: 'bi reads no people', kind: 'never', principal: bi, resource: { catalog: 'hr' } });
    await made({
      ...{ name: 'ana kills nothing of others', kind: 'never', principal: user('ana') },
      ...{ resource: { queries: { type: 'everyone' } }, privileges: ['KILL_QUERIES'] },
    });

    expect(await grant(bi, { catalog: 'sales' }, 'SELECT')).toMatchObject(BROKEN);
    expect(await admin.send('PUT', `/api/admin/groups/${readers.id}/members/engine:bi`)).toMatchObject(BROKEN);
    expect(await grant({ type: 'engine', name: 'etl' }, { catalog: 'sales' }, 'SELECT')).toMatchObject(BROKEN);
    const draft = { grant: [{ principal: bi, resource: { catalog: 'sales' }, privileges: ['SELECT'] }] };
    expect((await admin.post('/api/admin/access/preview', draft)).body).toMatchObject({
      checks: [{ code: 'guarantee_broken', message: expect.stringContaining('bi may') as unknown }],
    });
  });
});
