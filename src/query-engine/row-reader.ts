import type { DriverContext, DrivenQuery } from './driven-query.js';
import type { Column } from './domain/engine-type.js';
import { apiRows, type ApiValue } from './domain/engine-value.js';
import type { Claim } from './domain/page-budget.js';
import { ProtocolBreach } from './domain/reading.js';
import { covers, cutPage, judgeAsked } from './domain/row-window.js';
import type { HeldPage } from './held-pages.js';

/** Rows for one reader. Whoever got them releases them, once they have left or will not. */
export interface RowsPage {
  columns: readonly Column[];
  length: number;
  /** The rows, a piece at a time; once. @throws RowsBroken */
  pieces: Iterable<readonly ApiValue[][]>;
  /** Where to go on; null: this was the last page. */
  next: number | null;
  /** Counts what the answer itself holds until it has left. */
  claim(bytes: number): Claim;
  release(): void;
}

/** The engine sent values that are not of their column's type, found while the rows were on their way. */
export class RowsBroken extends Error {
  override readonly name = 'RowsBroken';
}

/** A page whose rows hold nothing that is worth counting. */
export function smallPage(columns: readonly Column[], rows: readonly ApiValue[][], next: number | null): RowsPage {
  const pieces = rows.length === 0 ? [] : [rows];
  return { columns, length: rows.length, pieces, next, claim: () => 'granted', release: () => undefined };
}

/**
 * `gone`: an older page than the newest. `unknown`: a place that no answer named. `over`: this replica does not drive
 * the query any more, so its record says what there is to say.
 */
export type RowsOutcome = { kind: 'page'; page: RowsPage } | { kind: 'gone' | 'unknown' | 'over' };

/** Milliseconds that a reader waits for rows to come (api.md). */
const READER_PATIENCE = 10_000;

/** Hands the rows of a driven query to its readers, one after the other. */
export class RowReader {
  private reading: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly context: DriverContext,
    private readonly query: DrivenQuery,
  ) {}

  /** The rows from that one on, as soon as there are any; an empty page with the same place when none come in time. */
  rows(from: number, limit: number): Promise<RowsOutcome> {
    const outcome = this.query.whileRead(() => this.reading.then(() => this.read(from, limit)));
    this.reading = outcome.catch(() => undefined);
    return outcome;
  }

  private async read(from: number, limit: number): Promise<RowsOutcome> {
    const { newestFrom, rowsReturned } = this.query.state;
    const asked = judgeAsked(from, newestFrom, rowsReturned);
    if (asked === 'gone' || asked === 'unknown') return { kind: asked };
    if (this.query.isOver()) return asked === 'newest' && this.query.isFinished() ? this.again() : { kind: 'over' };
    const held = await this.query.held();
    if (held !== null && covers(held, from)) return this.handOut(held, from, limit);
    if (asked === 'newest') return this.again();
    await this.nextPage(held);
    const next = await this.query.held();
    if (next !== null && next !== held) return this.handOut(next, from, limit);
    if (this.query.isOver()) return { kind: 'over' };
    return { kind: 'page', page: smallPage(this.query.state.columns ?? [], [], from) };
  }

  /** The newest page once more, as it was, though the engine has gone on since. */
  private again(): RowsOutcome {
    const { newestFrom, rowsReturned } = this.query.state;
    const remembered = this.query.remembered(newestFrom);
    if (remembered === null) return { kind: 'gone' };
    return this.page(remembered, newestFrom, rowsReturned, this.query.isFinished() ? null : rowsReturned);
  }

  private async nextPage(held: HeldPage | null): Promise<void> {
    const enough = new AbortController();
    const patience = this.context.timers.wait(READER_PATIENCE, enough.signal).catch(() => undefined);
    await Promise.race([held === null ? this.query.goOn() : this.query.moveOn(), patience]);
    enough.abort();
  }

  private async handOut(held: HeldPage, from: number, limit: number): Promise<RowsOutcome> {
    const { to, reached } = cutPage(from, limit, held, this.context.maxRows);
    const isLast = reached === 'max-rows' || (reached === 'end-of-page' && this.query.state.nextPath === null);
    const outcome = this.page(held, from, to, isLast ? null : to);
    if (!(await this.query.handOut(from, to))) {
      outcome.page.release();
      return { kind: 'over' };
    }
    if (isLast) await this.query.end({ state: 'finished', truncated: reached === 'max-rows', updateCount: null });
    return outcome;
  }

  private page(held: HeldPage, from: number, to: number, next: number | null): { kind: 'page'; page: RowsPage } {
    const columns = this.query.state.columns ?? [];
    const leave = held.charge.retain();
    const answer = this.context.budget.open(held.charge.owner);
    let isReleased = false;
    const release = (): void => {
      leave();
      if (!isReleased) answer.release();
      isReleased = true;
    };
    const pieces = this.pieces(held, from, to);
    const claim = (bytes: number): Claim => (isReleased ? 'granted' : answer.atLeast(bytes));
    return { kind: 'page', page: { columns, length: to - from, pieces, next, claim, release } };
  }

  private *pieces(held: HeldPage, from: number, to: number): Generator<readonly ApiValue[][], void, undefined> {
    try {
      const convert = apiRows(this.query.state.columns ?? []);
      for (const piece of held.rows.pieces(from - held.start, to - held.start)) yield piece.map(convert);
    } catch (error) {
      if (!(error instanceof ProtocolBreach)) throw error;
      void this.query.fail('protocol');
      throw new RowsBroken('a value that is not of its type', { cause: error });
    }
  }
}
