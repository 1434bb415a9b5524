import { sharedService } from '../support/service/service.js';
import { ApiClient, passwordOf, signedUp, signIn, registrant } from '../support/service/api-client.js';

describe('sessions and passwords', () => {
  const service = sharedService();
  const anonymous = new ApiClient(service);

  const listed = async (token: string): Promise<Record<string, unknown>[]> => {
    const { body } = await anonymous.as(token).get('/api/auth/sessions');
    return body?.['items'] as Record<string, unknown>[];
  };
  const statusOf = async (token: string): Promise<number> => (await anonymous.as(token).get('/api/auth/me')).status;

  it('lists the live ones of the user, newest first, and marks that of the request', async () => {
    const first = await signedUp(anonymous, 'ana');
    service.clock.advance(60);
    const second = await signIn(anonymous, 'ana');
    await signedUp(anonymous, 'a_stranger');

    const sessions = await listed(first.access_token);

    expect(sessions.map(({ created_at, current }) => [created_at, current])).toEqual([
      ['2026-11-20T12:01:00.000Z', false],
      ['2026-11-20T12:00:00.000Z', true],
    ]);
    expect(sessions[0]).toMatchObject({
      last_used_at: '2026-11-20T12:01:00.000Z',
      expires_at: '2026-12-20T12:01:00.000Z',
      user_agent: 'node',
      address: '127.0.0.1',
    });

    service.clock.advance(60);
    await anonymous.post('/api/auth/refresh', { refresh_token: second.refresh_token });
    expect((await listed(first.access_token))[0]?.['last_used_at']).toBe('2026-11-20T12:02:00.000Z');
  });

  it('lists them in pages', async () => {
    await anonymous.post('/api/auth/register', registrant('paged'));
    const { access_token } = await signIn(anonymous, 'paged');
    for (let more = 0; more < 4; more += 1) await signIn(anonymous, 'paged');
    const me = anonymous.as(access_token);

    const first = await me.get('/api/auth/sessions?limit=3');
    const second = await me.get(`/api/auth/sessions?limit=3&after=${String(first.body?.['next'])}`);

    const ids = [first, second].flatMap(({ body }) => (body?.['items'] as { id: string }[]).map(({ id }) => id));
    expect(new Set(ids).size).toBe(5);
    expect(second.body?.['next']).toBeNull();
  });

  it('ends one, also the second time; what is not one of theirs is not there', async () => {
    const bea = await signedUp(anonymous, 'bea');
    const other = await signIn(anonymous, 'bea');
    const thief = await signedUp(anonymous, 'thief');
    const [newest] = await listed(bea.access_token);
    const path = `/api/auth/sessions/${String(newest?.['id'])}`;

    expect((await anonymous.as(thief.access_token).delete(path)).status).toBe(404);
    expect(await statusOf(other.access_token)).toBe(200);
    expect((await anonymous.as(bea.access_token).delete(path)).status).toBe(204);
    expect(await statusOf(other.access_token)).toBe(401);
    expect((await anonymous.as(bea.access_token).delete(path)).status).toBe(204);
    expect((await anonymous.as(bea.access_token).delete('/api/auth/sessions/no-uuid')).status).toBe(404);
  });

  it('logout-all ends all of the user, and no others', async () => {
    const cleo = await signedUp(anonymous, 'cleo');
    const other = await signIn(anonymous, 'cleo');
    const stranger = await signedUp(anonymous, 'stranger');

    expect((await anonymous.as(cleo.access_token).post('/api/auth/logout-all')).status).toBe(204);

    expect(await statusOf(cleo.access_token)).toBe(401);
    expect(await statusOf(other.access_token)).toBe(401);
    expect(await statusOf(stranger.access_token)).toBe(200);
  });

  it('a session ends after its days, however often it is refreshed', async () => {
    let tokens = await signedUp(anonymous, 'dauer');
    for (let week = 0; week < 4; week += 1) {
      service.clock.advance(6 * 86_400);
      const { body } = await anonymous.post('/api/auth/refresh', { refresh_token: tokens.refresh_token });
      tokens = { ...tokens, ...(body as { access_token: string; refresh_token: string }) };
    }
    service.clock.advance(6 * 86_400 - 1);
    const { body } = await anonymous.post('/api/auth/refresh', { refresh_token: tokens.refresh_token });
    expect(await statusOf(String(body?.['access_token']))).toBe(200);

    service.clock.advance(1);

    expect(await statusOf(String(body?.['access_token']))).toBe(401);
    expect((await anonymous.post('/api/auth/refresh', { refresh_token: body?.['refresh_token'] })).status).toBe(401);
  });

  it('a changed password ends the other sessions', async () => {
    const emil = await signedUp(anonymous, 'emil');
    const other = await signIn(anonymous, 'emil');
    const me = anonymous.as(emil.access_token);

    const wrong = await me.post('/api/auth/password', {
      current_password: 'wrong one',
      new_password: 'a new password',
    });
    const same = await me.post('/api/auth/password', {
      current_password: passwordOf('emil'),
      new_password: passwordOf('emil'),
    });
    const right = await me.post('/api/auth/password', {
      current_password: passwordOf('emil'),
      new_password: 'a new password',
    });

    expect([wrong, same, right].map(({ status, body }) => [status, body?.['code'] ?? null])).toEqual([
      [401, 'invalid_credentials'],
      [400, 'validation_failed'],
      [204, null],
    ]);
    expect(await statusOf(emil.access_token)).toBe(200);
    expect(await statusOf(other.access_token)).toBe(401);
    expect((await anonymous.post('/api/auth/login', { username: 'emil', password: passwordOf('emil') })).status).toBe(
      401,
    );
    expect((await anonymous.post('/api/auth/login', { username: 'emil', password: 'a new password' })).status).toBe(
      200,
    );
  });

  it('a changed address needs the password, and must be free', async () => {
    const { access_token } = await signedUp(anonymous, 'frida');
    const me = anonymous.as(access_token);
    const change = (email: string, current_password: string) => me.patch('/api/auth/me', { email, current_password });

    expect((await change('new@example.org', 'not the password')).status).toBe(401);
    expect((await change('EMIL@example.org', passwordOf('frida'))).body?.['code']).toBe('email_taken');
    const changed = await change('New@example.org', passwordOf('frida'));
    expect([changed.status, changed.body?.['email']]).toEqual([200, 'New@example.org']);
    expect((await me.get('/api/auth/me')).body?.['email']).toBe('New@example.org');
  });
});
