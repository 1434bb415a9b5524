import { setImmediate as turn } from 'node:timers/promises';
import { NO_DEBT } from '../domain/reading-debt.js';
import { ReadingTurns, type TurnTaker } from './reading-turns.js';

describe('turns of connections that have something to read', () => {
  let order: string;
  let now: number;
  let turns: ReadingTurns;
  beforeEach(() => {
    order = '';
    now = 1000;
    turns = new ReadingTurns(() => now);
  });

  const connection = (name: string, reads: number, milliseconds = 0): TurnTaker & { left: number } => ({
    debt: NO_DEBT,
    isWaiting: false,
    left: reads,
    lookForMore() {
      if (this.left > 0) turns.add(this);
    },
    takeTurn() {
      order += name;
      this.left -= 1;
      now += milliseconds;
    },
  });

  const finished = async (...takers: { left: number }[]): Promise<void> => {
    while (takers.some(({ left }) => left > 0)) await turn();
    await turn();
  };

  it('go round, a little each', async () => {
    const all = [connection('a', 3), connection('b', 2), connection('c', 1)];
    for (const taker of all) turns.add(taker);
    await finished(...all);

    expect(order).toBe('abcaba');
  });

  it('are once for each, however often more is said to have come', async () => {
    const only = connection('a', 1);
    for (let count = 0; count < 5; count += 1) turns.add(only);
    await finished(only);

    expect(order).toBe('a');
  });

  it('are first for those that have cost least', async () => {
    const costly = [connection('x', 10, 5), connection('y', 10, 5)];
    for (const taker of costly) turns.add(taker);
    while (order.length < 6) await turn();
    const cheap = connection('a', 2);
    turns.add(cheap);
    await finished(cheap, ...costly);

    expect(order).toMatch(/^[xy]{6,8}a[xy]?a[xy]+$/);
  });

  it('come to those that owe, however many there are that never do', async () => {
    const free = Array.from({ length: 3 }, () => connection('', Infinity, 0.1));
    for (const taker of free) {
      Object.defineProperty(taker, 'debt', { get: () => NO_DEBT, set: () => undefined });
      turns.add(taker);
    }
    const owing = connection('x', 1);
    owing.debt = { milliseconds: 1.5, at: now };
    turns.add(owing);
    const late = now + 1000;
    while (owing.left > 0 && now < late) await turn();
    for (const taker of free) taker.left = 0;

    expect(order).toBe('x');
  });

  it('come between what else is ready: not all in one turn of the event loop', async () => {
    const all = Array.from({ length: 5 }, () => connection('x', 2, 0.3));
    for (const taker of all) turns.add(taker);
    while (all.some(({ left }) => left > 0)) {
      await turn();
      order += '.';
    }

    expect(order).not.toContain('xx');
  });

  it('count the promises and callbacks that a turn causes', async () => {
    const lazy = connection('x', 1);
    const { takeTurn } = lazy;
    lazy.takeTurn = () => {
      takeTurn.call(lazy);
      void Promise.resolve().then(() => connection('', 1, 20).takeTurn());
    };
    turns.add(lazy);
    await finished(lazy);
    await turn();

    expect(lazy.debt.milliseconds).toBe(20);
  });
});
