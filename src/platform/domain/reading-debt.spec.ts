import { afterReading, DEBTORS, NO_DEBT, newDebt, restAfter, TURN_CLASSES, turnClass } from './reading-debt.js';

describe('what a connection owes', () => {
  it('puts it behind those that owe less, and those that are new behind those that are known', () => {
    const owing = [0, 0.9, 1, 3.9, 4, 16, 64, 10_000].map((cost) =>
      turnClass(afterReading(NO_DEBT, cost, 1_000), 1_000),
    );

    expect(owing).toEqual([0, 0, 1, 1, 2, 3, 4, 4]);
    expect(turnClass(newDebt(1_000), 1_000)).toBe(1);
    expect([DEBTORS, TURN_CLASSES]).toEqual([1, 5]);
  });

  it('is read for a quarter of the time: who owes rests for three times as long as they were read', () => {
    expect([1, 1.4, 10].map(restAfter)).toEqual([3, 5, 30]);
  });

  it('puts a new connection behind known ones for ten milliseconds', () => {
    expect([0, 9, 11].map((later) => turnClass(newDebt(1_000), 1_000 + later))).toEqual([1, 1, 0]);
  });

  it('is forgotten within three seconds, whatever it was', () => {
    expect(turnClass(afterReading(NO_DEBT, 60_000, 0), 3_000)).toBe(0);
  });

  it('is forgotten by a twentieth of the time that passes', () => {
    const debt = afterReading(afterReading(NO_DEBT, 10, 0), 10, 100); // five are forgotten before the second

    expect([100, 319, 321, 381].map((now) => turnClass(debt, now))).toEqual([2, 2, 1, 0]);
  });
});
