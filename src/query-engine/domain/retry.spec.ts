import fc from 'fast-check';
import { pauseBeforeRetry, readRetryAfter, type RetryState, type FailedAttempt } from './retry.js';

const NOW = new Date('2026-11-20T12:00:00Z');
const first: RetryState = { failures: 1, failingFor: 0, budget: 30_000, remaining: 600_000, jitter: 0 };
const status = (code: number, retryAfter: number | null = null): FailedAttempt => ({
  kind: 'status',
  status: code,
  retryAfter,
});

describe('pauseBeforeRetry', () => {
  it.each([
    ['503', status(503), first, 50],
    ['a lost connection', { kind: 'connection' } as const, { ...first, jitter: 0.5 }, 75],
    ['the fifth 502', status(502), { ...first, failures: 5 }, 800],
    ['the twentieth 504', status(504), { ...first, failures: 20 }, 2000],
    ['429 with Retry-After', status(429, 4000), first, 4000],
    ['500', status(500), first, null],
    ['404', status(404), first, null],
    ['a Retry-After beyond budget', status(429, 31_000), first, null],
    ['a Retry-After beyond the deadline', status(429, 4000), { ...first, remaining: 4000 }, null],
    ['budget at its end', status(503), { ...first, failingFor: 29_990 }, null],
  ])('after %s', (_, setback, state, pause) => {
    expect(pauseBeforeRetry(setback, state)).toBe(pause);
  });

  it('always ends: the pauses of one request stay within its budget', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 0.999, noNaN: true }), fc.nat(60_000), (jitter, budget) => {
        let failingFor = 0;
        for (let failures = 1; ; failures += 1) {
          const pause = pauseBeforeRetry(status(503), { ...first, failures, failingFor, budget, jitter });
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
