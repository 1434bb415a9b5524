import { administrator } from '../support/service/administrator.js';
import { type Answer, ApiClient, signedUp, signIn, tokensOf } from '../support/service/api-client.js';
import { sharedService } from '../support/service/service.js';
import { until } from '../support/service/until.js';

const HOUR = 3_600;

describe('a clock that jumps by an hour', () => {
  const service = sharedService({
    AUTH_THROTTLE_PER_NAME: '2',
    ACL_SYNC_ENABLED: 'true',
    ACL_SYNC_CRON: '* * * * * *',
  });
  const anonymous = new ApiClient(service);
  let admin: ApiClient;
  beforeAll(async () => {
    admin = await administrator(service);
  });

  const refresh = (refresh_token: string): Promise<Answer> => anonymous.post('/api/auth/refresh', { refresh_token });
  const grant = (client: ApiClient, catalog: string, expires_at: string | null = null): Promise<Answer> =>
    client.post('/api/admin/grants', {
      principal: { type: 'user', id: 1 },
      resource: { catalog },
      privileges: ['SELECT'],
      ...(expires_at === null ? {} : { expires_at }),
    });
  const code = ({ status, body }: Answer): unknown => [status, body?.['code'] ?? null];
  /** A scheduled run may be under way. */
  const synced = (): Promise<void> => until(async () => (await admin.post('/api/admin/acl/sync')).status === 200);
  const published = async (client: ApiClient): Promise<string> => {
    const { body } = await client.get('/api/admin/acl/status');
    const { version } = body?.['published'] as { version: number };
    return String((await client.get(`/api/admin/acl/publications/${version}`)).body?.['text']);
  };

  it('forwards: access tokens and grants that ended end, sessions and everything else go on', async () => {
    const ana = await signedUp(anonymous, 'ana');
    await grant(admin, 'amber');
    await grant(admin, 'brick', new Date(service.clock.now().getTime() + 1_800_000).toISOString());

    service.clock.advance(HOUR);
    expect(code(await anonymous.as(ana.access_token).get('/api/auth/me'))).toEqual([401, 'token_expired']);
    const next = tokensOf(await refresh(ana.refresh_token));
    expect((await anonymous.as(next.access_token).get('/api/auth/me')).status).toBe(200);
    admin = anonymous.as((await signIn(anonymous, 'admin')).access_token);
    await synced();
    expect(await published(admin)).toContain('amber');
    expect(await published(admin)).not.toContain('brick');
  });

  it('backwards: tokens from the time ahead are refused, a new sign-in works, and they are good again when it comes', async () => {
    const bo = await signedUp(anonymous, 'bo_');

    service.clock.advance(-HOUR);
    expect(code(await anonymous.as(bo.access_token).get('/api/auth/me'))).toEqual([401, 'token_invalid']);
    expect(code(await refresh(bo.refresh_token))).toEqual([401, 'token_invalid']);
    const now = await signIn(anonymous, 'bo_');
    expect((await anonymous.as(now.access_token).get('/api/auth/me')).status).toBe(200);
    expect((await refresh(now.refresh_token)).status).toBe(200);
    admin = anonymous.as((await signIn(anonymous, 'admin')).access_token);
    expect((await grant(admin, 'cedar')).status).toBe(201);
    await synced();
    expect(await published(admin)).toContain('cedar');

    service.clock.advance(HOUR);
    expect((await anonymous.as(bo.access_token).get('/api/auth/me')).status).toBe(200);
  });

  it('in either direction gives no more guesses, and locks no user out for longer: throttling is by the database', async () => {
    await signedUp(anonymous, 'cleo');
    const guess = (): Promise<Answer> =>
      anonymous.post('/api/auth/login', { username: 'cleo', password: 'a wrong guess' });
    await guess();
    await guess();
    for (const jump of [HOUR, -2 * HOUR]) {
      service.clock.advance(jump);
      const refused = await guess();
      expect(code(refused)).toEqual([429, 'too_many_requests']);
      expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(900);
    }
  });

  it('of the machine does not stop the schedule', async () => {
    const real = Date.now.bind(Date);
    const lastRun = async (): Promise<unknown> => (await admin.get('/api/admin/acl/status')).body?.['last_run_at'];
    admin = anonymous.as((await signIn(anonymous, 'admin')).access_token);
    try {
      for (const jump of [HOUR, -HOUR]) {
        Date.now = () => real() + jump * 1000;
        service.clock.advance(1);
        const before = await lastRun();
        await until(async () => (await lastRun()) !== before);
      }
    } finally {
      Date.now = real;
    }
  });
});
