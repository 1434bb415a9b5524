import { DataSource } from 'typeorm';
import { MaintenanceService } from '../../src/auth/maintenance.service.js';
import { sharedService } from '../support/service/service.js';
import { type Answer, ApiClient, signedUp, signIn, tokensOf } from '../support/service/api-client.js';
import { throughLockBarrier } from './lock-barrier.js';

describe('refreshes at once', () => {
  const service = sharedService({ DATABASE_POOL_MAX: '60' });
  const anonymous = new ApiClient(service);

  const refresh = (refresh_token: string): Promise<Answer> => anonymous.post('/api/auth/refresh', { refresh_token });
  const query = (sql: string): Promise<unknown> => service.app.get(DataSource).query(sql);

  it('of fifty exactly one succeeds, the others end nothing, and a replay later ends the session', async () => {
    const { refresh_token } = await signedUp(anonymous, 'ana');

    // Held back until each of them has seen the token alive, so that all fifty really meet at the update.
    const answers = await throughLockBarrier(service, 'SELECT FROM refresh_tokens FOR UPDATE', 50, () =>
      Array.from({ length: 50 }, () => refresh(refresh_token)),
    );

    const [won, ...others] = answers.filter(({ status }) => status === 200);
    expect(others).toEqual([]);
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(49);
    const second = tokensOf(won);
    expect((await anonymous.as(second.access_token).get('/api/auth/me')).status).toBe(200);
    const third = tokensOf(await refresh(second.refresh_token));

    service.clock.advance(11);
    expect((await refresh(refresh_token)).status).toBe(401);
    expect((await refresh(third.refresh_token)).status).toBe(401);
    expect((await anonymous.as(third.access_token).get('/api/auth/me')).status).toBe(401);
    expect(await query(`SELECT count(*)::int FROM audit_events WHERE event = 'refresh_reused'`)).toEqual([
      { count: 1 },
    ]);
  });

  it('a grandparent ends the session at once', async () => {
    const first = await signedUp(anonymous, 'bob');
    const second = tokensOf(await refresh(first.refresh_token));
    const third = tokensOf(await refresh(second.refresh_token));

    expect((await refresh(first.refresh_token)).status).toBe(401);

    expect((await refresh(third.refresh_token)).status).toBe(401);
  });

  it('the end of one session leaves the user’s others alone', async () => {
    const stolen = await signedUp(anonymous, 'cleo');
    const other = await signIn(anonymous, 'cleo');
    await refresh(stolen.refresh_token);
    service.clock.advance(11);
    await refresh(stolen.refresh_token);
    expect((await refresh(other.refresh_token)).status).toBe(200);
  });

  it('a family has one live token, whatever a statement tries', async () => {
    await signedUp(anonymous, 'dora');
    await expect(
      query(`INSERT INTO refresh_tokens (id, session_id, issued_at, expires_at)
             SELECT '\\x00', session_id, issued_at, expires_at FROM refresh_tokens WHERE used_at IS NULL LIMIT 1`),
    ).rejects.toThrow('refresh_tokens_one_live_per_session');
  });

  it('stores no token, and nothing of the name of one', async () => {
    const { refresh_token } = await signedUp(anonymous, 'edda');
    const { jti } = JSON.parse(Buffer.from(refresh_token.split('.')[1] ?? '', 'base64url').toString()) as {
      jti: string;
    };
    const rows = JSON.stringify(await query('SELECT *, encode(id, $$escape$$) AS text FROM refresh_tokens'));
    expect(rows).not.toContain(jti);
    expect(rows).not.toContain(refresh_token);
  });

  it('what is past its time is swept, and what is alive is not', async () => {
    const { refresh_token } = await signedUp(anonymous, 'fred');
    service.clock.advance(5 * 86_400);
    const young = await signIn(anonymous, 'fred');
    service.clock.advance(4 * 86_400);
    await service.app.get(MaintenanceService).sweep();
    expect((await refresh(young.refresh_token)).status).toBe(200);
    expect((await refresh(refresh_token)).status).toBe(401);

    service.clock.advance(40 * 86_400);
    await service.app.get(MaintenanceService).sweep();
    expect(await query('SELECT count(*)::int FROM sessions')).toEqual([{ count: 0 }]);
    expect(await query('SELECT count(*)::int FROM refresh_tokens')).toEqual([{ count: 0 }]);
  });
});
