import type { RulesInForce } from '../../query-engine/domain/rules-probe-verdict.js';
import { isSettled, LIVE_WITHIN_MS, type LiveWatch, watched } from './live-watch.js';

describe('what probes say of the published version', () => {
  const published = { version: 1, liveAt: null, publishedAt: new Date(0) };
  const afterAnswers = (...answers: RulesInForce[]) =>
    answers.reduce<LiveWatch | null>((before, answer) => watched(before, published, answer, new Date(0)), null);

  it.each<[RulesInForce[], boolean]>([
    [[], false],
    [['others'], false],
    [['these'], true],
    [['these', 'unreachable'], true],
    [['these', 'broken'], false],
    [['these', 'broken', 'these'], true],
  ])('after %j it is settled: %j', (answers, expected) => {
    expect(isSettled(afterAnswers(...answers))).toBe(expected);
  });

  it('are believed for internal errors only when they come three times in a row', () => {
    expect(afterAnswers('these', 'broken', 'broken')).toMatchObject({ state: 'live' });
    expect(afterAnswers('these', 'broken', 'broken', 'broken')).toMatchObject({ state: 'broken' });
    expect(afterAnswers('broken', 'broken', 'these', 'broken')).toMatchObject({ state: 'live' });
  });

  it('make it overdue only after the time in which the engine must have read it', () => {
    expect(watched(null, published, 'others', new Date(LIVE_WITHIN_MS)).state).toBe('pending');
    expect(watched(null, published, 'others', new Date(LIVE_WITHIN_MS + 1)).state).toBe('overdue');
  });
});
