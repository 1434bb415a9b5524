import fc from 'fast-check';
import { Throttle } from '../../src/auth/throttle.store.js';
import { sharedService } from '../support/service/service.js';

const PER_NAME = 3;
const PER_ADDRESS = 6;

/** What the throttle promises, in plain maps. */
class Counts {
  private readonly counts = new Map<string, number>();

  attempt(name: string, place: number): 'counted' | 'login-name' | 'login-address' {
    const key = `${name.toLowerCase()}@${place}`;
    if (this.of(String(place)) > PER_ADDRESS) return 'login-address';
    if (this.of(key) > PER_NAME || this.raise(key) > PER_NAME) return 'login-name';
    return this.raise(String(place)) > PER_ADDRESS ? 'login-address' : 'counted';
  }

  success(name: string, place: number): void {
    this.counts.delete(`${name.toLowerCase()}@${place}`);
    this.counts.set(String(place), this.of(String(place)) - 1);
  }

  private of(key: string): number {
    return this.counts.get(key) ?? 0;
  }

  private raise(key: string): number {
    const count = this.of(key) + 1;
    this.counts.set(key, count);
    return count;
  }
}

const anyAttempt = fc.record({
  name: fc.constantFrom('ana', 'ANA', 'bob', 'nobody_at_all'),
  /** Two networks, each with two addresses that count as one. */
  place: fc.constantFrom(0, 1),
  host: fc.constantFrom('1', 'ffff'),
  knowsThePassword: fc.boolean(),
});

describe('the throttle', () => {
  const service = sharedService({
    AUTH_THROTTLE_PER_NAME: String(PER_NAME),
    AUTH_THROTTLE_PER_ADDRESS: String(PER_ADDRESS),
  });
  let run = 0;

  it('counts like its model, in any order of attempts', async () => {
    const throttle = service.app.get(Throttle);
    await fc.assert(
      fc.asyncProperty(fc.array(anyAttempt, { maxLength: 30 }), async (attempts) => {
        const expected = new Counts();
        run += 1;
        for (const { name, place, host, knowsThePassword } of attempts) {
          const address = `2001:db8:${run.toString(16)}:${place}::${host}`;
          const attempt = await throttle.countLogin(name, address);
          expect(attempt.kind === 'counted' ? 'counted' : attempt.quota.name).toBe(expected.attempt(name, place));
          if (attempt.kind !== 'counted' || !knowsThePassword) continue;
          await throttle.recordSuccess(attempt);
          expected.success(name, place);
        }
      }),
      { numRuns: 40 },
    );
  });
});
