import { availableParallelism } from 'node:os';
import { Registry } from 'prom-client';
import { PasswordHasher } from '../../src/auth/password-hasher.js';
import { HealthRegistry } from '../../src/platform/operations/health.js';
import { parseSettings } from '../../src/platform/settings/settings-parser.js';
import { TEST_SECRET } from '../support/service/secrets.js';

const QUEUE = 64;
const HERE = '192.0.2.1';
const staying = new AbortController().signal;

describe('the hashing pool', () => {
  let metrics: Registry;
  let health: HealthRegistry;
  let hasher: PasswordHasher;
  beforeAll(async () => {
    const { settings } = parseSettings({
      NODE_ENV: 'test',
      AUTH_SECRET_KEY: TEST_SECRET,
      AUTH_BCRYPT_COST: '5',
      AUTH_HASH_QUEUE_MAX: String(QUEUE),
    });
    metrics = new Registry();
    health = new HealthRegistry();
    hasher = new PasswordHasher(settings, metrics, health);
    // Every thread is up once it has hashed.
    await Promise.all(Array.from({ length: availableParallelism() * 4 }, () => hash('warm up')));
  });
  afterAll(() => hasher.onApplicationShutdown());

  const hash = (password: string, signal = staying): Promise<string> =>
    hasher.admit(HERE, signal, (hashing) => hashing.hash(password));
  const matches = (password: string, stored: string | null): Promise<boolean> =>
    hasher.admit(HERE, staying, (hashing) => hashing.matches(password, stored));
  const queueLength = async (): Promise<number> =>
    (await metrics.getSingleMetric('grantline_password_hash_queue_length')?.get())?.values[0]?.value ?? NaN;

  it('refuses as busy, with a Retry-After, when too many wait, for known and unknown users', async () => {
    const stored = await hash('a password');
    const waiting = Array.from({ length: QUEUE + availableParallelism() }, () => matches('x', stored));

    expect(await queueLength()).toBe(QUEUE);
    expect((await health.report()).parts).toEqual({ 'password hashing': 'degraded' });
    for (const known of [stored, null]) {
      await expect(matches('x', known)).rejects.toMatchObject({
        code: 'busy',
        details: { retryAfter: expect.any(Number) as number },
      });
    }
    expect(await Promise.all(waiting)).not.toContain(true);
    expect(await matches('a password', stored)).toBe(true);
    expect((await health.report()).parts).toEqual({ 'password hashing': 'up' });
  });

  it('admits no more at once than it has places, also before any of them hashes', async () => {
    let finish = (): void => undefined;
    const finished = new Promise<void>((resolve) => (finish = resolve));
    const places = Array.from({ length: QUEUE + availableParallelism() }, () =>
      hasher.admit(HERE, staying, () => finished),
    );
    let begun = false;

    await expect(hasher.admit(HERE, staying, () => Promise.resolve((begun = true)))).rejects.toMatchObject({
      code: 'busy',
    });
    expect(begun).toBe(false);
    finish();
    await Promise.all(places);
    await hasher.admit(HERE, staying, () => finished);
  });

  it('forgets clients that disconnect while they wait, and finishes hashes that have begun', async () => {
    const gone = new AbortController();
    const waiting = Array.from({ length: 20 }, () => hash('x', gone.signal));
    const answers = Promise.allSettled(waiting);

    gone.abort();

    const left = (await answers).filter(({ status }) => status === 'rejected');
    expect(left).toHaveLength(20 - availableParallelism());
    expect(await queueLength()).toBe(0);
    expect(await hash('still working')).toMatch(/^\$2b\$05\$/);
  });

  it('measures how long they waited', async () => {
    expect(await metrics.getSingleMetricAsString('grantline_password_hash_wait_seconds')).toMatch(
      /grantline_password_hash_wait_seconds_count [1-9]/,
    );
  });

  it('knows a hash of another cost', () => {
    expect(hasher.hasCurrentCost(`$2y$05$${'a'.repeat(53)}`)).toBe(true);
    expect(hasher.hasCurrentCost(`$2b$06$${'a'.repeat(53)}`)).toBe(false);
  });
});
