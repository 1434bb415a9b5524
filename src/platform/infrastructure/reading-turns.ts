import { afterReading, DEBTORS, type ReadingDebt, restAfter, TURN_CLASSES, turnClass } from '../domain/reading-debt.js';

/**
 * How long connections are read within one turn of the event loop; what else is ready comes between two turns. A request that
 * asks the database takes several of them.
 */
const TURN_MS = 0.25;

/** How long those that owe are read before they rest. */
const SPELL_MS = 1;

/** Of one turn: reading is some microseconds of work at least. */
const MAX_READINGS = 16;

/** A connection that has something to read. */
export interface TurnTaker {
  debt: ReadingDebt;
  /** By the turns: it has been added, and not yet had its turn. */
  isWaiting: boolean;
  /** Reads a little. */
  takeTurn: () => void;
  /** When all that the turn has caused at once has run: adds itself again, where there is more to read. */
  lookForMore: () => void;
}

/**
 * In which order the connections of a process are read: those that owe least first, each a little at a time, for a quarter of
 * a millisecond in each turn of the event loop; those that owe for a part of the time. So what one connection costs delays no other. Node
 * reads whatever is there, in the order in which it came (docs/decisions/0030).
 */
export class ReadingTurns {
  private readonly queues = Array.from({ length: TURN_CLASSES }, (): TurnTaker[] => []);
  private scheduled = 0;
  /** When reading began in this turn of the event loop; null: not yet. */
  private begun: number | null = null;
  private current: { taker: TurnTaker; since: number; isDebtor: boolean } | null = null;
  /** Milliseconds of the debtors since they last rested. */
  private spent = 0;
  private areDebtorsResting = false;

  /** The clock: in milliseconds, that never goes back. */
  constructor(private readonly clock = () => performance.now()) {}

  /** Once is enough, until it has had its turn. */
  add(taker: TurnTaker): void {
    if (taker.isWaiting || this.isOf(taker)) return;
    taker.isWaiting = true;
    this.queues[turnClass(taker.debt, this.clock())]?.push(taker);
    this.schedule();
  }

  /** Whether it is its turn, with what that has caused. */
  isOf(taker: TurnTaker): boolean {
    return this.current?.taker === taker;
  }

  private get admitted(): TurnTaker[][] {
    return this.areDebtorsResting ? this.queues.slice(0, DEBTORS) : this.queues;
  }

  /** Callbacks and promises that reading has caused run between the two: they belong to its cost. */
  private schedule(): void {
    let wanted = 0;
    for (const { length } of this.admitted) wanted += length;
    if (this.scheduled >= Math.min(wanted, MAX_READINGS)) return;
    this.scheduled += 1;
    setImmediate(this.read);
    setImmediate(this.settle);
  }

  private readonly read = (): void => {
    this.scheduled -= 1;
    const now = this.clock();
    if (this.begun === null) {
      this.begun = now;
      setImmediate(() => (this.begun = null)); // is the first of the next turn
    }
    if (now - this.begun > TURN_MS) return;
    this.promote(now);
    const queue = this.admitted.find(({ length }) => length > 0);
    const taker = queue?.shift();
    if (queue === undefined || taker === undefined) return;
    taker.isWaiting = false;
    this.current = { taker, since: now, isDebtor: this.queues.indexOf(queue) >= DEBTORS };
    taker.takeTurn();
  };

  /** Debts are forgotten while connections wait: or those that keep owing nothing could keep the others waiting for ever. */
  private promote(now: number): void {
    for (const [at, queue] of this.queues.entries()) {
      const [longest] = queue;
      const owed = longest === undefined ? at : turnClass(longest.debt, now);
      if (longest === undefined || owed === at) continue;
      queue.shift();
      this.queues[owed]?.push(longest);
    }
  }

  private readonly settle = (): void => {
    if (this.current !== null) {
      const { taker, since, isDebtor } = this.current;
      this.current = null;
      const now = this.clock();
      taker.debt = afterReading(taker.debt, now - since, now);
      if (isDebtor) this.spend(now - since);
      taker.lookForMore();
    }
    this.schedule();
  };

  private spend(milliseconds: number): void {
    this.spent += milliseconds;
    if (this.spent < SPELL_MS || this.areDebtorsResting) return;
    this.areDebtorsResting = true;
    setTimeout(() => {
      this.areDebtorsResting = false;
      this.schedule();
    }, restAfter(this.spent));
    this.spent = 0;
  }
}
