import { type CanaryAnswer, judgeCanary, opaFault, type OpaInstance, opaStatus } from './opa-status.js';

const NEW = 'v8-0123456789ab';
const OLD = 'v7-0123456789ab';
const NOW = new Date('2026-11-25T12:00:00Z');
const ago = (seconds: number): Date => new Date(NOW.getTime() - seconds * 1000);

const opa = (revision: string | null, given: Partial<OpaInstance> = {}): OpaInstance => ({
  ...{ instance: 'trino-0', revision, errors: [], seenAt: ago(10), requestedAt: ago(20) },
  ...given,
});
const answered = (answer: string | null, seconds = 10): CanaryAnswer => ({ answer, at: ago(seconds) });
const judged = (instances: OpaInstance[], canary: CanaryAnswer | null) =>
  opaStatus({ instances, canary }, NEW, 300, NOW);

describe('what is live in OPA', () => {
  it.each<[string, OpaInstance[], CanaryAnswer | null, string | null]>([
    ['canary and all instances agree', [opa(NEW), opa(NEW)], answered(NEW), NEW],
    ['all agree on the version before', [opa(OLD)], answered(OLD), OLD],
    ['no engine is asked', [opa(NEW)], null, NEW],
    ['no instance reports', [], answered(NEW), NEW],
    ['an instance is behind', [opa(NEW), opa(OLD)], answered(NEW), null],
    ['the canary is behind', [opa(NEW)], answered(OLD), null],
    ['the engine does not answer', [opa(NEW)], answered(null), null],
    ['the engine answers without masks', [], answered('TABLE, VIEW'), null],
    ['an instance has no bundle', [opa(null)], null, null],
    ['an instance was last seen five minutes ago', [opa(NEW), opa(OLD, { seenAt: ago(300) })], null, null],
    ['an instance was last seen before that', [opa(NEW), opa(OLD, { seenAt: ago(301) })], null, NEW],
    ['the canary was last asked before that', [opa(NEW)], answered(OLD, 301), NEW],
    ['nothing is known', [], null, null],
    ['all that is known is old', [opa(NEW, { seenAt: ago(301) })], answered(NEW, 301), null],
  ])('where %s', (_, instances, canary, liveRevision) => {
    expect(judged(instances, canary)).toMatchObject({ publishedRevision: NEW, liveRevision });
  });

  it.each<[string, OpaInstance, string]>([
    ['live', opa(NEW), 'live'],
    ['behind', opa(OLD), 'behind'],
    ['behind without a bundle', opa(null, { requestedAt: null }), 'behind'],
    ['in error, although it decides by the newest bundle', opa(NEW, { errors: ['no signature'] }), 'error'],
    ['still live after 300 s without an answer', opa(NEW, { requestedAt: ago(300) }), 'live'],
    ['in error after more', opa(NEW, { requestedAt: ago(301) }), 'error'],
    ['gone', opa(OLD, { seenAt: ago(301), errors: ['no signature'] }), 'gone'],
  ])('an instance is %s', (_, instance, state) => {
    expect(judged([instance], null).instances[0]?.state).toBe(state);
  });

  it('shows the first fault', () => {
    const old = opa(NEW, { instance: 'trino-1', requestedAt: ago(400) });
    expect(opaFault(judged([opa(NEW), old], answered(null)))).toBe('trino-1: no answer about the bundle for 400 s');
    expect(opaFault(judged([opa(OLD)], answered(null)))).toBe('the engine did not answer the canary');
    expect(opaFault(judged([], answered('TABLE, VIEW')))).toBe('the engine answers: TABLE, VIEW');
    expect(opaFault(judged([opa(OLD)], answered(OLD)))).toBeNull();
    expect(opaFault(judged([], null))).toBeNull();
  });
});

describe('the answer to the canary statement', () => {
  it.each<[string | null, number, string]>([
    [NEW, 0, 'right'],
    [NEW, 8, 'right'],
    [OLD, 7, 'loading'],
    [OLD, 8, 'wrong'],
    ['v8-ba9876543210', 7, 'wrong'],
    ['v9-0123456789ab', 7, 'wrong'],
    ['v900-0123456789ab', 0, 'wrong'],
    ['TABLE, VIEW', 0, 'wrong'],
    [`${NEW}, TABLE`, 0, 'wrong'],
    ['no row', 0, 'wrong'],
    [null, 0, 'wrong'],
  ])('%j is, where version %i is due, %s', (answer, dueVersion, verdict) => {
    expect(judgeCanary(answer, NEW, dueVersion)).toBe(verdict);
  });
});
