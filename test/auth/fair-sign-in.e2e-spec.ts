import { availableParallelism } from 'node:os';
import { DataSource } from 'typeorm';
import { PasswordHasher } from '../../src/auth/password-hasher.js';
import { type Answer, ApiClient, passwordOf, signedUp } from '../support/service/api-client.js';
import { sharedService } from '../support/service/service.js';

const QUEUE = 64;
const THREADS = availableParallelism();
const PLACES = QUEUE + THREADS;
const staying = new AbortController().signal;

describe('while one address floods the sign-in', () => {
  const service = sharedService({
    AUTH_BCRYPT_COST: '8',
    AUTH_HASH_QUEUE_MAX: String(QUEUE),
    AUTH_THROTTLE_PER_NAME: String(PLACES * 2),
    AUTH_THROTTLE_PER_ADDRESS: String(PLACES * 2),
    TRUSTED_PROXY_HOPS: '1',
  });
  const anonymous = new ApiClient(service);
  beforeAll(async () => {
    await signedUp(anonymous, 'ana');
    await signedUp(anonymous, 'bob');
  });

  const login = (username: string, address: string, password = passwordOf(username)): Promise<Answer> =>
    anonymous.send('POST', '/api/auth/login', { username, password }, { 'X-Forwarded-For': address });
  const points = async (address: string): Promise<number[]> => {
    const sql = `SELECT points FROM throttle_counters WHERE key LIKE '%:${address}' AND points > 0`;
    return (await service.app.get(DataSource).query<{ points: number }[]>(sql)).map((row) => row.points);
  };
  /** As if so many guesses had been wrong: to hash them all takes minutes beside other suites. */
  const exhaust = (address: string): Promise<unknown> =>
    service.app
      .get(DataSource)
      .query(`UPDATE throttle_counters SET points = $1 WHERE key LIKE '%:' || $2`, [PLACES * 2, address]);

  it('with correct logins, one from elsewhere is next', async () => {
    let answered = 0;
    const flood = Array.from({ length: QUEUE }, () => login('ana', '198.51.100.1').then(() => (answered += 1)));
    await Promise.race(flood);
    const before = answered;

    expect((await login('bob', '203.0.113.7')).status).toBe(200);

    // In the order of their arrival all would come first; those that were hashed already may still be answered before.
    expect(answered - before).toBeLessThanOrEqual(QUEUE / 2);
    await Promise.all(flood);
  });

  it('with more requests than places, an address loses places to other addresses, and no attempts', async () => {
    const flood = Array.from({ length: PLACES + 40 }, () => login('ana', '198.51.100.2'));
    await Promise.race(flood); // those that found no place are the first to be answered

    expect((await login('bob', '203.0.113.8')).status).toBe(200);

    const answers = await Promise.all(flood);
    const busy = answers.filter(({ status }) => status === 503);
    expect(busy.length).toBeGreaterThanOrEqual(10); // connections are read in turns: some places are free again by then
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(answers.length - busy.length);
    for (const { body, headers } of busy) {
      expect([body?.['code'], Number(headers.get('retry-after')) > 0]).toEqual(['busy', true]);
    }
    expect(await points('198.51.100.2')).toEqual([]);
  });

  it('with throttled ones, it takes no place at all', async () => {
    await login('ana', '198.51.100.3', 'a wrong guess');
    await exhaust('198.51.100.3');
    let leave = (): void => undefined;
    const stay = new Promise<void>((resolve) => (leave = resolve));
    const hasher = service.app.get(PasswordHasher);
    const crowd = Array.from({ length: PLACES }, (_, at) => hasher.admit(`192.0.2.${at}`, staying, () => stay));

    const answers = await Promise.all([login('ana', '198.51.100.3'), login('bob', '203.0.113.9')]);

    expect(answers.map(({ status }) => status)).toEqual([429, 503]);
    leave();
    await Promise.all(crowd);
    expect((await login('bob', '203.0.113.9')).status).toBe(200);
  });
});
