import { createHmac } from 'node:crypto';
import { request } from 'node:http';
import { TEST_SECRET } from '../support/service/secrets.js';
import { sharedService, startService } from '../support/service/service.js';
import { type Answer, ApiClient, signedUp, signIn } from '../support/service/api-client.js';
import type { TokenFault } from '../../src/auth/domain/claims.js';
import { until } from '../support/service/until.js';

const encode = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');
const claimsOf = (token: string): Record<string, unknown> =>
  JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as Record<string, unknown>;

/** Signed with the real secret, so that nothing but the form and the claims can be what is wrong. */
function forge(payload: unknown, header: unknown = { alg: 'HS256', typ: 'JWT' }, secret = TEST_SECRET): string {
  const signed = `${encode(header)}.${encode(payload)}`;
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`;
}

describe('an access token', () => {
  const service = sharedService();
  const anonymous = new ApiClient(service);
  let ana: { id: number; access_token: string; refresh_token: string };
  let claims: Record<string, unknown>;
  beforeAll(async () => {
    ana = await signedUp(anonymous, 'ana');
    await signedUp(anonymous, 'bob');
    claims = claimsOf(ana.access_token);
    // Let in before: whatever is remembered of a good token must help none that only looks like it.
    expect(await statusOf(ana.access_token)).toBe(200);
  });

  const statusOf = async (token: string): Promise<number> => (await anonymous.as(token).get('/api/auth/me')).status;

  /** The log line of an answered request; it is written when the connection has taken the answer. */
  const loggedRequest = async (answer: Answer): Promise<unknown> => {
    const line = (): string | undefined =>
      service.logLines.find((logged) => logged.includes(`"request_id":"${String(answer.body?.['request_id'])}"`));
    await until(() => line() !== undefined);
    return JSON.parse(line() ?? '{}');
  };

  it('is the control: forged from the same claims with the real secret it is good', async () => {
    expect(await statusOf(forge(claims))).toBe(200);
    expect(await statusOf(forge(claims, { alg: 'HS256' }))).toBe(200);
  });

  it.each<[string, TokenFault, () => string]>([
    ['with the id of another account', 'session-ended', () => forge({ ...claims, sub: String(ana.id + 1) })],
    ['with an unknown id', 'session-ended', () => forge({ ...claims, sub: '999999' })],
    [
      'with a tampered sub under its old signature',
      'signature',
      () => tampered(ana.access_token, { sub: String(ana.id + 1) }),
    ],
    ['of type refresh', 'type', () => ana.refresh_token],
    ['of no type', 'type', () => forge({ ...claims, type: undefined })],
    [
      'of a session that never was',
      'session-ended',
      () => forge({ ...claims, sid: '00000000-0000-4000-8000-000000000000' }),
    ],
    ['without exp', 'claims', () => forge({ ...claims, exp: undefined })],
    ['from the future', 'not-yet-valid', () => forge({ ...claims, iat: Number(claims['iat']) + 61 })],
    ['for an audience', 'audience', () => forge({ ...claims, aud: 'another service' })],
    ['with crit', 'syntax', () => forge(claims, { alg: 'HS256', typ: 'JWT', crit: ['b64'], b64: false })],
    ['of another typ', 'syntax', () => forge(claims, { alg: 'HS256', typ: 'refresh' })],
    ['with alg none and a good signature', 'syntax', () => forge(claims, { alg: 'none', typ: 'JWT' })],
    ['with alg none and no signature', 'syntax', () => `${encode({ alg: 'none' })}.${encode(claims)}.`],
    ['with alg HS512', 'syntax', () => hs512(claims)],
    ['signed with another secret', 'signature', () => forge(claims, undefined, `${TEST_SECRET}x`)],
    ['signed with the empty secret', 'signature', () => forge(claims, undefined, '')],
    ['with sub twice', 'syntax', () => forge(JSON.stringify(claims).replace('{', '{"sub":"999999",'))],
    ['padded', 'syntax', () => `${ana.access_token}=`],
    ['with another last character for the same signature', 'syntax', () => otherSpelling(ana.access_token)],
    ['with a payload of null', 'syntax', () => forge('null')],
    ['with a payload that is a list', 'syntax', () => forge([claims])],
    ['of 9 KiB', 'syntax', () => forge({ ...claims, x: 'x'.repeat(9 * 1024) })],
    ['with a megabyte of dots', 'syntax', () => '.'.repeat(8000)],
  ])('is refused %s, and the log says why: %s', async (_, reason, token) => {
    const answer = await anonymous.as(token()).get('/api/auth/me');
    expect([answer.status, answer.body?.['code']]).toEqual([401, 'token_invalid']);
    expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="grantline", error="invalid_token"');
    expect(answer.body).not.toHaveProperty('reason');
    expect(await loggedRequest(answer)).toMatchObject({ code: 'token_invalid', reason });
  });

  it.each<[string, string | string[], number, string]>([
    ['in small letters', 'bearer TOKEN', 200, ''],
    ['with two spaces', 'Bearer  TOKEN', 200, ''],
    ['with a word behind', 'Bearer TOKEN x', 401, 'token_invalid'],
    ['with a comma', 'Bearer TOKEN,TOKEN', 401, 'token_invalid'],
    ['without a token', 'Bearer', 401, 'token_invalid'],
    ['of another scheme', 'Basic TOKEN', 401, 'token_missing'],
    ['without a scheme', 'TOKEN', 401, 'token_missing'],
    ['twice', ['Bearer TOKEN', 'Bearer TOKEN'], 401, 'token_invalid'],
    ['once as another scheme and once well', ['Basic x', 'Bearer TOKEN'], 401, 'token_invalid'],
  ])('comes in one Authorization header: %s', async (_, header, status, code) => {
    const lines = [header].flat().map((line) => line.replaceAll('TOKEN', ana.access_token));
    const answer = await withHeaders(`${service.url}/api/auth/me`, ['Authorization', 'X-Other'], lines);
    expect([answer.status, answer.code]).toEqual([status, code]);
  });

  it('comes from nowhere else', async () => {
    const path = `/api/auth/me?access_token=${ana.access_token}`;
    expect((await anonymous.get(path)).status).toBe(401);
    const cookie = await anonymous.send('GET', '/api/auth/me', undefined, {
      Cookie: `access_token=${ana.access_token}`,
    });
    expect(cookie.status).toBe(401);
  });

  it('is let in as often as it comes, and judged anew each time: it expires, and it dies with its session', async () => {
    const other = await signIn(anonymous, 'ana');
    for (const token of [ana.access_token, other.access_token, ana.access_token])
      expect(await statusOf(token)).toBe(200);

    await anonymous.as(other.access_token).post('/api/auth/logout');
    expect((await anonymous.as(other.access_token).get('/api/auth/me')).body?.['code']).toBe('token_invalid');
    expect(await statusOf(ana.access_token)).toBe(200);

    service.clock.advance(30 * 60);
    expect((await anonymous.as(ana.access_token).get('/api/auth/me')).body?.['code']).toBe('token_expired');
  });

  it('of a refresh is refused with a reason in the log, too: another type, used before, a session that has ended', async () => {
    const { access_token, refresh_token } = await signIn(anonymous, 'ana');
    const reasonFor = async (token: string): Promise<unknown> =>
      loggedRequest(await anonymous.post('/api/auth/refresh', { refresh_token: token }));
    expect(await reasonFor(access_token)).toMatchObject({ code: 'token_invalid', reason: 'type' });
    const next = await anonymous.post('/api/auth/refresh', { refresh_token });
    expect(await reasonFor(refresh_token)).toMatchObject({ code: 'token_superseded' });
    service.clock.advance(11);
    expect(await reasonFor(refresh_token)).toMatchObject({ code: 'token_invalid', reason: 'reused' });
    expect(await reasonFor(String(next.body?.['refresh_token']))).toMatchObject({ reason: 'session-ended' });
  });

  it('dies with a change of the key, and the session can only be begun anew', async () => {
    const { access_token, refresh_token } = await signIn(anonymous, 'ana');
    const changed = await startService({ AUTH_SECRET_KEY: `${TEST_SECRET}-another` }, { database: service.database });
    const there = new ApiClient(changed.url);
    try {
      expect((await there.as(access_token).get('/api/auth/me')).status).toBe(401);
      const refresh = await there.post('/api/auth/refresh', { refresh_token });
      expect(refresh.status).toBe(401);
    } finally {
      await changed.stop();
    }
  });
});

function tampered(token: string, change: Record<string, unknown>): string {
  const [header, , signature] = token.split('.');
  return `${String(header)}.${encode({ ...claimsOf(token), ...change })}.${String(signature)}`;
}

function hs512(payload: unknown): string {
  const signed = `${encode({ alg: 'HS512', typ: 'JWT' })}.${encode(payload)}`;
  return `${signed}.${createHmac('sha512', TEST_SECRET).update(signed).digest('base64url')}`;
}

/** 43 characters hold 258 bits for 256: the last one has four spellings. */
function otherSpelling(token: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  return token.slice(0, -1) + (alphabet[alphabet.indexOf(token.slice(-1)) + 1] ?? 'A');
}

/** fetch would join equal headers into one line. */
function withHeaders(url: string, [name = '']: string[], lines: string[]): Promise<{ status: number; code: string }> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { headers: { [name]: lines } }, (answer) => {
      let text = '';
      answer.on('data', (chunk: Buffer) => (text += chunk.toString()));
      answer.on('end', () => {
        const { code = '' } = JSON.parse(text) as { code?: string };
        resolve({ status: answer.statusCode ?? 0, code });
      });
    });
    sent.on('error', reject).end();
  });
}
