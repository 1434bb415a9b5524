import fc from 'fast-check';
import { pauseBeforeRetry, readRetryAfter, type RetryState } from './retry.js';

const NOW = new Date('2026-11-20T12:00:00Z');
const first: RetryState = {
  ...{ failures: 1, retryAfter: null, failingFor: 0, budget: 30_000, remaining: 600_000, jitter: 0 },
};

describe('pauseBeforeRetry', () => {
  it.each<[string, number | null, RetryState, number | null]>([
    ['503', 503, first, 50],
    ['a lost connection', null, { ...first, jitter: 0.5 }, 75],
    ['the fifth 502', 502, { ...first, failures: 5 }, 800],
    ['the twentieth 504', 504, { ...first, failures: 20 }, 2000],
    ['429 with Retry-After', 429, { ...first, retryAfter: 4000 }, 4000],
    ['500', 500, first, null],
    ['404', 404, first, null],
    ['a Retry-After beyond budget', 429, { ...first, retryAfter: 31_000 }, null],
    ['a Retry-After beyond the deadline', 429, { ...first, retryAfter: 4000, remaining: 4000 }, null],
    ['budget at its end', 503, { ...first, failingFor: 29_990 }, null],
  ])('after %s', (_, status, state, pause) => {
    expect(pauseBeforeRetry(status, state)).toBe(pause);
  });

  it('always ends: the pauses of one request stay within its budget', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 0.999, noNaN: true }), fc.nat(60_000), (jitter, budget) => {
        let failingFor = 0;
        for (let failures = 1; ; failures += 1) {
          const pause = pauseBeforeRetry(503, { ...first, failures, failingFor, budget, jitter });
          if (pause === null) break;
          failingFor += pause;
        }

        expect(failingFor).toBeLessThanOrEqual(budget);
      }),
    );
  });
});

describe('readRetryAfter', () => {
  it.each([
    ['3', 3000],
    ['Fri, 20 Nov 2026 12:00:07 GMT', 7000],
    ['Fri, 20 Nov 2026 11:00:00 GMT', 0],
    ['soon', null],
    [undefined, null],
  ])('%s', (value, milliseconds) => {
    expect(readRetryAfter(value, NOW)).toBe(milliseconds);
  });
});
