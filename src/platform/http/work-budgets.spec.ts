import { chargedBudget, costOf, FRESH_BUDGET, isIdle, secondsToWait, type WorkBudget } from './work-budgets.js';

/** After so many requests at one moment, of so many milliseconds each. */
const after = (count: number, milliseconds: number): WorkBudget =>
  Array.from({ length: count }).reduce<WorkBudget>(
    (budget) => chargedBudget(budget, costOf(milliseconds), 0),
    FRESH_BUDGET,
  );

describe('a work budget', () => {
  it.each<[string, WorkBudget, number, number | null]>([
    ['nothing done', FRESH_BUDGET, 0, null],
    ['within the reserve', after(29, 100), 0, null],
    ['half a second above it: five times as long to wait', after(35, 100), 0, 2.5],
    ['after that wait', after(35, 100), 2_500, null],
    ['requests like any other', after(10_000, 9), 0, null],
    ['one that waited for something: counted as a second', after(1, 60_000), 0, null],
    ['four under way', { ...FRESH_BUDGET, requests: 4 }, 0, 1],
  ])('%s', (_, budget, now, seconds) => {
    expect(secondsToWait(budget, now)).toBe(seconds);
  });

  it('is forgotten once all of it is there again', () => {
    expect(isIdle(after(10, 100), 4_999)).toBe(false);
    expect(isIdle(after(10, 100), 5_000)).toBe(true);
  });
});
