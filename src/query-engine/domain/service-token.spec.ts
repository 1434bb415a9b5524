import fc from 'fast-check';
import { freshnessOf, failureOfStatus, pauseAfterFailure, readTokenAnswer } from './service-token.js';

const ASKED = 1_000_000;

function tokenOf(expiresIn?: unknown, receivedAt = ASKED): ReturnType<typeof readTokenAnswer> {
  return readTokenAnswer({ access_token: 'a.b.c', expires_in: expiresIn }, ASKED, receivedAt);
}

describe('the life of a service-account token', () => {
  it.each([
    [300, 240_000, 300_000],
    [299, 239_000, 299_000],
    [61, 1_000, 61_000],
    [60, 48_000, 60_000],
    [5, 4_000, 5_000],
    [undefined, 48_000, 60_000],
    [1e300, 86_340_000, 86_400_000],
  ])('expires_in %s: renewed after %s ms, dead after %s ms', (expiresIn, renewAfter, deadAfter) => {
    expect(tokenOf(expiresIn)).toMatchObject({
      kind: 'token',
      token: { renewAt: ASKED + renewAfter, expiresAt: ASKED + deadAfter },
    });
  });

  it('counts from before the request, so that a slow answer makes no token younger', () => {
    expect(tokenOf(300, ASKED + 9_000)).toEqual(tokenOf(300, ASKED));
  });

  it.each([0, -1, '300', Number.NaN, true])(
    '%s is no lifetime: one second for waiting callers, and a warning',
    (expiresIn) => {
      const read = tokenOf(expiresIn, ASKED + 200);

      expect(read).toMatchObject({ token: { renewAt: ASKED + 1_200, expiresAt: ASKED + 1_200 } });
      expect(read).not.toMatchObject({ token: { oddity: null } });
    },
  );

  it('is never handed out past its end, and always renewed before it', () => {
    fc.assert(
      fc.property(fc.double({ min: 0.001, max: 1e9, noNaN: true }), fc.nat(2e9), (expiresIn, later) => {
        const read = tokenOf(expiresIn);
        if (read.kind !== 'token') throw new Error('no token');
        const state = freshnessOf(read.token, ASKED + later);

        expect(read.token.renewAt).toBeLessThan(read.token.expiresAt);
        expect(state === 'expired').toBe(ASKED + later >= read.token.expiresAt);
      }),
    );
  });

  it('is expired while there is none', () => {
    expect(freshnessOf(null, ASKED)).toBe('expired');
  });
});

describe('after a failure', () => {
  it.each([
    [400, 'refused'],
    [401, 'refused'],
    [404, 'refused'],
    [408, 'unavailable'],
    [429, 'unavailable'],
    [503, 'unavailable'],
    [302, 'unavailable'],
  ])('status %s is %s', (status, kind) => {
    expect(failureOfStatus(status)).toBe(kind);
  });

  it('the provider is left alone for longer and longer, within bounds, and as long as it wishes', () => {
    expect([1, 2, 3, 20].map((failures) => pauseAfterFailure('unavailable', failures, null, 0.5))).toEqual([
      500, 1000, 2000, 15_000,
    ]);
    expect([1, 2, 20].map((failures) => pauseAfterFailure('refused', failures, null, 0.5))).toEqual([
      5000, 10_000, 60_000,
    ]);
    expect(pauseAfterFailure('unavailable', 1, 30_000, 0.5)).toBe(30_000);
    expect(pauseAfterFailure('unavailable', 1, 3_600_000, 0.5)).toBe(60_000);
  });
});
