import { sharedAdministrator } from '../support/service/administrator.js';
import { ApiClient } from '../support/service/api-client.js';
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

describe('users by SCIM', () => {
  const service = sharedService({ SCIM_TOKEN: `the-former-token-which-is-being-replaced,${SCIM_TOKEN}` });
  const boss = sharedAdministrator(service);
  const scim = new ScimClient(service);
  const anonymous = new ApiClient(service);
  const accountOf = (path: string) => accountBehind(boss, path);
  const eventsOf = (path: string) => eventsAbout(boss, path);

  it('are open to the token alone, with refusals in the form of SCIM', async () => {
    const refused = {
      schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'],
      status: '401',
      detail: expect.any(String) as string,
    };
    for (const client of [new ScimClient(service, 'x'.repeat(43)), new ScimClient(service, boss.token)]) {
      const { status, body, headers } = await client.get('/Users');
      expect([status, headers.get('content-type')]).toEqual([401, 'application/scim+json; charset=utf-8']);
      expect(body).toMatchObject(refused);
    }
    expect((await anonymous.get('/api/scim/v2/Users')).body).toMatchObject(refused);
    expect((await new ScimClient(service, 'the-former-token-which-is-being-replaced').get('/Users')).status).toBe(200);
    expect((await anonymous.as(SCIM_TOKEN).get('/api/auth/me')).status).toBe(401);
    expect((await scim.get('/Nobody')).body).toEqual({ ...refused, status: '404' });
    expect((await scim.get('/Users/17000')).body).toMatchObject({ ...refused, status: '404' });
    expect((await scim.get('/Users/x')).status).toBe(404);
    // An alert counts them by these labels.
    expect(await service.metrics()).toMatch(
      /^grantline_http_request_duration_seconds_count\{[^}]*route="\/api\/scim\/v2\/Users",status="401"[^}]*\} 3$/m,
    );
  });

  it('do not say more to who has no token: bodies are not read', async () => {
    const { status } = await new ScimClient(service, 'x'.repeat(43)).post('/Users', '{');
    expect(status).toBe(401);
    expect(await statusOf(scim.post('/Users', '{'))).toEqual([400, 'invalidSyntax']);
    expect(await statusOf(scim.post('/Users', '[]'))).toEqual([400, 'invalidSyntax']);
    const { headers } = await scim.send('POST', '/Users', '<a/>', { 'Content-Type': 'text/xml' });
    expect(headers.get('content-type')).toBe('application/scim+json; charset=utf-8');
  });

  it('have bodies of up to 8 MiB and 200,000 values', async () => {
    const wide = (values: number) =>
      JSON.stringify({ ...scimUser('wide'), unknown: new Array<number>(values).fill(1) });
    expect((await scim.post('/Users', wide(200_001))).status).toBe(413);
    const long = JSON.stringify({ ...scimUser('long'), unknown: 'x'.repeat(8 * 1024 * 1024) });
    expect((await scim.post('/Users', long)).status).toBe(413);
    expect((await scim.post('/Users', wide(199_990))).status).toBe(201);
    const keys = Object.fromEntries(Array.from({ length: 1_001 }, (_, key) => [`key${key}`, true]));
    expect((await scim.post('/Users', { ...scimUser('of many keys'), keys })).status).toBe(413);
  });

  it('have emails that are objects', async () => {
    for (const emails of ['x', ['x@example.org'], 7]) {
      expect(await statusOf(scim.post('/Users', scimUser('text.emails', { emails })))).toEqual([400, 'invalidValue']);
    }
  });

  it('change only where the client knows the present version', async () => {
    const path = await scim.made('/Users', scimUser('versioned'));
    const { headers, body } = await scim.get(path);
    const tag = headers.get('etag') ?? '';
    expect((body?.['meta'] as { version: string }).version).toBe(tag);
    const known = await scim.send('GET', path, undefined, { 'If-None-Match': tag });
    expect([known.status, known.body, known.headers.get('etag')]).toEqual([304, null, tag]);
    expect((await scim.send('GET', path, undefined, { 'If-None-Match': 'W/"another"' })).status).toBe(200);
    const renamed = (displayName: string, known: string) =>
      scim.send('PATCH', path, { Operations: [{ op: 'replace', value: { displayName } }] }, { 'If-Match': known });
    const first = await renamed('One', tag);
    expect([first.status, first.headers.get('etag') === tag]).toEqual([200, false]);
    expect((await renamed('Two', tag)).body).toMatchObject({ status: '412' });
    expect((await scim.send('DELETE', path, undefined, { 'If-Match': tag })).status).toBe(412);
    expect((await scim.send('PUT', path, scimUser('versioned'), { 'If-Match': tag })).status).toBe(412);
    expect((await renamed('Three', '*')).status).toBe(200);
  });

  it('are refused with texts that are no Unicode, in a path as well', async () => {
    const path = await scim.made('/Users', scimUser('half'));
    const half = { op: 'add', path: 'emails[type eq "\\ud800"].value', value: 'a@b.org' };
    expect(await statusOf(scim.patch(path, half))).toEqual([400, 'invalidPath']);
    const value = { op: 'add', path: 'displayName', value: 'a\ud800' };
    expect(await statusOf(scim.patch(path, value))).toEqual([400, 'invalidSyntax']);
  });

  it('of one name that many make at once are one', async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => scim.post('/Users', scimUser('raced'))));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409, 409, 409, 409, 409]);
  });

  it('live as Okta has it', async () => {
    const okta = new ScimClient(service, SCIM_TOKEN, 'application/json');
    expect((await scim.get('/Users?startIndex=1&count=2')).body).toMatchObject({
      startIndex: 1,
      itemsPerPage: expect.any(Number) as number,
    });
    expect(await scim.found('/Users', 'userName eq "ada@example.org"')).toEqual([]);
    const person = {
      schemas: [URN.user],
      userName: 'ada@example.org',
      name: { givenName: 'Ada', familyName: 'Byron' },
      emails: [{ primary: true, value: 'ada@example.org', type: 'work' }],
      displayName: 'Ada Byron',
      locale: 'en-US',
      externalId: '00ujl29u0le5T6Aj10h7',
      groups: [],
      password: '1mz050nq',
      active: true,
    };
    const made = await okta.post('/Users', person);
    expect(made.status).toBe(201);
    const path = `/Users/${String(made.body?.['id'])}`;
    expect(made.headers.get('location')).toBe(`${service.url}/api/scim/v2${path}`);
    const { password, locale, groups, ...kept } = person;
    expect(made.body).toEqual({
      ...kept,
      id: idOf(path),
      meta: expect.objectContaining({ resourceType: 'User' }) as object,
    });
    expect(await statusOf(okta.post('/Users', person))).toEqual([409, 'uniqueness']);
    expect((await scim.found('/Users', 'userName eq "ADA@example.org"')).map(({ id }) => id)).toEqual([idOf(path)]);

    // Profiles are put whole, as they were read.
    const read = (await okta.get(path)).body;
    const put = await okta.put(path, {
      ...read,
      name: { ...(read?.['name'] as object), familyName: 'Lovelace' },
      nickName: '',
    });
    expect([put.status, put.body?.['name']]).toEqual([200, { givenName: 'Ada', familyName: 'Lovelace' }]);
    const off = await okta.patch(path, { op: 'replace', value: { active: false } });
    expect([off.status, off.body?.['active']]).toEqual([200, false]);
    expect(await accountOf(path)).toMatchObject({
      is_active: false,
      source: 'scim',
      has_password: false,
      email: 'ada@example.org',
    });
    const on = await okta.put(path, { ...read, active: true });
    expect([on.status, (await accountOf(path))?.['is_active']]).toEqual([200, true]);
    expect((await eventsOf(path)).map(({ event, actor }) => [event, actor])).toEqual([
      ['account_created', null],
      ['account_deactivated', null],
      ['account_activated', null],
    ]);
    expect((await eventsOf(path))[1]?.details).toMatchObject({ external_id: '00ujl29u0le5T6Aj10h7' });
  });

  it.each([
    ['without its flag', 'Add', 'Replace', 'Remove', '"False"', '"True"'],
    ['with its flag', 'add', 'replace', 'remove', 'false', 'true'],
  ])('live as Microsoft Entra has it, %s', async (flag, add, replace, remove, no, yes) => {
    const name = `grace ${flag}`;
    expect(await scim.found('/Users', `userName eq "${name}"`)).toEqual([]);
    const path = await scim.made('/Users', {
      schemas: [URN.user, URN.enterprise],
      ...{ externalId: `oid ${flag}`, userName: name, active: true, roles: [], meta: { resourceType: 'User' } },
      ...{ displayName: null, emails: null, name: { formatted: 'Grace', familyName: null, givenName: 'Grace' } },
      [URN.enterprise]: { department: 'Navy', manager: null },
    });
    expect((await scim.get(path)).body).toMatchObject({ name: { formatted: 'Grace', givenName: 'Grace' } });
    const patched = async (...operations: object[]) => {
      const { status, body } = await scim.patch(path, ...operations);
      if (status !== 200) throw new Error(JSON.stringify(body));
      return body;
    };
    await patched({ op: add, path: 'emails[type eq "work"].value', value: `${flag}@example.org` });
    await patched(
      { op: replace, path: 'emails[type eq "work"].value', value: `${flag}2@example.org` },
      { op: replace, path: 'name.familyName', value: 'Hopper' },
      { op: replace, path: `${URN.enterprise}:department`, value: 'Computing' },
      { op: add, path: `${URN.enterprise}:manager`, value: [{ $ref: '../Users/1', value: '1' }] },
    );
    const whole = await patched({
      op: replace,
      value: {
        displayName: 'Grace Hopper',
        'name.givenName': 'Grace B.',
        [`${URN.enterprise}:department`]: 'Navy',
        [`${URN.user}:nickName`]: 'x',
      },
    });
    expect(whole).toMatchObject({
      ...{ displayName: 'Grace Hopper', name: { formatted: 'Grace', familyName: 'Hopper', givenName: 'Grace B.' } },
      emails: [{ type: 'work', value: `${flag}2@example.org` }],
    });
    expect(await scim.found('/Users', `emails[type eq "work"].value eq "${flag}2@EXAMPLE.org"`)).toHaveLength(1);
    expect(await patched({ op: remove, path: 'name.familyName' })).not.toMatchObject({
      name: { familyName: 'Hopper' },
    });
    await patched({ op: replace, path: 'userName', value: `${name} renamed` });
    expect(await accountOf(path)).toMatchObject({ username: `${name} renamed` });
    expect(await patched({ op: replace, path: 'active', value: JSON.parse(no) as unknown })).toMatchObject({
      active: false,
    });
    expect(await scim.found('/Users', `externalId eq "oid ${flag}" and active eq false`)).toHaveLength(1);
    expect(await patched({ op: replace, path: 'active', value: JSON.parse(yes) as unknown })).toMatchObject({
      active: true,
    });
    expect(await patched()).toMatchObject({ active: true });
    expect((await scim.delete(path)).status).toBe(204);
    expect((await scim.get(path)).status).toBe(404);
  });

  it('have the address that Microsoft Entra replaces before there is one, and all else of the request', async () => {
    const path = await scim.made('/Users', scimUser('first address'));
    const replace = async (...pairs: [string, unknown][]) => {
      const { body } = await scim.patch(
        path,
        ...pairs.map(([target, value]) => ({ op: 'Replace', path: target, value })),
      );
      return [body?.['emails'], body?.['active']];
    };
    const work = { type: 'work', value: 'first@example.org' };
    expect(await replace(['emails[type eq "work"].value', work.value], ['active', 'False'])).toEqual([[work], false]);
    const unknown: [string, unknown] = ['emails[type eq "home"].display', 'At home'];
    expect(await replace(unknown, ['active', 'True'])).toEqual([[work], true]);
    const primary = { primary: true, value: 'main@example.org' };
    expect(await replace(['emails[primary eq "True"].value', primary.value])).toEqual([[work, primary], true]);
    expect(await replace(['emails[type eq "work"].value', null])).toEqual([[primary], true]);
    expect(await replace(['emails', [work, { type: 'home', value: null }]])).toEqual([[work], true]);
    const valueless = { op: 'add', path: 'emails[type eq "home"].primary', value: true };
    expect(await statusOf(scim.patch(path, valueless))).toEqual([400, 'noTarget']);
    const remove = await scim.patch(path, { op: 'remove', path: 'emails', value: [{ type: 'work', value: null }] });
    expect(remove.body).toMatchObject({ emails: [work] });
  });

  it('keep their id, their groups and what the service is made of', async () => {
    const made = await scim.post('/Users', scimUser('trapped', { id: '1' }));
    const path = `/Users/${String(made.body?.['id'])}`;
    expect([made.status, idOf(path) === '1']).toEqual([201, false]);
    const { status } = await scim.patch(path, { op: 'replace', value: { id: idOf(path), displayName: 'Same' } });
    expect(status).toBe(200);
    expect(await statusOf(scim.patch(path, { op: 'replace', value: { id: '1' } }))).toEqual([400, 'mutability']);
    expect(await statusOf(scim.put(path, scimUser('trapped', { id: '1' })))).toEqual([400, 'mutability']);
    expect(await statusOf(scim.patch(path, { op: 'add', path: 'groups', value: [{ value: '1' }] }))).toEqual([
      400,
      'mutability',
    ]);
    expect(await statusOf(scim.patch(path, { op: 'remove', path: 'userName' }))).toEqual([400, 'invalidValue']);
    const beyond = await scim.patch(path, { op: 'replace', path: 'userName', value: '山田太郎' });
    expect(beyond).toMatchObject({ status: 400, body: { scimType: 'invalidValue' } });
    expect(beyond.body?.['detail']).toMatch(/^No SQL can be run as userName: .*Latin-1/);
    expect(await statusOf(scim.post('/Users', scimUser('山田太郎')))).toEqual([400, 'invalidValue']);
    expect((await scim.post('/Users', scimUser('zoé.dupont'))).status).toBe(201);
    expect(await statusOf(scim.patch(path, { op: 'jump', path: 'userName' }))).toEqual([400, 'invalidSyntax']);
    expect(await statusOf(scim.patch(path, { op: 'remove' }))).toEqual([400, 'noTarget']);
    expect(await statusOf(scim.patch(path, { op: 'replace', path: 'emails[type eq', value: 1 }))).toEqual([
      400,
      'invalidPath',
    ]);
    const nobody = { op: 'replace', path: 'emails[value eq "y@example.org"].value', value: 'x@example.org' };
    expect(await statusOf(scim.patch(path, nobody))).toEqual([400, 'noTarget']);
    for (const target of [
      '__proto__.polluted',
      'constructor.prototype.polluted',
      '__proto__',
      'emails[type eq "work"].__proto__',
    ]) {
      await scim.patch(path, { op: 'add', path: target, value: 'yes' });
      await scim.patch(path, {
        op: 'replace',
        value: JSON.parse(`{${JSON.stringify(target)}: {"polluted": "yes"}}`) as unknown,
      });
    }
    expect('polluted' in {}).toBe(false);
    expect(await statusOf(scim.patch(path, { op: 'replace', path: 'displayName', value: 'a\u0000b' }))).toEqual([
      400,
      'invalidValue',
    ]);
    expect((await scim.get(path)).body).toMatchObject({ displayName: 'Same' });
  });

  it('say what they are, and refuse what they do not have', async () => {
    const { body: config } = await scim.get('/ServiceProviderConfig');
    expect(config).toMatchObject({
      patch: { supported: true },
      bulk: { supported: false },
      sort: { supported: false },
      etag: { supported: true },
    });
    const { body: schema } = await scim.get(`/Schemas/${URN.user}`);
    const names = (schema?.['attributes'] as { name: string; required: boolean }[]).map(
      ({ name, required }) => `${name} ${required}`,
    );
    expect(names).toContain('active true');
    expect(names.join()).not.toContain('password');
    expect((await scim.get('/Schemas')).body).toMatchObject({ totalResults: 2 });
    expect((await scim.get('/ResourceTypes/User')).body).toMatchObject({ endpoint: '/Users' });
    for (const path of ['/Schemas', '/ResourceTypes', '/ServiceProviderConfig']) {
      for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
        expect((await scim.send(method, path)).body).toMatchObject({ status: '405' });
      }
    }
    for (const path of ['/.search', '/Users/.search'])
      expect((await scim.post(path, {})).body).toMatchObject({ status: '501' });
  });
});

describe('without a token in the settings', () => {
  const service = sharedService();

  it('there are no routes of SCIM', async () => {
    expect((await new ScimClient(service).get('/Users')).body).toMatchObject({ status: '404' });
  });
});
