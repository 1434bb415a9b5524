import { sharedService } from '../support/service/service.js';
import { ApiClient, passwordOf, signedUp, signIn, registrant, tokensOf } from '../support/service/api-client.js';

describe('the four routes of the source document', () => {
  const service = sharedService();
  const anonymous = new ApiClient(service);

  it('register answers 201 with the user and never with the password', async () => {
    const answer = await anonymous.post('/api/auth/register', registrant('Ana_1', { email: 'Ana@Example.org' }));

    expect(answer.status).toBe(201);
    expect(answer.headers.get('location')).toBe('/api/auth/me');
    expect(answer.body).toEqual({
      id: expect.any(Number) as number,
      username: 'Ana_1',
      email: 'Ana@Example.org',
      role: 'user',
      is_active: true,
      created_at: '2026-11-20T12:00:00.000Z',
    });
  });

  it('register answers 409 for a name or an address in any case, the name first', async () => {
    await anonymous.post('/api/auth/register', registrant('taken'));

    const name = await anonymous.post('/api/auth/register', registrant('TAKEN', { email: 'free@example.org' }));
    const address = await anonymous.post('/api/auth/register', registrant('free', { email: 'TAKEN@example.ORG' }));
    const both = await anonymous.post('/api/auth/register', registrant('Taken', { email: 'taken@example.org' }));

    expect([name, address, both].map(({ status, body }) => [status, body?.['code']])).toEqual([
      [409, 'username_taken'],
      [409, 'email_taken'],
      [409, 'username_taken'],
    ]);
    expect(name.headers.get('location')).toBeNull();
  });

  it('register names everything that is wrong at once', async () => {
    const answer = await anonymous.post('/api/auth/register', { username: 'a b', password: 'short', admin: true });

    expect(answer.status).toBe(400);
    expect(answer.body?.['errors']).toEqual([
      { field: 'admin', message: 'is not a known field' },
      { field: 'username', message: 'must consist of letters, digits and underscores' },
      { field: 'email', message: 'is required' },
      { field: 'password', message: 'must be 8 to 128 characters long' },
    ]);
  });

  it('login answers 200 with a pair, in any case of the name, and nothing may store it', async () => {
    await anonymous.post('/api/auth/register', registrant('bo'.repeat(2)));

    const answer = await anonymous.post('/api/auth/login', { username: 'BOBO', password: passwordOf('bobo') });

    expect(answer.status).toBe(200);
    expect(Object.keys(answer.body ?? {})).toEqual(['access_token', 'refresh_token', 'token_type', 'expires_in']);
    expect(answer.body).toMatchObject({ token_type: 'bearer', expires_in: 1_800 });
    expect(answer.headers.get('cache-control')).toBe('no-store');
  });

  it('login answers the same to a wrong password and to an unknown user', async () => {
    await anonymous.post('/api/auth/register', registrant('carla'));

    const wrong = await anonymous.post('/api/auth/login', { username: 'carla', password: 'not the password' });
    const unknown = await anonymous.post('/api/auth/login', {
      username: 'an unknown name',
      password: 'not the password',
    });

    for (const answer of [wrong, unknown]) {
      expect(answer.status).toBe(401);
      expect(answer.body?.['code']).toBe('invalid_credentials');
      expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="grantline"');
    }
  });

  it('me answers with the user of the token', async () => {
    const dora = await signedUp(anonymous, 'dora');

    const answer = await anonymous.as(dora.access_token).get('/api/auth/me');

    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({ id: dora.id, username: 'dora', role: 'user' });
  });

  it('me wants an access token: 401 for none, for a refresh token, and for one that is past its time', async () => {
    const edda = await signedUp(anonymous, 'edda');

    const none = await anonymous.get('/api/auth/me');
    const refresh = await anonymous.as(edda.refresh_token).get('/api/auth/me');
    service.clock.advance(30 * 60);
    const late = await anonymous.as(edda.access_token).get('/api/auth/me');

    expect([none, refresh, late].map(({ status, body }) => [status, body?.['code']])).toEqual([
      [401, 'token_missing'],
      [401, 'token_invalid'],
      [401, 'token_expired'],
    ]);
    expect(none.headers.get('www-authenticate')).toBe('Bearer realm="grantline"');
    expect(late.headers.get('www-authenticate')).toBe('Bearer realm="grantline", error="invalid_token"');
  });

  it('refresh hands out a new pair, once', async () => {
    const first = await signedUp(anonymous, 'finn');

    const answer = await anonymous.post('/api/auth/refresh', { refresh_token: first.refresh_token });
    const second = tokensOf(answer);
    const replay = await anonymous.post('/api/auth/refresh', { refresh_token: first.refresh_token });

    expect(answer.status).toBe(200);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(second.refresh_token).not.toBe(first.refresh_token);
    expect(second.access_token).not.toBe(first.access_token);
    expect([replay.status, replay.body?.['code']]).toEqual([401, 'token_superseded']);
    expect((await anonymous.as(second.access_token).get('/api/auth/me')).status).toBe(200);
  });

  it('a replay after ten seconds ends the session and its access tokens', async () => {
    const first = await signedUp(anonymous, 'gero');
    const second = tokensOf(await anonymous.post('/api/auth/refresh', { refresh_token: first.refresh_token }));
    service.clock.advance(10);

    await anonymous.post('/api/auth/refresh', { refresh_token: first.refresh_token });

    expect((await anonymous.post('/api/auth/refresh', { refresh_token: second.refresh_token })).status).toBe(401);
    expect((await anonymous.as(second.access_token).get('/api/auth/me')).status).toBe(401);
  });

  it('refresh takes no access token, and none that is past its time', async () => {
    const tokens = await signedUp(anonymous, 'hanna');

    const access = await anonymous.post('/api/auth/refresh', { refresh_token: tokens.access_token });
    service.clock.advance(7 * 86_400);
    const late = await anonymous.post('/api/auth/refresh', { refresh_token: tokens.refresh_token });

    expect([access, late].map(({ status, body }) => [status, body?.['code']])).toEqual([
      [401, 'token_invalid'],
      [401, 'token_expired'],
    ]);
  });

  it('logout ends the session at once', async () => {
    const tokens = await signedUp(anonymous, 'ilse');
    const other = await signIn(anonymous, 'ilse');

    const answer = await anonymous.as(tokens.access_token).post('/api/auth/logout');

    expect(answer.status).toBe(204);
    expect((await anonymous.as(tokens.access_token).get('/api/auth/me')).status).toBe(401);
    expect((await anonymous.post('/api/auth/refresh', { refresh_token: tokens.refresh_token })).status).toBe(401);
    expect((await anonymous.as(other.access_token).get('/api/auth/me')).status).toBe(200);
  });
});
