import { administrator, people } from '../support/service/administrator.js';
import type { Answer, ApiClient } from '../support/service/api-client.js';
import { sharedService } from '../support/service/service.js';

const GRANTS = '/api/admin/grants';
const ACCESS = '/api/admin/access';

/** The engine, its catalog and acting as others. */
describe('nodes beside the data', () => {
  const service = sharedService();
  let admin: ApiClient;
  let ids: Record<'alice' | 'bob', number>;
  beforeAll(async () => {
    admin = await administrator(service);
    ids = await people(service, 'alice', 'bob');
  });

  const toAlice = (resource: object, privileges: string[]) => ({
    ...{ principal: { type: 'user', id: ids.alice }, resource, privileges },
  });
  const items = ({ body }: Answer) => body?.['items'] as Record<string, unknown>[];
  const fields = ({ body }: Answer) => (body?.['errors'] as { field: string }[]).map(({ field }) => field);

  it('the engine: granted once, listed, explained, found by who, and denied', async () => {
    const asked = toAlice({ engine: true }, ['KILL_QUERIES', 'VIEW_QUERIES']);
    const given = await admin.post(GRANTS, asked);
    expect(given).toMatchObject({ status: 201, body: { resource: { engine: true } } });
    expect(await admin.post(GRANTS, asked)).toMatchObject({ status: 200, body: { id: given.body?.['id'] } });
    expect(items(await admin.get(`${GRANTS}?engine=true`))).toMatchObject([{ id: given.body?.['id'] }]);

    const question = 'engine=true&privilege=VIEW_QUERIES';
    const why = await admin.get(`${ACCESS}/explain?principal=user:${ids.alice}&${question}`);
    expect(why.body).toMatchObject({ allowed: true, grants: [given.body?.['id']] });
    expect(items(await admin.get(`${ACCESS}/who?${question}`))).toMatchObject([{ principal: { name: 'alice' } }]);
    expect(items(await admin.get(`${ACCESS}/effective?principal=user:${ids.alice}`))).toContainEqual(
      expect.objectContaining({ resource: { engine: true }, privileges: ['VIEW_QUERIES', 'KILL_QUERIES'] }),
    );
    const toAll = { ...toAlice({ engine: true }, ['WRITE_SYSTEM_INFORMATION']), principal: { type: 'everyone' } };
    expect(await admin.post(GRANTS, toAll)).toMatchObject({ status: 400, body: { code: 'validation_failed' } });

    const deny = {
      kind: 'deny',
      principal: { type: 'everyone' },
      resource: { engine: true },
      privileges: ['VIEW_QUERIES'],
    };
    expect((await admin.post('/api/admin/policies', deny)).status).toBe(201);
    expect(items(await admin.get(`${ACCESS}/who?${question}`))).toEqual([]);
  });

  it('the queries of some: granted once, listed, explained, found by who, previewed and denied', async () => {
    const [alice, bob] = [ids.alice, ids.bob].map((id) => ({ type: 'user', id }));
    const asked = { principal: bob, resource: { queries: alice }, privileges: ['KILL_QUERIES'] };
    const given = await admin.post(GRANTS, asked);
    expect(given).toMatchObject({ status: 201, body: { resource: { queries: { ...alice, name: 'alice' } } } });
    expect(await admin.post(GRANTS, asked)).toMatchObject({ status: 200, body: { id: given.body?.['id'] } });
    expect(items(await admin.get(`${GRANTS}?queries=user:${ids.alice}`))).toMatchObject([{ id: given.body?.['id'] }]);
    expect(items(await admin.get(`${GRANTS}?as=user:${ids.alice}`))).toEqual([]);

    const question = `queries=user:${ids.alice}&privilege=KILL_QUERIES`;
    const why = async (id: number, of: string) =>
      (await admin.get(`${ACCESS}/explain?principal=user:${id}&queries=${of}&privilege=KILL_QUERIES`)).body;
    expect(await why(ids.bob, `user:${ids.alice}`)).toMatchObject({ allowed: true, grants: [given.body?.['id']] });
    expect(await why(ids.bob, 'engine:nobody')).toMatchObject({
      allowed: false,
      smallest_change: { steps: [{ kind: 'grant', resource: { queries: { type: 'engine', name: 'nobody' } } }] },
    });
    const named = expect.arrayContaining([expect.objectContaining({ principal: { ...bob, name: 'bob' } })]) as object;
    expect(items(await admin.get(`${ACCESS}/who?${question}`))).toEqual(named);
    expect(items(await admin.get(`${ACCESS}/who?queries=user:${ids.alice}`))).toEqual(named);
    const call = 'catalog=system&schema=runtime&routine=kill_query&privilege=CALL_PROCEDURE';
    expect(items(await admin.get(`${ACCESS}/who?${call}`))).toEqual(named);
    expect(items(await admin.get(`${ACCESS}/effective?principal=user:${ids.bob}`))).toMatchObject([
      { resource: { queries: { name: 'alice' } }, privileges: ['KILL_QUERIES'] },
    ]);

    const deny = { kind: 'deny', principal: bob, resource: { queries: { type: 'everyone' } } };
    const preview = await admin.post('/api/admin/access/preview', { policies: { put: [deny] } });
    expect(preview.body).toMatchObject({
      gains: [],
      loses: [{ principal: bob, resource: { queries: { name: 'alice' } }, privileges: ['KILL_QUERIES'] }],
    });
    const denied = await admin.post('/api/admin/policies', deny);
    expect(denied).toMatchObject({ status: 201, body: { privileges: ['VIEW_QUERIES', 'KILL_QUERIES'] } });
    expect(await why(ids.bob, `user:${ids.alice}`)).toMatchObject({ allowed: false, policies: [denied.body?.['id']] });
    expect((await admin.delete(`/api/admin/policies/${String(denied.body?.['id'])}`)).status).toBe(204);
    expect((await admin.delete(`${GRANTS}/${String(given.body?.['id'])}`)).status).toBe(204);
    const groups = await admin.get(`${ACCESS}/who?queries=everyone&privilege=KILL_QUERIES`);
    expect(fields(groups)).toEqual(['queries']);
    expect(await admin.post(GRANTS, { ...asked, resource: { queries: { type: 'user', id: 999_999 } } })).toMatchObject({
      ...{ status: 400, body: { errors: [{ field: 'resource.queries.id' }] } },
    });
    expect(fields(await admin.get(`/api/access/explain?${question}`))).toEqual(['queries']);
  });

  it('the queries of a group: inherited from it by name', async () => {
    const desk = { type: 'group', id: (await admin.post('/api/admin/groups', { name: 'desk' })).body?.['id'] };
    const added = await admin.send('PUT', `/api/admin/groups/${String(desk.id)}/members/${ids.alice}`);
    expect(added).toMatchObject({ status: 204 });
    const [alice, bob] = [ids.alice, ids.bob].map((id) => ({ type: 'user', id }));
    const grant = [
      { principal: bob, resource: { queries: desk }, privileges: ['KILL_QUERIES'] },
      { principal: bob, resource: { queries: alice }, privileges: ['KILL_QUERIES'] },
    ];
    const given = (await admin.post(`${GRANTS}/batch`, { grant })).body?.['granted'] as { id: number }[];

    const named = { queries: { ...desk, name: 'desk' } };
    expect(items(await admin.get(`${ACCESS}/effective?principal=user:${ids.bob}`))).toMatchObject([
      { resource: named, origins: [{ inherited_from: null }] },
      { resource: { queries: alice }, origins: [{ inherited_from: named }, { inherited_from: null }] },
    ]);
    await admin.post(`${GRANTS}/batch`, { revoke: given.map(({ id }) => id) });
  });

  it('system: granted once, explained with what would change it, found by who, previewed and denied', async () => {
    const [system, runtime] = [{ catalog: 'system' }, { catalog: 'system', schema: 'runtime' }];
    const reading = (node: string) => `catalog=system&schema=${node}&privilege=SELECT`;
    const why = async (id: number, node: string) =>
      (await admin.get(`${ACCESS}/explain?principal=user:${id}&${reading(node)}`)).body;
    const queries = 'runtime&table=queries';
    const bob = { type: 'user', id: ids.bob };
    expect(await why(ids.bob, queries)).toMatchObject({
      allowed: false,
      smallest_change: { steps: [{ kind: 'grant', principal: bob, resource: runtime, privileges: ['SELECT'] }] },
    });
    const asked = { principal: bob, resource: runtime, privileges: ['SELECT'] };
    const given = await admin.post(GRANTS, asked);
    expect(given).toMatchObject({ status: 201, body: { resource: runtime } });
    expect(await admin.post(GRANTS, asked)).toMatchObject({ status: 200, body: { id: given.body?.['id'] } });
    expect(items(await admin.get(`${GRANTS}?catalog=system`))).toMatchObject([{ id: given.body?.['id'] }]);
    expect(await why(ids.bob, queries)).toMatchObject({ allowed: true, grants: [given.body?.['id']] });
    expect(items(await admin.get(`${ACCESS}/effective?principal=user:${ids.bob}`))).toMatchObject([
      { resource: runtime, privileges: ['SELECT'] },
    ]);
    // It is something that one reaches.
    expect(await why(ids.bob, 'jdbc')).toMatchObject({ allowed: true, grants: [] });
    expect(items(await admin.get(`${ACCESS}/who?${reading('runtime')}`))).toMatchObject([
      { principal: { name: 'bob' }, via: [{ level: 'schema' }] },
    ]);

    const deny = { kind: 'deny', principal: bob, resource: system };
    const preview = await admin.post('/api/admin/access/preview', { policies: { put: [deny] } });
    const lost = (schema: string) => ({ principal: bob, resource: { ...system, schema }, privileges: ['SELECT'] });
    expect(preview.body).toMatchObject({ gains: [], loses: ['jdbc', 'metadata', 'runtime'].map(lost) });
    const denied = await admin.post('/api/admin/policies', deny);
    expect(denied).toMatchObject({ status: 201, body: { privileges: ['SELECT'] } });
    expect(await why(ids.bob, queries)).toMatchObject({ allowed: false, policies: [denied.body?.['id']] });
    expect(items(await admin.get(`${ACCESS}/effective?principal=user:${ids.bob}`))).toEqual([]);
  });

  describe('acting as others', () => {
    const actor = { type: 'engine', name: 'dash' };
    const act = (as: object, principal: object = actor) => ({
      principal,
      resource: { as },
      privileges: ['IMPERSONATE'],
    });
    const explained = async (name: string, as: string) =>
      (await admin.get(`${ACCESS}/explain?principal=engine:${name}&as=${as}&privilege=IMPERSONATE`)).body;

    it('is granted once, listed, explained, found by who, an entry of effective, and denied', async () => {
      const alice = { type: 'user', id: ids.alice };
      const given = await admin.post(GRANTS, act(alice));
      expect(given).toMatchObject({ status: 201, body: { resource: { as: { ...alice, name: 'alice' } } } });
      const id = given.body?.['id'];
      expect(await admin.post(GRANTS, act(alice))).toMatchObject({ status: 200, body: { id } });

      expect(items(await admin.get(`${GRANTS}?as=user:${ids.alice}`))).toMatchObject([{ id }]);
      expect(await explained('dash', `user:${ids.alice}`)).toMatchObject({ allowed: true, grants: [id] });
      expect(await explained('dash', `user:${ids.bob}`)).toMatchObject({
        allowed: false,
        smallest_change: { steps: [{ kind: 'grant', resource: { as: { name: 'bob' } }, privileges: ['IMPERSONATE'] }] },
      });
      const question = `as=user:${ids.alice}&privilege=IMPERSONATE`;
      const acting = items(await admin.get(`${ACCESS}/who?${question}`)).map(({ principal }) => principal);
      expect(acting).toContainEqual(expect.objectContaining({ name: 'dash' }));
      expect(items(await admin.get(`${ACCESS}/effective?principal=engine:dash`))).toMatchObject([
        { resource: { as: { name: 'alice' } }, privileges: ['IMPERSONATE'] },
      ]);

      const deny = { kind: 'deny', principal: actor, resource: { as: { type: 'everyone' } } };
      const denied = await admin.post('/api/admin/policies', deny);
      expect(denied.body).toMatchObject({ privileges: ['IMPERSONATE'] });
      expect(await explained('dash', `user:${ids.alice}`)).toMatchObject({
        ...{ allowed: false, policies: [denied.body?.['id']] },
        smallest_change: { steps: [{ kind: 'except', policy_id: denied.body?.['id'] }] },
      });
      expect((await admin.send('DELETE', `/api/admin/policies/${String(denied.body?.['id'])}`)).status).toBe(204);
    });

    it('is previewed: a new holder is lost to those who act as it', async () => {
      await admin.post('/api/admin/grants', {
        principal: { type: 'engine', name: 'bot' },
        resource: { catalog: 'a' },
        privileges: ['SELECT'],
      });
      await admin.post(GRANTS, act({ type: 'everyone' }));
      expect(await explained('dash', 'engine:bot')).toMatchObject({ allowed: true });
      const draft = { grant: [act({ type: 'user', id: ids.bob }, { type: 'engine', name: 'bot' })] };
      const preview = await admin.post(`${ACCESS}/preview`, draft);
      expect(preview.body).toMatchObject({
        gains: [{ principal: { name: 'bot' }, resource: { as: { name: 'bob' } }, privileges: ['IMPERSONATE'] }],
        loses: [{ principal: { name: 'dash' }, resource: { as: { name: 'bot' } }, privileges: ['IMPERSONATE'] }],
      });
      expect((await admin.post(GRANTS, draft.grant[0])).status).toBe(201);
      expect(await explained('dash', 'engine:bot')).toMatchObject({ allowed: false, smallest_change: null });
    });

    it.each([
      ['an account', { type: 'everyone' }, () => ({ type: 'user', id: ids.bob }), 'principal'],
      ['everyone', { type: 'everyone' }, () => ({ type: 'everyone' }), 'principal'],
      ['as no account', { type: 'user', id: 999_999 }, () => actor, 'resource.as.id'],
      [
        'as one that acts as others',
        { type: 'engine', name: 'dash' },
        () => ({ type: 'engine', name: 'bot2' }),
        'resource.as.name',
      ],
      ['as itself', { type: 'engine', name: 'bot3' }, () => ({ type: 'engine', name: 'bot3' }), 'resource.as.name'],
    ])('is refused to %s', async (_, as, principal, field) => {
      const refused = await admin.post(GRANTS, act(as, principal()));
      expect(refused).toMatchObject({ status: 400, body: { code: 'validation_failed' } });
      expect(fields(refused)).toEqual([field]);
      expect(fields(await admin.post(`${ACCESS}/preview`, { grant: [act(as, principal())] }))).toEqual([
        `grant.0.${field}`,
      ]);
    });

    it.each(['group:1', 'everyone'])('is asked about one at a time, not about %s', async (named) => {
      for (const question of [`as=${named}&privilege=IMPERSONATE`, `queries=${named}&privilege=KILL_QUERIES`]) {
        const field = question.slice(0, question.indexOf('='));
        expect(fields(await admin.get(`${ACCESS}/who?${question}`))).toEqual([field]);
        expect(fields(await admin.get(`${ACCESS}/explain?principal=user:${ids.bob}&${question}`))).toEqual([field]);
      }
    });
  });
});
