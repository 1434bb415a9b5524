import { sharedAdministrator } from '../support/service/administrator.js';
import {
  eventsAbout,
  idOf,
  SCIM_TOKEN,
  ScimClient,
  scimGroup,
  scimUser,
  statusOf,
  URN,
} from '../support/service/scim-client.js';
import { sharedMembers } from '../support/service/scim-members.js';
import { sharedService } from '../support/service/service.js';

describe('groups by SCIM', () => {
  const service = sharedService({ SCIM_TOKEN });
  const boss = sharedAdministrator(service);
  const scim = new ScimClient(service);
  const members = sharedMembers(scim);
  const { id, some, patched } = members;
  const eventsOf = async (path: string) =>
    (await eventsAbout(boss, path, 'group')).map(({ event, details }) => [event, details]);

  it('live as Okta has it', async () => {
    expect((await scim.get('/Groups?startIndex=1&count=100')).body).toMatchObject({ Resources: [], totalResults: 0 });
    const okta = new ScimClient(service, SCIM_TOKEN, 'application/json');
    const made = await okta.post('/Groups', scimGroup('Everyone in sales', { members: [] }));
    const path = `/Groups/${String(made.body?.['id'])}`;
    expect([made.status, made.headers.get('location')]).toEqual([201, `${service.url}/api/scim/v2${path}`]);
    expect(made.body).toEqual({
      ...{ schemas: [URN.group], id: idOf(path), displayName: 'Everyone in sales' },
      meta: expect.objectContaining({ resourceType: 'Group', version: made.headers.get('etag') }) as object,
    });
    expect(await patched(path, { op: 'replace', value: { id: idOf(path), displayName: 'Sales' } })).toEqual([]);
    const named = { op: 'add', path: 'members', value: some(0, 1).map((each) => ({ ...each, display: 'x' })) };
    expect(await patched(path, named)).toEqual([0, 1]);
    const moved = [
      { op: 'remove', path: `members[value eq "${id(0)}"]` },
      { op: 'add', path: 'members', value: some(2) },
    ];
    expect(await patched(path, ...moved)).toEqual([1, 2]);
    expect(await patched(path, { op: 'replace', path: 'members', value: some(3) })).toEqual([3]);
    const put = await okta.put(path, scimGroup('Sales EU', { members: some(1, 2), externalId: 'x' }));
    expect([put.status, put.body]).toMatchObject([
      200,
      {
        ...{ displayName: 'Sales EU', externalId: 'x' },
        members: [1, 2].map((at) => ({
          ...{ value: id(at), type: 'User', $ref: `${service.url}/api/scim/v2/Users/${id(at)}` },
        })),
      },
    ]);
    expect((await scim.get(`/Users/${id(1)}`)).body).toMatchObject({
      groups: [{ value: idOf(path), display: 'Sales EU', $ref: `${service.url}/api/scim/v2${path}` }],
    });
    expect(await eventsOf(path)).toEqual([
      ['group_created', { source: 'scim', external_id: null }],
      ['group_changed', { name: 'Sales', external_id: null }],
      ...[0, 1].map((at) => ['member_added', { user_id: Number(id(at)) }]),
      ['member_added', { user_id: Number(id(2)) }],
      ['member_removed', { user_id: Number(id(0)) }],
      ['member_added', { user_id: Number(id(3)) }],
      ...[1, 2].map((at) => ['member_removed', { user_id: Number(id(at)) }]),
      ['group_changed', { name: 'Sales EU', external_id: 'x' }],
      ...[1, 2].map((at) => ['member_added', { user_id: Number(id(at)) }]),
      ['member_removed', { user_id: Number(id(3)) }],
    ]);
    expect((await okta.put(path, scimGroup('Sales EU'))).body).not.toHaveProperty('members');
    expect((await scim.delete(path)).status).toBe(204);
    expect((await scim.delete(path)).status).toBe(404);
    expect((await scim.get(path)).body).toMatchObject({ status: '404' });
  });

  it.each([
    ['without its flag', 'Add', 'Replace', 'Remove'],
    ['with its flag', 'add', 'replace', 'remove'],
  ])('live as Microsoft Entra has it, %s', async (flag, add, replace, remove) => {
    const name = `Analysts ${flag}`;
    const search = `/Groups?excludedAttributes=members&filter=${encodeURIComponent(`displayName eq "${name}"`)}`;
    expect((await scim.get(search)).body).toMatchObject({ totalResults: 0, Resources: [] });
    const ad = 'http://schemas.microsoft.com/2006/11/ResourceManagement/ADSCIM/2.0/Group';
    const path = await scim.made('/Groups', {
      ...scimGroup(name),
      schemas: [URN.group, ad],
      externalId: `oid ${flag}`,
    });
    const value = some(0, 1, 2).map((each) => ({ $ref: null, ...each }));
    expect(await patched(path, { op: add, path: 'members', value })).toEqual([0, 1, 2]);
    expect(await patched(path, { op: add, path: 'members', value })).toEqual([0, 1, 2]);
    expect((await scim.get(search)).body).toMatchObject({ Resources: [{ id: idOf(path), displayName: name }] });
    expect(JSON.stringify((await scim.get(search)).body)).not.toContain('members');
    const has = async (at: number) =>
      (await scim.found('/Groups', `id eq "${idOf(path)}" and members eq "${id(at)}"`)).length;
    expect([await has(0), await has(3)]).toEqual([1, 0]);
    const removal =
      flag === 'with its flag'
        ? { op: remove, path: `members[value eq "${id(0)}"]` }
        : { op: remove, path: 'members', value: value.slice(0, 1) };
    expect(await patched(path, removal)).toEqual([1, 2]);
    expect(await patched(path, removal)).toEqual([1, 2]);
    expect(await patched(path, { op: replace, path: 'displayName', value: `${name} 2` })).toEqual([1, 2]);
    expect(await patched(path, { op: replace, value: { [`${URN.group}:externalId`]: 'other' } })).toEqual([1, 2]);
    expect((await scim.get(path)).body).toMatchObject({ displayName: `${name} 2`, externalId: 'other' });
    expect(await patched(path)).toEqual([1, 2]);
    expect((await scim.delete(path)).status).toBe(204);
  });

  it('are the provider’s alone: administrators grant on them, and change neither name nor members', async () => {
    const path = await scim.made('/Groups', scimGroup('Managed', { externalId: 'oid-1', members: some(0) }));
    const admin = `/api/admin/groups/${idOf(path)}`;
    expect((await boss.get(admin)).body).toMatchObject({ source: 'scim', external_id: 'oid-1', member_count: 1 });
    for (const answer of [
      await boss.send('PUT', `${admin}/members/${id(1)}`),
      await boss.delete(`${admin}/members/${id(0)}`),
      await boss.patch(admin, { name: 'Ours' }),
    ]) {
      expect(answer.body).toMatchObject({ status: 409, code: 'managed_elsewhere' });
    }
    const principal = { type: 'group', id: Number(idOf(path)) };
    const given = await boss.post('/api/admin/grants', {
      principal,
      resource: { catalog: 'sales' },
      privileges: ['SELECT'],
    });
    const reads = async (at: number) => {
      const question = `catalog=sales&privilege=SELECT&principal=user:${id(at)}`;
      return (await boss.get(`/api/admin/access/explain?${question}`)).body?.['allowed'];
    };
    expect([await reads(0), await reads(1)]).toEqual([true, false]);
    await scim.patch(path, { op: 'replace', path: 'members', value: some(1) });
    expect([await reads(0), await reads(1)]).toEqual([false, true]);
    expect((await scim.delete(path)).body).toMatchObject({
      status: '409',
      detail: `Named by grant ${String(given.body?.['id'])}: revoke or change them first.`,
    });
  });

  it('have names of their own: no local group is taken over or seen', async () => {
    const local = await boss.post('/api/admin/groups', { name: 'By hand' });
    await boss.send('PUT', `/api/admin/groups/${String(local.body?.['id'])}/members/user:${id(0)}`);
    expect(await statusOf(scim.post('/Groups', scimGroup('BY HAND')))).toEqual([409, 'uniqueness']);
    const path = await scim.made('/Groups', scimGroup('By SCIM'));
    expect(await statusOf(scim.put(path, scimGroup('By hand')))).toEqual([409, 'uniqueness']);
    expect(await statusOf(scim.post('/Groups', scimGroup('by scim')))).toEqual([409, 'uniqueness']);
    expect(await scim.found('/Groups', 'displayName eq "By hand"')).toEqual([]);
    expect((await scim.get(`/Groups/${String(local.body?.['id'])}`)).status).toBe(404);
    expect((await scim.delete(`/Groups/${String(local.body?.['id'])}`)).status).toBe(404);
    const groups = (await scim.get(`/Users/${id(0)}`)).body?.['groups'];
    expect(JSON.stringify(groups ?? [])).not.toContain('By hand');
  });

  it('change only where the client knows the present version, which every change of members ends', async () => {
    const user = await scim.made('/Users', scimUser('passing'));
    const path = await scim.made('/Groups', scimGroup('Versioned', { members: [{ value: idOf(user) }] }));
    const tag = async () => (await scim.get(path)).headers.get('etag') ?? '';
    const first = await tag();
    const named = (displayName: string, known: string) =>
      scim.send('PATCH', path, { Operations: [{ op: 'replace', value: { displayName } }] }, { 'If-Match': known });
    const renamed = await named('Versioned 2', first);
    expect([renamed.status, renamed.headers.get('etag') === (await tag()), first === (await tag())]).toEqual([
      ...[204, true, false],
    ]);
    expect((await named('Versioned 3', first)).body).toMatchObject({ status: '412' });
    expect((await scim.send('DELETE', path, undefined, { 'If-Match': first })).status).toBe(412);
    const second = await tag();
    await scim.patch(path, { op: 'add', path: 'members', value: [{ value: idOf(user) }] });
    expect(await tag()).toBe(second);
    await scim.delete(user);
    expect([await tag(), await members.of(path)]).not.toEqual([second, []]);
    expect((await scim.send('PUT', path, scimGroup('x'), { 'If-Match': second })).status).toBe(412);
    expect((await scim.send('PATCH', `${path}?attributes=displayName`, { Operations: [] })).body).toEqual({
      ...{ schemas: [URN.group], id: idOf(path), displayName: 'Versioned 2' },
    });
  });

  it('are found by filters, and described', async () => {
    const path = await scim.made('/Groups', scimGroup('Filtered', { externalId: 'Case', members: some(3) }));
    const is = async (filter: string) =>
      (await scim.found('/Groups', `displayName eq "FILTERED" and (${filter})`)).length;
    for (const filter of [
      'externalId eq "Case"',
      `members[value eq "${id(3)}" and type eq "User"]`,
      'members pr and not (members.value eq "1x")',
      'meta.created gt "2020-01-01T00:00:00Z"',
    ]) {
      expect([filter, await is(filter)]).toEqual([filter, 1]);
    }
    for (const filter of ['externalId eq "case"', `members eq "${id(2)}"`, 'displayName co "%"']) {
      expect([filter, await is(filter)]).toEqual([filter, 0]);
    }
    expect(await statusOf(scim.get('/Groups?filter=members.display%20eq%20%22x%22'))).toEqual([400, 'invalidFilter']);
    expect((await scim.get(`/Groups?startIndex=2&count=1&attributes=members.value`)).body).toMatchObject({
      ...{ startIndex: 2, itemsPerPage: 1 },
      Resources: [{ id: expect.any(String) as string }],
    });
    expect(await scim.found('/Groups', 'displayName eq "Filtered"')).toMatchObject([
      { members: [{ value: id(3), type: 'User', $ref: `${service.url}/api/scim/v2/Users/${id(3)}` }] },
    ]);
    const { body: schema } = await scim.get(`/Schemas/${URN.group}`);
    expect((schema?.['attributes'] as { name: string }[]).map(({ name }) => name)).toEqual([
      ...['displayName', 'externalId', 'members'],
    ]);
    expect((await scim.get('/ResourceTypes/Group')).body).toMatchObject({ endpoint: '/Groups', schema: URN.group });
    expect((await scim.post('/Groups/.search', {})).status).toBe(501);
    await scim.delete(path);
  });
});
