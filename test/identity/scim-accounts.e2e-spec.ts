import { DataSource } from 'typeorm';
import { throughLockBarrier } from '../auth/lock-barrier.js';
import { sharedAdministrator } from '../support/service/administrator.js';
import { type Answer, ApiClient, signedUp, signIn } from '../support/service/api-client.js';
import {
  accountBehind,
  eventsAbout,
  idOf,
  SCIM_TOKEN,
  ScimClient,
  scimUser,
  statusOf,
  URN,
} from '../support/service/scim-client.js';
import { sharedService } from '../support/service/service.js';

describe('accounts by SCIM', () => {
  const service = sharedService({ SCIM_TOKEN: `the-former-token-which-is-being-replaced,${SCIM_TOKEN}` });
  const boss = sharedAdministrator(service);
  const scim = new ScimClient(service);
  const anonymous = new ApiClient(service);
  const accountOf = (path: string) => accountBehind(boss, path);
  const eventsOf = (path: string) => eventsAbout(boss, path);

  it('have names that nobody else has: password accounts are invisible and not taken over', async () => {
    await signedUp(anonymous, 'with_password');
    expect(await scim.found('/Users', 'userName eq "with_password"')).toEqual([]);
    expect(await statusOf(scim.post('/Users', scimUser('With_Password')))).toEqual([409, 'uniqueness']);
    const path = await scim.made('/Users', scimUser('unique', { externalId: 'only one' }));
    expect(await statusOf(scim.post('/Users', scimUser('unique two', { externalId: 'only one' })))).toEqual([
      409,
      'uniqueness',
    ]);
    expect((await scim.found('/Users', 'userName eq "unique two"')).length).toBe(0);
    expect(await statusOf(scim.patch(path, { op: 'replace', path: 'userName', value: 'with_password' }))).toEqual([
      409,
      'uniqueness',
    ]);
    expect(await statusOf(scim.post('/Users', scimUser('service-account-grantline')))).toEqual([400, 'invalidValue']);
    expect(await statusOf(scim.post('/Users', scimUser('zero\u200bwidth')))).toEqual([400, 'invalidValue']);
    expect(await statusOf(scim.post('/Users', { schemas: [URN.user] }))).toEqual([400, 'invalidValue']);
  });

  it('have an address that another account has for SCIM alone', async () => {
    await signedUp(anonymous, 'address_owner');
    const emails = [{ value: 'address_owner@example.org', type: 'work', primary: true }];
    const path = await scim.made('/Users', scimUser('second of the address', { emails }));
    expect((await scim.get(path)).body).toMatchObject({ emails });
    expect(await accountOf(path)).toMatchObject({ email: null });
    expect(await eventsOf(path)).toMatchObject([{ event: 'account_created', details: { email_taken: true } }]);
    await scim.patch(path, { op: 'replace', path: 'emails', value: [{ value: 'own@example.org', type: 'work' }] });
    expect(await accountOf(path)).toMatchObject({ email: 'own@example.org' });
    await scim.patch(path, { op: 'replace', path: 'emails', value: emails });
    expect(await accountOf(path)).toMatchObject({ email: null });
  });

  it('are adopted from an import or a sign-in by being made, and seen only then', async () => {
    const source = service.app.get(DataSource);
    for (const [name, origin] of [
      ['imported one', 'import'],
      ['Imported Two', 'oidc'],
      ['Großmann', 'import'],
      ['by hand', 'local'],
    ] as const) {
      const { body } = await boss.post('/api/admin/users', { username: name });
      await source.query('UPDATE users SET source = $2 WHERE id = $1', [body?.['id'], origin]);
    }
    const listed = async () =>
      ((await scim.get('/Users')).body?.['Resources'] as { userName: string }[]).map(({ userName }) => userName);
    expect((await listed()).filter((name) => /imported|by hand/i.test(name))).toEqual([]);
    expect(await scim.found('/Users', 'userName eq "imported one"')).toEqual([]);
    await scim.made('/Users', scimUser('of an external id'));
    const taken = scimUser('imported one', { externalId: 'ext-of an external id' });
    expect(await statusOf(scim.post('/Users', taken))).toEqual([409, 'uniqueness']);
    const path = await scim.made('/Users', { schemas: [URN.user], userName: 'imported one' });
    expect(await accountOf(path)).toMatchObject({ source: 'scim', is_active: true });
    expect(await scim.found('/Users', 'userName eq "Imported ONE"')).toHaveLength(1);
    expect((await eventsOf(path)).map(({ event }) => event)).toEqual(['account_created', 'account_adopted']);
    const two = await scim.made('/Users', scimUser('imported two', { displayName: 'Two' }));
    expect(await accountOf(two)).toMatchObject({ source: 'scim', username: 'imported two' });
    for (const other of ['by hand', 'grossmann', 'GROSSMANN', 'großmanN']) {
      const isThere = other === 'großmanN';
      const answer = isThere ? [201, null] : [409, 'uniqueness'];
      expect([other, await statusOf(scim.post('/Users', scimUser(other)))]).toEqual([other, answer]);
    }
    expect(await scim.found('/Users', 'userName eq "grossmann"')).toEqual([]);
    expect((await listed()).filter((name) => /imported|by hand/i.test(name))).toEqual(['imported one', 'imported two']);
  });

  it('that an administrator deactivated are made active by an administrator alone', async () => {
    const path = await scim.made('/Users', scimUser('deactivated by hand'));
    const admin = `/api/admin/users/${idOf(path)}`;
    const activate = async (value: boolean) =>
      (await scim.patch(path, { op: 'replace', path: 'active', value })).body?.['active'];
    await boss.patch(admin, { is_active: false });
    expect([await activate(true), await activate(false), await activate(true)]).toEqual([false, false, false]);
    await boss.patch(admin, { is_active: true });
    expect([await activate(false), await activate(true)]).toEqual([false, true]);
    expect(await activate(false)).toBe(false);
    for (const unrelated of [{ role: 'user' }, {}]) expect((await boss.patch(admin, unrelated)).status).toBe(200);
    expect([await activate(true), await activate(false)]).toEqual([true, false]);
    for (let times = 0; times < 2; times += 1) await boss.patch(admin, { is_active: false });
    const [taken, before] = (await eventsOf(path)).reverse();
    expect([taken, before]).toMatchObject([
      { event: 'account_deactivated', actor: { name: 'admin' }, details: { taken_from: 'scim' } },
      { event: 'account_deactivated', actor: null },
    ]);
    expect(await activate(true)).toBe(false);
    expect((await scim.put(path, { ...scimUser('deactivated by hand'), active: undefined })).body).toMatchObject({
      active: false,
    });
  });

  // The administrator's change is made in SQL, so that SCIM has read the account when it commits.
  it.each<[string, string, (path: string) => Promise<Answer>, object]>([
    [
      'an activation and another attribute',
      `UPDATE users SET is_active = true, deactivated_by = NULL WHERE username = 'raced'`,
      (path) => scim.patch(path, { op: 'replace', path: 'displayName', value: 'New' }),
      { username: 'raced', is_active: true },
    ],
    [
      'a rename and another attribute',
      `UPDATE principal_names SET name = 'renamed', account_key = 'renamed' WHERE name = 'raced'`,
      (path) => scim.patch(path, { op: 'replace', path: 'active', value: true }),
      { username: 'renamed', is_active: true },
    ],
    [
      'a rename and a deletion',
      `UPDATE principal_names SET name = 'renamed', account_key = 'renamed' WHERE name = 'raced'`,
      (path) => scim.delete(path),
      { username: expect.stringMatching(/^renamed [(]deleted \d+[)]$/) as string, is_active: false },
    ],
  ])('keep what an administrator changes at the same time: %s', async (_, adminChange, scimChange, expected) => {
    const path = await scim.made('/Users', scimUser('raced', { active: false }));
    const [answer] = await throughLockBarrier(service, adminChange, 1, () => [scimChange(path)]);
    expect(answer?.status).toBeLessThan(300);
    expect(await accountOf(path)).toMatchObject(expected);
    await scim.delete(path);
  });

  it('come back where they are made anew after they were disabled: by external id, or by a name without another one', async () => {
    const disable = (path: string) => scim.patch(path, { op: 'replace', path: 'active', value: false });
    const path = await scim.made('/Users', scimUser('back.again'));
    expect(await statusOf(scim.post('/Users', scimUser('back.again')))).toEqual([409, 'uniqueness']);
    await disable(path);
    expect(await statusOf(scim.post('/Users', scimUser('back.again', { externalId: 'of another' })))).toEqual([
      ...[409, 'uniqueness'],
    ]);
    expect(await scim.made('/Users', scimUser('back.again'))).toBe(path);
    expect(await accountOf(path)).toMatchObject({ is_active: true });
    await disable(path);
    expect(await scim.made('/Users', scimUser('new.name', { externalId: 'ext-back.again' }))).toBe(path);
    expect(await accountOf(path)).toMatchObject({ is_active: true, username: 'new.name' });
    await disable(path);
    expect(await scim.made('/Users', { schemas: [URN.user], userName: 'New.Name' })).toBe(path);
  });

  it('lose sessions, grants and groups when they are deleted, and the name is somebody else’s later', async () => {
    const path = await scim.made('/Users', scimUser('leaver'));
    const user = { type: 'user', id: Number(idOf(path)) };
    const granted = await boss.post('/api/admin/grants', {
      principal: user,
      resource: { catalog: 'sales' },
      privileges: ['SELECT'],
    });
    const group = await boss.post('/api/admin/groups', { name: 'of the leaver' });
    await boss.send('PUT', `/api/admin/groups/${String(group.body?.['id'])}/members/user:${idOf(path)}`);
    expect((await scim.delete(path)).status).toBe(204);
    expect((await scim.delete(path)).status).toBe(404);
    expect(await scim.found('/Users', 'userName eq "leaver"')).toEqual([]);
    expect((await boss.get(`/api/admin/grants/${String(granted.body?.['id'])}`)).body?.['revoked_at']).toEqual(
      expect.any(String),
    );
    expect((await boss.get(`/api/admin/groups/${String(group.body?.['id'])}/members`)).body?.['items']).toEqual([]);
    expect(await accountOf(path)).toMatchObject({ is_active: false, username: `leaver (deleted ${idOf(path)})` });
    const again = await scim.made('/Users', scimUser('leaver'));
    expect(again).not.toBe(path);
    expect(await accountOf(again)).toMatchObject({ is_active: true, has_password: false, username: 'leaver' });
    const access = await boss.get(`/api/admin/access/effective?principal=user:${idOf(again)}`);
    expect(access.body).toMatchObject({ items: [] });
  });

  it('give their former names back, too, when they are deleted', async () => {
    const path = await scim.made('/Users', scimUser('jsmith'));
    await scim.patch(path, { op: 'replace', path: 'userName', value: 'jdoe' });
    expect(await statusOf(scim.post('/Users', scimUser('jsmith', { externalId: 'another' })))).toEqual([
      409,
      'uniqueness',
    ]);
    expect((await scim.delete(path)).status).toBe(204);
    expect(await scim.made('/Users', scimUser('jsmith', { externalId: 'another' }))).not.toBe(path);
  });

  it.each<[string, (path: string, formerly: string) => Promise<unknown>]>([
    ['another account', (_, formerly) => scim.made('/Users', scimUser(formerly))],
    [
      'a former name of their own',
      async (path, formerly) => {
        for (const userName of [formerly, 'squatted']) {
          await scim.patch(path, { op: 'replace', path: 'userName', value: userName });
        }
      },
    ],
  ])('are deleted also where the name that they would get is held: by %s', async (_, hold) => {
    const path = await scim.made('/Users', scimUser('squatted'));
    await hold(path, `squatted (deleted ${idOf(path)})`);
    expect((await scim.delete(path)).status).toBe(204);
    const username = expect.stringMatching(`^squatted [(]deleted ${idOf(path)}, [\\w-]+[)]$`) as string;
    expect(await accountOf(path)).toMatchObject({ is_active: false, username });
  });

  it('end sessions at once when they are made inactive', async () => {
    const path = await scim.made('/Users', scimUser('signed_in'));
    const { body } = await boss.post(`/api/admin/users/${idOf(path)}/one-time-password`);
    const { access_token } = await signIn(anonymous, 'signed_in', String(body?.['one_time_password']));
    expect((await anonymous.as(access_token).get('/api/auth/me')).status).toBe(200);
    await scim.patch(path, { op: 'Replace', path: 'active', value: 'False' });
    expect((await anonymous.as(access_token).get('/api/auth/me')).status).toBe(401);
  });

  it('stay those of the provider with a password from here: renamed, disabled, enabled and deleted there', async () => {
    const path = await scim.made('/Users', scimUser('opened_here'));
    const { body } = await boss.post(`/api/admin/users/${idOf(path)}/one-time-password`);
    const tokens = await signIn(anonymous, 'opened_here', String(body?.['one_time_password']));
    const renamed = scimUser('married_here', { externalId: 'ext-opened_here' });
    expect((await scim.put(path, { ...renamed, active: false })).body).toMatchObject({ active: false });
    expect((await anonymous.as(tokens.access_token).get('/api/auth/me')).status).toBe(401);
    expect(await accountOf(path)).toMatchObject({ username: 'married_here', is_active: false, has_password: true });
    expect(await scim.made('/Users', renamed)).toBe(path);
    expect(await accountOf(path)).toMatchObject({ is_active: true });
    expect((await scim.delete(path)).status).toBe(204);
    expect(await accountOf(path)).toMatchObject({ is_active: false });
    expect(await accountOf(await scim.made('/Users', renamed))).toMatchObject({ has_password: false });
  });

  it('do not end with the last administrator who has a password', async () => {
    const path = await scim.made('/Users', scimUser('last_one'));
    await boss.patch(`/api/admin/users/${idOf(path)}`, { role: 'admin' });
    await boss.post(`/api/admin/users/${idOf(path)}/one-time-password`);
    const source = service.app.get(DataSource);
    const demote = `UPDATE users SET role = 'user' WHERE role = 'admin' AND id <> $1 RETURNING id`;
    const [others] = await source.query<[{ id: number }[]]>(demote, [idOf(path)]);
    expect(await statusOf(scim.patch(path, { op: 'replace', path: 'active', value: false }))).toEqual([
      409,
      'mutability',
    ]);
    expect(await statusOf(scim.delete(path))).toEqual([409, 'mutability']);
    await source.query(`UPDATE users SET role = 'admin' WHERE id = ANY ($1)`, [others.map(({ id }) => id)]);
    expect((await scim.delete(path)).status).toBe(204);
  });

  it('of administrators are not adopted', async () => {
    const { body } = await boss.post('/api/admin/users', { username: 'chief', role: 'admin' });
    await service.app.get(DataSource).query(`UPDATE users SET source = 'import' WHERE id = $1`, [body?.['id']]);
    expect(await scim.found('/Users', 'userName eq "chief"')).toEqual([]);
    expect(await statusOf(scim.post('/Users', scimUser('chief', { externalId: 'x' })))).toEqual([409, 'uniqueness']);
  });

  it('are answered a page at a time, in one order, with the attributes that are asked for', async () => {
    for (const number of [1, 2, 3])
      await scim.made('/Users', scimUser(`page ${number}`, { displayName: `Page ${number}` }));
    const page = async (query: string) =>
      (await scim.get(`/Users?filter=${encodeURIComponent('userName sw "page "')}&${query}`)).body;
    expect(await page('startIndex=2&count=1&attributes=displayName')).toMatchObject({
      ...{ totalResults: 3, startIndex: 2, itemsPerPage: 1 },
      Resources: [{ schemas: [URN.user], id: expect.any(String) as string, displayName: 'Page 2' }],
    });
    const [only] = (await page('attributes=displayName'))?.['Resources'] as object[];
    expect(Object.keys(only ?? {}).sort()).toEqual(['displayName', 'id', 'schemas']);
    const [without] = (await page('excludedAttributes=displayName,meta'))?.['Resources'] as object[];
    expect(Object.keys(without ?? {}).sort()).toEqual(['active', 'externalId', 'id', 'schemas', 'userName']);
    expect(await page('count=0')).toMatchObject({ totalResults: 3, Resources: [] });
    expect(await page('startIndex=4')).toMatchObject({ totalResults: 3, Resources: [] });
    expect(await page('startIndex=-7')).toMatchObject({ startIndex: 1, itemsPerPage: 3 });
    expect(await page('count=x')).toMatchObject({ status: '400' });
    expect(await page(`attributes=${'x,'.repeat(100)}x`)).toMatchObject({ status: '400', scimType: 'tooMany' });
  });

  it('are found by every operator', async () => {
    const more = {
      displayName: "Filtered O'Neil",
      name: { familyName: 'Neil' },
      emails: [
        { value: 'a@f.org', type: 'work' },
        { value: 'b@f.org', type: 'home' },
      ],
    };
    const path = await scim.made('/Users', scimUser('filtered', more));
    const is = async (filter: string) =>
      (await scim.found('/Users', `userName eq "filtered" and (${filter})`)).length === 1;
    const yes = [
      'displayName eq "filtered o\'NEIL"',
      'displayName co "O\'N"',
      'displayName sw "filt"',
      'displayName ew "neil"',
      'name.familyName pr',
      'not (name.givenName pr)',
      'name.givenName ne "x"',
      'name.givenName eq null',
      'active eq "True"',
      'active eq true and externalId eq "ext-filtered"',
      'meta.created gt "2020-01-01T00:00:00Z"',
      'meta.created gt "0000-01-01T00:00:00Z"',
      'meta.lastModified lt "9999-12-31T23:59:59.999Z"',
      'id ne "99999999999999999999"',
      'id ne 1e400',
      'displayName ge "filtered"',
      'emails eq "a@f.org"',
      'emails[type eq "work" and value eq "a@f.org"]',
      'emails.type eq "home"',
      'emails pr',
      `id eq "${idOf(path)}"`,
      `${URN.user}:displayName pr`,
      'NOT(groups pr) AND userName PR',
      'not (displayName eq "x")',
    ];
    for (const filter of yes) expect([filter, await is(filter)]).toEqual([filter, true]);
    const no = [
      'externalId eq "EXT-filtered"',
      'emails[type eq "work" and value eq "b@f.org"]',
      'id eq "x"',
      'groups.value eq "1"',
      'meta.lastModified lt "2020-01-01T00:00:00Z"',
      'displayName co "%"',
      'userName eq "a" or userName eq "b"',
    ];
    for (const filter of no) expect([filter, await is(filter)]).toEqual([filter, false]);
    const invalid = [
      'userName eq "a" and',
      'title pr',
      'emails.display eq "x"',
      'userName',
      'userName eq',
      '('.repeat(5_000),
      new Array<string>(11).fill('emails co "x"').join(' or '),
      `displayName eq "${'x'.repeat(1_025)}"`,
      'active gt true',
      'meta.created eq "x"',
      'meta.created gt "-271821-04-20T00:00:00Z"',
      'meta.created gt "-000001-12-31T23:59:59Z"',
      'meta.lastModified lt "+010000-01-01T00:00:00Z"',
      'meta.lastModified lt "9999-12-31T23:59:59-01:00"',
      `${URN.enterprise}:department eq "x"`,
      'userName eq "a\\u0000"',
      'userName eq "a\\ud800"',
    ];
    for (const filter of invalid) {
      expect([filter, ...(await statusOf(scim.get(`/Users?filter=${encodeURIComponent(filter)}`)))]).toEqual([
        filter,
        400,
        'invalidFilter',
      ]);
    }
  });
});
