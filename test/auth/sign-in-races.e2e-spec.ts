import { hashSync } from 'bcryptjs';
import type { Client } from 'pg';
import { DataSource } from 'typeorm';
import { sharedAdministrator } from '../support/service/administrator.js';
import { type Answer, ApiClient, passwordOf, signedUp, type Tokens, tokensOf } from '../support/service/api-client.js';
import { duringTransaction } from '../support/database/concurrent-transaction.js';
import { sharedService } from '../support/service/service.js';
import { throughLockBarrier } from './lock-barrier.js';

const COST = 5;

type Person = Tokens & { id: number; name: string };

/** The concurrent transaction holds what the request has already read, and commits once the request waits for it. */
describe('a password that was right when it was read', () => {
  const service = sharedService({ AUTH_BCRYPT_COST: String(COST) });
  const boss = sharedAdministrator(service);
  const anonymous = new ApiClient(service);
  let people = 0;

  const person = async (): Promise<Person> => {
    people += 1;
    const name = `person_${people}`;
    return { ...(await signedUp(anonymous, name)), name };
  };
  const login = (name: string, password = passwordOf(name)): Promise<Answer> =>
    anonymous.post('/api/auth/login', { username: name, password });
  const query = (sql: string, values: unknown[] = []): Promise<object[]> =>
    service.app.get(DataSource).query<object[]>(sql, values);
  const activeSessions = async (id: number): Promise<number> =>
    (await query('SELECT FROM sessions WHERE user_id = $1 AND ended_at IS NULL', [id])).length;
  const setHash = (other: Client, id: number, password: string) =>
    other.query('UPDATE users SET password_hash = $2 WHERE id = $1', [id, hashSync(password, COST)]);
  const endSessions = (other: Client, id: number) =>
    other.query('UPDATE sessions SET ended_at = now() WHERE user_id = $1', [id]);

  it('makes no session when it was changed meanwhile', async () => {
    const { id, name } = await person();

    const answer = await duringTransaction(service.database.url, async (other) => {
      await setHash(other, id, 'another password');
      await endSessions(other, id);
      return () => login(name);
    });

    expect([answer.status, answer.body?.['code']]).toEqual([401, 'invalid_credentials']);
    expect(await activeSessions(id)).toBe(0);
    expect((await login(name, 'another password')).status).toBe(200);
  });

  it('makes no session for an account that was deactivated meanwhile, to revive when it is active again', async () => {
    const { id, name } = await person();

    const answer = await duringTransaction(service.database.url, async (other) => {
      await other.query('UPDATE users SET is_active = false WHERE id = $1', [id]);
      await endSessions(other, id);
      return () => login(name);
    });

    expect([answer.status, answer.body?.['code']]).toEqual([403, 'account_deactivated']);
    expect(await activeSessions(id)).toBe(0);
  });

  it('still signs in when another sign-in renewed its hash meanwhile', async () => {
    const { id, name } = await person();
    const oldCost = hashSync(passwordOf(name), COST - 1);
    await query('UPDATE users SET password_hash = $2 WHERE id = $1', [id, oldCost]);

    const answer = await duringTransaction(service.database.url, async (other) => {
      await setHash(other, id, passwordOf(name));
      return () => login(name);
    });

    expect(answer.status).toBe(200);
  });

  it.each([
    ['password', 'replaced', { password_hash: hashSync('another password', COST) }, 'invalid_credentials'],
    ['password', 'deactivated', { is_active: false }, 'token_invalid'],
    ['e-mail', 'replaced', { password_hash: hashSync('another password', COST) }, 'invalid_credentials'],
    ['e-mail', 'deactivated', { is_active: false }, 'token_invalid'],
  ])('changes no %s when it was %s meanwhile', async (what, _, update, code) => {
    const { id, name, access_token } = await person();
    const before = await query('SELECT email, password_hash FROM users WHERE id = $1', [id]);
    const me = anonymous.as(access_token);

    const answer = await duringTransaction(service.database.url, async (other) => {
      for (const [column, value] of Object.entries(update)) {
        await other.query(`UPDATE users SET ${column} = $2 WHERE id = $1`, [id, value]);
      }
      const current_password = passwordOf(name);
      return what === 'password'
        ? () => me.post('/api/auth/password', { current_password, new_password: 'the password of a thief' })
        : () => me.patch('/api/auth/me', { current_password, email: `thief_${id}@example.org` });
    });

    expect([answer.status, answer.body?.['code']]).toEqual([401, code]);
    expect(await query('SELECT email, password_hash FROM users WHERE id = $1', [id])).toEqual([
      { ...before[0], ...('password_hash' in update ? update : {}) },
    ]);
  });

  it('makes no API token for who keeps a session that ends with it', async () => {
    const { id, access_token } = await person();
    const expires_at = new Date(service.clock.now().getTime() + 86_400_000).toISOString();

    const answer = await duringTransaction(service.database.url, async (other) => {
      await setHash(other, id, 'another password');
      await endSessions(other, id);
      const wish = { name: 'of a thief', scopes: ['queries'], expires_at };
      return () => anonymous.as(access_token).post('/api/auth/tokens', wish);
    });

    expect([answer.status, answer.body?.['code']]).toEqual([401, 'token_invalid']);
    expect(await query('SELECT FROM api_tokens WHERE user_id = $1', [id])).toEqual([]);
  });

  const changes = {
    changed: ({ name, access_token }: Person) =>
      anonymous.as(access_token).post('/api/auth/password', {
        current_password: passwordOf(name),
        new_password: 'another password',
      }),
    'replaced by a one-time password': ({ id }: Person) => boss.post(`/api/admin/users/${id}/one-time-password`),
    deactivated: ({ id }: Person) => boss.patch(`/api/admin/users/${id}`, { is_active: false }),
  };

  it.each(Object.entries(changes))('leaves no session when it is %s while one is stored', async (_, change) => {
    const ana = await person();
    const earlier = await login(ana.name);

    // Neither can commit before its event is recorded.
    const [signedIn, changed] = await throughLockBarrier(
      service,
      'LOCK TABLE audit_events IN EXCLUSIVE MODE',
      2,
      () => {
        const storing = login(ana.name);
        return [storing, lockWaits(1).then(() => change(ana))];
      },
    );

    expect(signedIn?.status).toBe(200);
    expect(changed?.status).toBeLessThan(300);
    for (const { access_token, refresh_token } of [tokensOf(earlier), tokensOf(signedIn)]) {
      expect((await anonymous.as(access_token).get('/api/auth/me')).status).toBe(401);
      expect((await anonymous.post('/api/auth/refresh', { refresh_token })).status).toBe(401);
    }
  });

  const lockWaits = async (least: number): Promise<void> => {
    const waiting = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    while ((await query(waiting)).length < least);
  };
});
