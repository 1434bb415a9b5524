import { DataSource } from 'typeorm';
import { people, sharedAdministrator } from '../support/service/administrator.js';
import { apiToken } from '../support/service/api-tokens.js';
import { type Answer, ApiClient, passwordOf, signedUp, signIn } from '../support/service/api-client.js';
import { sharedService } from '../support/service/service.js';

describe('an API token', () => {
  const service = sharedService();
  const boss = sharedAdministrator(service);
  const anonymous = new ApiClient(service);
  let ana: ApiClient & { id: number };
  beforeAll(async () => {
    const { id, access_token } = await signedUp(anonymous, 'ana');
    ana = Object.assign(anonymous.as(access_token), { id });
  });

  const now = () => service.clock.now();
  const inDays = (days: number) => new Date(now().getTime() + days * 86_400_000).toISOString();
  const wish = (change: object = {}) => ({ name: 'nightly', scopes: ['queries'], expires_at: inDays(30), ...change });
  const create = (client: ApiClient, change: object = {}) => client.post('/api/auth/tokens', wish(change));
  const codeOf = ({ status, body }: Answer) => [status, body?.['code']];
  const me = (token: string) => anonymous.as(token).get('/api/auth/me');
  const rows = (text: string) => service.app.get(DataSource).query<Record<string, unknown>[]>(text);

  it('is made, used and revoked; it is shown once, and stored as a digest', async () => {
    const { status, body, headers } = await create(ana, { name: 'nightly report', scopes: ['queries', 'access.read'] });
    const { token, ...shown } = body ?? {};
    expect(status).toBe(201);
    expect(token).toMatch(/^glt_[0-9A-Za-z]{57}$/);
    expect(String(token)).toContain(String(shown['id']));
    expect(headers.get('location')).toBe(`/api/auth/tokens/${String(shown['id'])}`);
    expect(shown).toMatchObject({ name: 'nightly report', scopes: ['queries', 'access.read'], last_used_at: null });
    expect((await ana.get('/api/auth/tokens')).body).toEqual({ items: [shown] });
    expect(JSON.stringify(await rows('SELECT * FROM api_tokens'))).not.toContain(String(token).slice(12));

    expect(await me(String(token))).toMatchObject({ status: 200, body: { id: ana.id, username: 'ana' } });
    expect((await anonymous.as(String(token)).get('/api/queries')).status).toBe(200);
    expect((await anonymous.as(String(token)).get('/api/access/effective')).status).toBe(200);

    expect((await ana.delete(`/api/auth/tokens/${String(shown['id'])}`)).status).toBe(204);
    expect(codeOf(await me(String(token)))).toEqual([401, 'token_invalid']);
    expect((await ana.delete(`/api/auth/tokens/${String(shown['id'])}`)).status).toBe(204);
    expect((await ana.get('/api/auth/tokens')).body).toEqual({ items: [] });
    for (const none of ['00000000', 'x', 'a%00b']) {
      expect((await ana.delete(`/api/auth/tokens/${none}`)).status).toBe(404);
      expect((await boss.delete(`/api/admin/users/${ana.id}/tokens/${none}`)).status).toBe(404);
    }
  });

  it('ends with the password that its owner had, which the answer says', async () => {
    const owner = await signedUp(anonymous, 'changer');
    const client = anonymous.as(owner.access_token);
    const passwords = { current_password: passwordOf('changer'), new_password: 'another one of mine' };
    const { token } = await apiToken(client, now(), 'queries');
    const changed = await client.post('/api/auth/password', passwords);
    expect([changed.status, changed.body]).toEqual([200, { revoked_tokens: 1 }]);
    expect(codeOf(await me(token))).toEqual([401, 'token_invalid']);
    const back = { current_password: passwords.new_password, new_password: passwords.current_password };
    expect((await client.post('/api/auth/password', back)).status).toBe(204);
    const { token: second } = await apiToken(client, now(), 'queries');
    const reset = await boss.post(`/api/admin/users/${owner.id}/one-time-password`);
    expect(reset.body).toMatchObject({ revoked_tokens: 1 });
    expect(codeOf(await me(second))).toEqual([401, 'token_invalid']);
  });

  it('says when it was used last, to the minute', async () => {
    const { id, token } = await apiToken(ana, now(), 'queries');
    const lastUsed = async () => {
      const list = (await ana.get('/api/auth/tokens')).body?.['items'] as { id: string; last_used_at: unknown }[];
      return list.find((each) => each.id === id)?.last_used_at;
    };
    const first = now().toISOString();
    await me(token);
    expect(await lastUsed()).toBe(first);
    service.clock.advance(59);
    await me(token);
    expect(await lastUsed()).toBe(first);
    service.clock.advance(1);
    const second = now().toISOString();
    await me(token);
    expect(await lastUsed()).toBe(second);
  });

  it.each<[string, object, string]>([
    ['no name', { name: '' }, 'name'],
    ['a hidden character in its name', { name: 'a\u202eb' }, 'name'],
    ['no scope', { scopes: [] }, 'scopes'],
    ['an unknown scope', { scopes: ['everything'] }, 'scopes'],
    ['a scope twice', { scopes: ['queries', 'queries'] }, 'scopes'],
    ['no end', { expires_at: null }, 'expires_at'],
    ['an end in the past', { expires_at: '2020-01-01T00:00:00.000Z' }, 'expires_at'],
  ])('is not made with %s', async (_, change, field) => {
    const { status, body } = await create(ana, change);
    expect([status, (body?.['errors'] as { field: string }[])[0]?.field]).toEqual([400, field]);
  });

  it('lives AUTH_TOKEN_MAX_DAYS at most, and is refused as expired then', async () => {
    expect((await create(ana, { expires_at: inDays(366) })).body).toMatchObject({
      errors: [{ field: 'expires_at', message: 'must be at most 365 days from now' }],
    });
    const { body } = await create(ana, { expires_at: new Date(now().getTime() + 60_000).toISOString() });
    const token = String(body?.['token']);
    service.clock.advance(59);
    expect((await me(token)).status).toBe(200);
    service.clock.advance(1);
    expect(codeOf(await me(token))).toEqual([401, 'token_expired']);
  });

  it.each([
    ['of no token', (token: string) => `${token.slice(0, 20)}${token.slice(20).toUpperCase()}`],
    ['cut', (token: string) => token.slice(0, -1)],
    ['alone', () => 'glt_'],
  ])('is refused with the text %s', async (_, other) => {
    const { token } = await apiToken(ana, now(), 'queries');
    const answer = await me(other(token));
    expect(codeOf(answer)).toEqual([401, 'token_invalid']);
    expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="grantline", error="invalid_token"');
  });

  it('is one of 50 at most, however many are asked for at once; expired ones do not count', async () => {
    const bob = anonymous.as((await signedUp(anonymous, 'bob')).access_token);
    for (let made = 0; made < 46; made += 1) expect((await create(bob)).status).toBe(201);
    const answers = await Promise.all(Array.from({ length: 7 }, () => create(bob)));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(4);
    expect(codeOf(await create(bob))).toEqual([409, 'too_many_tokens']);
    const again = await signIn(anonymous, 'bob');
    await rows(
      `UPDATE api_tokens SET expires_at = '2020-01-01' WHERE user_id = (SELECT id FROM users WHERE username = 'bob')`,
    );
    expect((await create(anonymous.as(again.access_token))).status).toBe(201);
    const { items } = (await bob.get('/api/auth/tokens')).body as { items: unknown[] };
    expect(items).toHaveLength(1);
  });

  it('gives nothing that its person may not do: by its scopes, by the role of the moment, by a one-time password', async () => {
    expect(codeOf(await create(ana, { scopes: ['queries', 'admin.read'] }))).toEqual([403, 'administrator_required']);
    const { second } = await people(service, 'second');
    await boss.patch(`/api/admin/users/${second}`, { role: 'admin' });
    const admin = anonymous.as((await signIn(anonymous, 'second')).access_token);
    const client = anonymous.as((await apiToken(admin, now(), 'admin.read')).token);
    expect((await client.get('/api/admin/grants')).status).toBe(200);
    expect((await client.get('/api/queries')).body).toMatchObject({
      code: 'insufficient_scope',
      detail: 'The API token needs the scope queries.',
    });
    expect((await client.get('/api/auth/sessions')).body).toMatchObject({
      code: 'insufficient_scope',
      detail: 'No API token opens this: sign in.',
    });
    await boss.patch(`/api/admin/users/${second}`, { role: 'user' });
    expect(codeOf(await client.get('/api/admin/grants'))).toEqual([403, 'administrator_required']);
    await boss.patch(`/api/admin/users/${second}`, { role: 'admin' });
    await boss.post(`/api/admin/users/${second}/one-time-password`);
    expect(codeOf(await client.get('/api/admin/grants'))).toEqual([401, 'token_invalid']);
  });

  it('is dead with its account, for good', async () => {
    const { access_token, id } = await signedUp(anonymous, 'leaver');
    const { token } = await apiToken(anonymous.as(access_token), now(), 'queries');
    await boss.patch(`/api/admin/users/${id}`, { is_active: false });
    expect(codeOf(await me(token))).toEqual([401, 'token_invalid']);
    await boss.patch(`/api/admin/users/${id}`, { is_active: true });
    expect(codeOf(await me(token))).toEqual([401, 'token_invalid']);
    expect((await signIn(anonymous, 'leaver', passwordOf('leaver'))).access_token).toBeDefined();
  });

  it('is listed and revoked by administrators, too, and by nobody else', async () => {
    const { id, token } = await apiToken(ana, now(), 'queries');
    const { items } = (await boss.get(`/api/admin/users/${ana.id}/tokens`)).body as { items: { id: string }[] };
    expect(items.map((each) => each.id)).toContain(id);
    const { access_token } = await signIn(anonymous, 'bob');
    expect((await anonymous.as(access_token).delete(`/api/auth/tokens/${id}`)).status).toBe(404);
    expect((await boss.get('/api/admin/users/17000/tokens')).status).toBe(404);
    expect((await boss.delete(`/api/admin/users/17000/tokens/${id}`)).status).toBe(404);
    for (let times = 0; times < 2; times += 1) {
      expect((await boss.delete(`/api/admin/users/${ana.id}/tokens/${id}`)).status).toBe(204);
    }
    expect(codeOf(await me(token))).toEqual([401, 'token_invalid']);
  });

  it('of an administrator is counted for an alert: unused for 90 days, or of a longer life than new ones may have', async () => {
    const stale = async () =>
      Number(/^grantline_stale_administrator_tokens (\S+)$/m.exec(await service.metrics())?.[1]);
    const before = (days: number) => `timestamptz '${now().toISOString()}' - interval '${days} days'`;
    const { id, token } = await apiToken(boss, now(), 'admin.read');
    const { id: ofUser } = await apiToken(ana, now(), 'queries');
    const change = (what: string) => rows(`UPDATE api_tokens SET ${what} WHERE id IN ('${id}', '${ofUser}')`);
    for (const [what, count] of [
      [`created_at = ${before(89)}`, 0],
      [`created_at = ${before(90)}`, 1],
      [`last_used_at = ${before(89)}`, 0],
      [`last_used_at = ${before(90)}`, 1],
      [`expires_at = ${before(0)}`, 0],
      [`last_used_at = ${before(1)}, expires_at = ${before(-365)}`, 0],
      [`expires_at = ${before(-366)}`, 1],
    ] as const) {
      await change(what);
      expect([what, await stale()]).toEqual([what, count]);
    }
    await change(`last_used_at = ${before(90)}, expires_at = ${before(-1)}`);
    expect((await me(token)).status).toBe(200);
    expect(await stale()).toBe(0);
  });

  it('is named by the audit trail: made, revoked, and behind every change', async () => {
    const { id, token } = await apiToken(boss, now(), 'admin.write', 'admin.read');
    const client = anonymous.as(token);
    const group = (await client.post('/api/admin/groups', { name: 'by a token' })).body?.['id'];
    await boss.delete(`/api/auth/tokens/${id}`);
    const eventsOf = async (subject: string) =>
      (await boss.get(`/api/admin/audit?subject=${subject}`)).body?.['items'] as object[];
    const name = 'admin.write and admin.read';
    expect(await eventsOf(`group:${String(group)}`)).toMatchObject([
      { event: 'group_created', actor: { name: 'admin', token: { id, name } } },
    ]);
    expect(await eventsOf(`token:${id}`)).toMatchObject([
      { event: 'token_revoked', actor: { name: 'admin', token: null }, subject: { type: 'token', id, name } },
      { event: 'token_created', details: { scopes: ['admin.write', 'admin.read'] }, subject: { id, name } },
    ]);
  });

  it('is named by the audit trail also where all of an account are revoked, but not once it has expired', async () => {
    const owner = await signedUp(anonymous, 'keeper');
    const client = anonymous.as(owner.access_token);
    const revoked = async ({ id }: { id: string }) => {
      const { body } = await boss.get(`/api/admin/audit?event=token_revoked&subject=token:${id}`);
      return (body?.['items'] as { actor: { name: string } }[]).map(({ actor }) => actor.name);
    };
    const [expired, live] = [await apiToken(client, now(), 'queries'), await apiToken(client, now(), 'queries')];
    await rows(`UPDATE api_tokens SET expires_at = '2020-01-01' WHERE id = '${expired.id}'`);
    const passwords = { current_password: passwordOf('keeper'), new_password: 'another one of mine' };
    expect((await client.post('/api/auth/password', passwords)).body).toEqual({ revoked_tokens: 1 });
    const others = [await apiToken(client, now(), 'queries'), await apiToken(client, now(), 'queries')];
    await boss.patch(`/api/admin/users/${owner.id}`, { is_active: false });

    expect(await revoked(expired)).toEqual([]);
    expect(await revoked(live)).toEqual(['keeper']);
    for (const token of others) expect(await revoked(token)).toEqual(['admin']);
  });

  it('may come without a session, password or web client: in the same header, once', async () => {
    const { token } = await apiToken(ana, now(), 'queries');
    const header = (value: string) => anonymous.send('GET', '/api/auth/me', undefined, { Authorization: value });
    expect((await header(`bearer  ${token}`)).status).toBe(200);
    expect((await header(`Bearer ${token}, Bearer ${token}`)).status).toBe(401);
    expect((await header(`Basic ${token}`)).status).toBe(401);
    expect((await anonymous.get(`/api/auth/me?access_token=${token}`)).status).toBe(401);
  });
});
