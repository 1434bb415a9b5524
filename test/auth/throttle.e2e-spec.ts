import { DataSource } from 'typeorm';
import { Throttle } from '../../src/auth/throttle.store.js';
import { MaintenanceService } from '../../src/auth/maintenance.service.js';
import { freshDatabase, type TestDatabase } from '../support/database/database.js';
import { startService, type TestService } from '../support/service/service.js';
import { type Answer, ApiClient, passwordOf, signedUp, registrant } from '../support/service/api-client.js';

const LIMITS = {
  AUTH_THROTTLE_PER_NAME: '3',
  AUTH_THROTTLE_PER_ADDRESS: '8',
  AUTH_THROTTLE_REGISTER_PER_HOUR: '20',
  TRUSTED_PROXY_HOPS: '1',
};

describe('throttling', () => {
  let database: TestDatabase;
  let replicas: TestService[];
  let anonymous: ApiClient;
  let addresses = 0;
  beforeAll(async () => {
    database = await freshDatabase();
    replicas = [await startService(LIMITS, { database }), await startService(LIMITS, { database })];
    anonymous = new ApiClient(replicas[0]?.url ?? '');
    for (const name of ['ana', 'bob', 'cleo']) await signedUp(anonymous, name);
  });
  afterAll(async () => {
    await Promise.all(replicas.map((replica) => replica.stop()));
    await database.drop();
  });

  const newAddress = (): string => `198.51.100.${(addresses += 1)}`;
  const service = (at: number): TestService => {
    const replica = replicas[at];
    if (replica === undefined) throw new Error(`there is no replica ${at}`);
    return replica;
  };
  const query = (sql: string): Promise<unknown> => service(0).app.get(DataSource).query(sql);
  const login = (username: string, password: string, forwarded: string, replica = 0): Promise<Answer> =>
    new ApiClient(replicas[replica]?.url ?? '').send(
      'POST',
      '/api/auth/login',
      { username, password },
      {
        'X-Forwarded-For': forwarded,
      },
    );
  const guess = (username: string, address: string): Promise<Answer> => login(username, 'a wrong guess', address);

  it('refuses the fourth guess, also the right one, with a Retry-After', async () => {
    const address = newAddress();
    for (let tries = 0; tries < 3; tries += 1) expect((await guess('ana', address)).status).toBe(401);

    const answer = await login('ANA', passwordOf('ana'), address);

    expect([answer.status, answer.body?.['code']]).toEqual([429, 'too_many_requests']);
    const retryAfter = Number(answer.headers.get('retry-after'));
    expect(retryAfter).toBeGreaterThan(600);
    expect(retryAfter).toBeLessThanOrEqual(900);
    expect(answer.headers.get('ratelimit-policy')).toBe('"login-name";q=3;w=900');
    expect(answer.headers.get('ratelimit')).toBe(`"login-name";r=0;t=${retryAfter}`);
  });

  it('does not lock a user out from another address', async () => {
    const thief = newAddress();
    for (let tries = 0; tries < 5; tries += 1) await guess('ana', thief);
    expect((await login('ana', passwordOf('ana'), newAddress())).status).toBe(200);
  });

  it('does not reveal which users exist', async () => {
    const address = newAddress();
    const answers: Answer[] = [];
    for (let tries = 0; tries < 4; tries += 1) answers.push(await guess('who_is_that', address));
    expect(answers.map(({ status }) => status)).toEqual([401, 401, 401, 429]);
  });

  it('counts the spellings of one name together', async () => {
    const address = newAddress();
    const answers: Answer[] = [];
    for (const name of ['Großé', 'GROSSÉ', 'grosse\u0301', 'großé']) answers.push(await guess(name, address));
    expect(answers.map(({ status }) => status)).toEqual([401, 401, 401, 429]);
  });

  it('admits no more guesses when they are concurrent, on two replicas', async () => {
    const address = newAddress();

    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, at) => login('bob', 'a wrong guess', address, at % 2)),
    );

    const statuses = answers.map(({ status }) => status).sort();
    expect(statuses).toEqual([...Array<number>(3).fill(401), ...Array<number>(37).fill(429)]);
  });

  it('a success forgets that name, and buys no tries on others', async () => {
    const address = newAddress();
    await guess('ana', address);
    await guess('ana', address);
    for (let times = 0; times < 3; times += 1) {
      expect((await login('ana', passwordOf('ana'), address)).status).toBe(200);
    }
    // Two of eight are used on this address, and the three successes took themselves back.
    const statuses: number[] = [];
    for (const name of ['bob', 'bob', 'bob', 'cleo', 'cleo', 'cleo', 'dora']) {
      statuses.push((await guess(name, address)).status);
    }
    expect(statuses).toEqual([401, 401, 401, 401, 401, 401, 429]);
  });

  it('guesses that their own name refuses do not use up the address', async () => {
    const address = newAddress();
    for (let tries = 0; tries < 20; tries += 1) await guess('ana', address);
    expect((await login('cleo', passwordOf('cleo'), address)).status).toBe(200);
  });

  it('knows the address by the exact number of proxies: what the client writes itself does not count', async () => {
    const address = newAddress();
    const statuses: number[] = [];
    for (let tries = 0; tries < 4; tries += 1) {
      statuses.push((await guess('ana', `203.0.113.${tries}, ${address}`)).status);
    }
    expect(statuses).toEqual([401, 401, 401, 429]);
  });

  it('counts passwords within a session like those of a sign-in', async () => {
    const { access_token } = await signedUp(anonymous, 'dieter');
    const change = () =>
      anonymous.as(access_token).post('/api/auth/password', {
        current_password: 'a wrong guess',
        new_password: 'another password',
      });
    const statuses: number[] = [];
    for (let tries = 0; tries < 4; tries += 1) statuses.push((await change()).status);
    expect(statuses).toEqual([401, 401, 401, 429]);
  });

  it('ends with its window, and what is past is swept', async () => {
    const address = newAddress();
    for (let tries = 0; tries < 4; tries += 1) await guess('ana', address);
    await query('UPDATE throttle_counters SET expire = expire - 900000');

    expect((await login('ana', passwordOf('ana'), address)).status).toBe(200);

    await query('UPDATE throttle_counters SET expire = 0');
    await replicas[0]?.app.get(MaintenanceService).sweep();
    expect(await query('SELECT * FROM throttle_counters')).toEqual([]);
  });

  it('writes nothing once an address or a name is exhausted, whatever names are tried', async () => {
    const address = newAddress();
    for (let tries = 0; tries < 9; tries += 1) await guess(`name_${tries}`, address);
    const other = newAddress();
    for (let tries = 0; tries < 4; tries += 1) await guess('ana', other);
    const written = () => query('SELECT *, ctid::text, xmin::text, xmax::text FROM throttle_counters ORDER BY key');
    const before = await written();

    for (let tries = 0; tries < 20; tries += 1) {
      expect((await guess(`another_${tries}`, address)).status).toBe(429);
      expect((await guess('ana', other)).status).toBe(429);
    }

    expect(await written()).toEqual(before);
  });

  it('what was counted before a window ended is not given back to the next one', async () => {
    const address = newAddress();
    const throttle = service(0).app.get(Throttle);
    const counted = async () => {
      const attempt = await throttle.countLogin('ana', address);
      if (attempt.kind !== 'counted') throw new Error('it was to be counted');
      return attempt;
    };
    const past = [await counted(), await counted()] as const;
    await query('UPDATE throttle_counters SET expire = expire - 900000');
    await counted();
    const points = () => query(`SELECT points FROM throttle_counters WHERE key LIKE '%${address}'`);
    expect(await points()).toEqual([{ points: 1 }, { points: 1 }]);

    await throttle.recordSuccess(past[0]);
    await throttle.takeBack(past[1]);

    expect(await points()).toEqual([{ points: 1 }, { points: 1 }]);
  });

  it('is written down once in a window', async () => {
    const address = newAddress();
    for (let tries = 0; tries < 8; tries += 1) await guess('erna', address);
    const events = await query(
      `SELECT event, details FROM audit_events WHERE address = '${address}' AND event = 'login_throttled'`,
    );
    expect(events).toEqual([{ event: 'login_throttled', details: { limit: 'login-name' } }]);
  });

  it('of guesses with a session is written down as that of sign-ins is, and each guess', async () => {
    const address = newAddress();
    const { access_token } = (await login('cleo', passwordOf('cleo'), address)).body as { access_token: string };
    const cleo = anonymous.as(access_token);
    const attempts = [
      ['POST', '/api/auth/password', { current_password: 'a guess', new_password: passwordOf('new') }],
      ['PATCH', '/api/auth/me', { current_password: 'a guess', email: 'thief@example.org' }],
      ['POST', '/api/auth/console-session/confirm', { password: 'a guess' }],
      ['POST', '/api/auth/console-session/confirm', { password: passwordOf('cleo') }],
    ] as const;
    const statuses: number[] = [];
    for (const [method, path, body] of attempts)
      statuses.push((await cleo.send(method, path, body, { 'X-Forwarded-For': address })).status);
    expect([...statuses, (await guess('cleo', address)).status]).toEqual([401, 401, 401, 429, 429]);

    const wrong = { event: 'login_failed', name: 'cleo', details: { by: 'confirm', reason: 'invalid_credentials' } };
    expect(
      await query(
        `SELECT event, subject_name AS name, details FROM audit_events
         WHERE address = '${address}' AND event <> 'login_succeeded' ORDER BY id`,
      ),
    ).toEqual([
      ...Array<unknown>(3).fill(wrong),
      { event: 'login_throttled', name: null, details: { limit: 'login-name' } },
    ]);
  });

  it('limits registrations per address', async () => {
    const address = newAddress();
    const register = (username: string) =>
      anonymous.send('POST', '/api/auth/register', registrant(username), { 'X-Forwarded-For': address });
    for (let count = 0; count < 20; count += 1) expect((await register(`flood_${count}`)).status).toBe(201);
    expect((await register('flood_20')).status).toBe(429);
  });
});
