import { request } from 'node:http';
import { availableParallelism } from 'node:os';
import { Registry } from 'prom-client';
import { DataSource } from 'typeorm';
import { PasswordHasher } from '../../src/auth/password-hasher.js';
import { type Answer, ApiClient, passwordOf, signedUp, signIn, registrant } from '../support/service/api-client.js';
import { sharedService } from '../support/service/service.js';
import { until } from '../support/service/until.js';

const QUEUE = 64;

describe('while too many wait for the hashing threads', () => {
  const service = sharedService({
    AUTH_BCRYPT_COST: '9',
    AUTH_HASH_QUEUE_MAX: String(QUEUE),
    AUTH_THROTTLE_PER_NAME: '2',
    AUTH_THROTTLE_REGISTER_PER_HOUR: '2',
  });
  const anonymous = new ApiClient(service);
  let disperse: () => Promise<unknown>;
  afterEach(() => disperse());

  /** Keeps so many logins, each from another address, waiting or being hashed, until they are aborted. */
  const crowd = (passwords: number): (() => Promise<unknown>) => {
    const hasher = service.app.get(PasswordHasher);
    let crowded = true;
    const crowding = Array.from({ length: passwords }, async (_, at) => {
      const staying = new AbortController().signal;
      while (crowded) await hasher.admit(`198.51.100.${at}`, staying, (hashing) => hashing.hash('x'));
    });
    return () => {
      crowded = false;
      return Promise.all(crowding);
    };
  };
  const metric = async (name: string): Promise<number> => {
    const text = await service.app.get(Registry).getSingleMetricAsString(name);
    return Number(new RegExp(`^${name}(?:_count)? (\\d+)$`, 'm').exec(text)?.[1]);
  };
  const logins = async (): Promise<number> => {
    const sql = `SELECT id FROM audit_events WHERE event = 'login_succeeded'`;
    return (await service.app.get(DataSource).query<unknown[]>(sql)).length;
  };
  const queueLength = async (is: (length: number) => boolean): Promise<void> => {
    await until(async () => is(await metric('grantline_password_hash_queue_length')));
  };
  const login = (): Promise<Answer> =>
    anonymous.post('/api/auth/login', { username: 'ana', password: passwordOf('ana') });

  it('answers 503 to all requests that need one, counts them, logs no failure, and counts no attempt', async () => {
    const ana = await signedUp(anonymous, 'ana');
    disperse = crowd(QUEUE + availableParallelism());

    const change = { current_password: passwordOf('ana'), new_password: 'another password' };
    const attempts = () => [
      login(),
      anonymous.post('/api/auth/register', registrant('bob')),
      anonymous.as(ana.access_token).post('/api/auth/password', change),
    ];
    const answers: Answer[] = [];
    // One after the other: an attempt under way counts until it is turned away.
    for (let attempt = 0; attempt < 3; attempt++) answers.push(...(await Promise.all(attempts())));

    for (const answer of answers) {
      expect([answer.status, answer.body?.['code']]).toEqual([503, 'busy']);
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    }
    expect(await metric('grantline_password_hash_turned_away_total')).toBe(answers.length);
    expect(service.logLines.filter((line) => line.includes('"level":"error"'))).toEqual([]);
    expect((await anonymous.as(ana.access_token).get('/api/auth/me')).status).toBe(200);
    await disperse();
    expect((await login()).status).toBe(200);
    expect((await anonymous.post('/api/auth/register', registrant('bob'))).status).toBe(201);
  });

  it('nothing is hashed for a client that went away', async () => {
    const before = await logins();
    disperse = crowd(QUEUE + availableParallelism() - 1);
    const leaving = request(`${service.url}/api/auth/login`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
    });
    leaving.on('error', () => undefined).end(JSON.stringify({ username: 'ana', password: passwordOf('ana') }));
    await queueLength((length) => length === QUEUE);

    leaving.destroy();

    await queueLength((length) => length < QUEUE);
    expect(service.logLines.filter((line) => line.includes('"level":"error"'))).toEqual([]);
    await disperse();
    await signIn(anonymous, 'ana'); // behind the one that left, had it stayed in the queue
    expect(await logins()).toBe(before + 1);
  });
});
