import { RegistrationService } from '../../src/auth/registration.service.js';
import { AccessChangesService } from '../../src/users/access-changes.service.js';
import { sharedService } from '../support/service/service.js';
import { ApiClient, passwordOf, signedUp, signIn } from '../support/service/api-client.js';

describe('administration of accounts', () => {
  const service = sharedService();
  const anonymous = new ApiClient(service);
  let boss: ApiClient;
  beforeAll(async () => {
    await service.app
      .get(RegistrationService)
      .createAdministrator({ username: 'boss', email: 'boss@example.org', password: passwordOf('boss') });
    boss = anonymous.as((await signIn(anonymous, 'boss')).access_token);
  });

  const statusOf = async (token: string): Promise<number> => (await anonymous.as(token).get('/api/auth/me')).status;

  it('is for administrators', async () => {
    const ana = await signedUp(anonymous, 'ana');
    const answer = await anonymous.as(ana.access_token).get('/api/admin/users');
    expect([answer.status, answer.body?.['code']]).toEqual([403, 'administrator_required']);
  });

  it('finds people by part of their name or address, role and state, in pages that survive new ones', async () => {
    for (const name of ['find_1', 'find_2', 'find_3', 'findx4']) await signedUp(anonymous, name);
    const names = async (query: string): Promise<unknown> => {
      const { body } = await boss.get(`/api/admin/users?${query}`);
      return (body?.['items'] as { username: string }[]).map(({ username }) => username);
    };

    expect(await names('q=FIND_')).toEqual(['find_1', 'find_2', 'find_3']);
    expect(await names('q=findx4%40example')).toEqual(['findx4']);
    expect(await names('q=find&role=admin')).toEqual([]);
    expect(await names('q=find&is_active=false')).toEqual([]);

    const first = await boss.get('/api/admin/users?q=find&limit=2');
    expect(first.body).toMatchObject({ total: 4 });
    await signedUp(anonymous, 'find_5');
    expect(await names(`q=find&limit=50&after=${String(first.body?.['next'])}`)).toEqual([
      'find_3',
      'findx4',
      'find_5',
    ]);
  });

  it.each(['role=root', 'is_active=yes', 'limit=0', 'limit=201', 'after=x', 'q=a&q=b', 'page=2'])(
    'refuses the query ?%s',
    async (query) => expect((await boss.get(`/api/admin/users?${query}`)).status).toBe(400),
  );

  it.each(['0', '-1', '01', '0x1', '1e0', 'x', '2147483648', '99999999999'])(
    'has no account with the id %s',
    async (id) => expect((await boss.get(`/api/admin/users/${id}`)).status).toBe(404),
  );

  it('lists the sessions of somebody, and ends one', async () => {
    const { id, access_token: token } = await signedUp(anonymous, 'sessions_of');
    const { access_token: other } = await signIn(anonymous, 'sessions_of');
    const path = `/api/admin/users/${id}/sessions`;
    const sessions = async () => (await boss.get(path)).body?.['items'] as { id: string }[];
    const [newest] = await sessions();

    expect(await sessions()).toMatchObject([{ current: false }, { current: false }]);
    expect((await boss.delete(`${path}/${newest?.id.toUpperCase()}`)).status).toBe(204);
    expect([await statusOf(token), await statusOf(other)]).toEqual([200, 401]);
    expect(await sessions()).toHaveLength(1);
    const { body } = await boss.get(`/api/admin/audit?event=session_ended&limit=1`);
    expect(body?.['items']).toMatchObject([{ actor: { name: 'boss' }, subject: { type: 'session', id: newest?.id } }]);
    for (const unknown of [
      `${path}/x`,
      `${path}/${newest?.id.replace(/./g, '0')}`,
      `/api/admin/users/999/sessions/1`,
    ]) {
      expect((await boss.delete(unknown)).status).toBe(404);
    }
    expect((await boss.get('/api/admin/users/999/sessions')).status).toBe(404);
  });

  it('a deactivated account is out at once, and its old sessions do not come back', async () => {
    const carl = await signedUp(anonymous, 'carl');
    const path = `/api/admin/users/${carl.id}`;

    const answer = await boss.patch(path, { is_active: false });

    expect([answer.status, answer.body?.['is_active']]).toEqual([200, false]);
    expect(await statusOf(carl.access_token)).toBe(401);
    expect((await anonymous.post('/api/auth/refresh', { refresh_token: carl.refresh_token })).status).toBe(401);
    const login = (password: string) => anonymous.post('/api/auth/login', { username: 'carl', password });
    expect((await login(passwordOf('carl'))).body?.['code']).toBe('account_deactivated');
    expect((await login('a wrong password')).body?.['code']).toBe('invalid_credentials');

    await boss.patch(path, { is_active: true });
    expect(await statusOf(carl.access_token)).toBe(401);
    expect((await login(passwordOf('carl'))).status).toBe(200);
  });

  it('a deactivation notifies the publisher of the rules', async () => {
    const { id } = await signedUp(anonymous, 'quinn');
    let notifications = 0;
    const unsubscribe = service.app.get(AccessChangesService).subscribe(() => notifications++);
    await boss.patch(`/api/admin/users/${id}`, { is_active: false });
    expect(notifications).toBe(1);
    unsubscribe();
  });

  it('a role holds from the next request on', async () => {
    const dora = await signedUp(anonymous, 'dora');
    const list = () => anonymous.as(dora.access_token).get('/api/admin/users');

    await boss.patch(`/api/admin/users/${dora.id}`, { role: 'admin' });
    expect((await list()).status).toBe(200);
    await boss.patch(`/api/admin/users/${dora.id}`, { role: 'user' });
    expect((await list()).status).toBe(403);
  });

  it('the last active administrator stays, also beside one whose one-time password has expired', async () => {
    const invited = { username: 'never_came', role: 'admin', one_time_password: true };
    expect((await boss.post('/api/admin/users', invited)).status).toBe(201);
    service.clock.advance(86_400);
    boss = anonymous.as((await signIn(anonymous, 'boss')).access_token);
    const id = String((await boss.get('/api/auth/me')).body?.['id']);
    for (const change of [{ role: 'user' }, { is_active: false }]) {
      const answer = await boss.patch(`/api/admin/users/${id}`, change);
      expect([answer.status, answer.body?.['code']]).toEqual([409, 'last_administrator']);
    }
  });

  it('ends the sessions of a user', async () => {
    const emma = await signedUp(anonymous, 'emma');
    expect((await boss.delete(`/api/admin/users/${emma.id}/sessions`)).status).toBe(204);
    expect(await statusOf(emma.access_token)).toBe(401);
    expect((await boss.delete(`/api/admin/users/${emma.id}/sessions`)).status).toBe(204);
    expect((await boss.delete('/api/admin/users/999999/sessions')).status).toBe(404);
  });

  it('a one-time password opens nothing but its own change, for a day', async () => {
    const fred = await signedUp(anonymous, 'fred');
    const made = await boss.post(`/api/admin/users/${fred.id}/one-time-password`);
    const password = String(made.body?.['one_time_password']);

    expect(made.status).toBe(200);
    expect(made.headers.get('cache-control')).toBe('no-store');
    expect(await statusOf(fred.access_token)).toBe(401);
    const tokens = await signIn(anonymous, 'fred', password);
    const me = anonymous.as(tokens.access_token);
    expect((await me.get('/api/auth/me')).status).toBe(200);
    const closed = await me.get('/api/auth/sessions');
    expect([closed.status, closed.body?.['code']]).toEqual([403, 'password_change_required']);
    const change = { current_password: password, new_password: 'one of my own' };
    expect((await me.post('/api/auth/password', change)).status).toBe(204);
    expect((await me.get('/api/auth/sessions')).status).toBe(200);
    expect((await anonymous.post('/api/auth/login', { username: 'fred', password })).status).toBe(401);

    const again = await boss.post(`/api/admin/users/${fred.id}/one-time-password`);
    service.clock.advance(86_400);
    const late = { username: 'fred', password: again.body?.['one_time_password'] };
    expect((await anonymous.post('/api/auth/login', late)).status).toBe(401);
    boss = anonymous.as((await signIn(anonymous, 'boss')).access_token);
  });

  it('leaves a trail that can be filtered, without a secret in it', async () => {
    const gus = await signedUp(anonymous, 'gus');
    await anonymous.post('/api/auth/login', { username: 'gus', password: 'a wrong password' });
    await anonymous.post('/api/auth/login', { username: 'my secret in the wrong field', password: 'whatever it is' });
    await boss.patch(`/api/admin/users/${gus.id}`, { role: 'admin' });
    const events = async (query: string): Promise<Record<string, unknown>[]> =>
      (await boss.get(`/api/admin/audit?${query}`)).body?.['items'] as Record<string, unknown>[];

    const ofGus = await events(`user=${gus.id}`);
    expect(ofGus.map(({ event }) => event)).toEqual([
      'role_changed',
      'login_failed',
      'login_succeeded',
      'account_registered',
    ]);
    expect(ofGus[0]).toMatchObject({
      actor: { name: 'boss' },
      subject: { type: 'user', id: String(gus.id), name: 'gus' },
      address: '127.0.0.1',
      details: { from: 'user', to: 'admin' },
    });
    expect(await events('user=GUS')).toEqual(ofGus);
    expect((await events('user=gus&event=login_failed')).length).toBe(1);
    expect(await events('to=2026-01-01T00:00:00Z')).toEqual([]);
    expect(JSON.stringify(await events('limit=200'))).not.toContain('my secret in the wrong field');
    expect((await boss.get('/api/admin/audit?event=nothing')).status).toBe(400);
    expect((await anonymous.as(gus.access_token).get('/api/admin/audit?limit=1')).status).toBe(200);
  });
});
