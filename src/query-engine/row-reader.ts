import type { DriverContext, DrivenQuery } from './driven-query.js';
import type { Column } from './domain/engine-type.js';
import { apiRows, type ApiValue } from './domain/engine-value.js';
import { endedBy } from './domain/query.js';
import { ProtocolBreach } from './domain/reading.js';
import { covers, cutPage, type HeldPage, judgeAsked } from './domain/row-window.js';

export interface RowsPage {
  columns: readonly Column[];
  rows: readonly ApiValue[][];
  /** Where to go on; null: this was the last page. */
  next: number | null;
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
    return this.query.isOver() ? { kind: 'over' } : this.page([], from);
  }

  /** The newest page once more, as it was, though the engine has gone on since. */
  private async again(): Promise<RowsOutcome> {
    const { newestFrom, rowsReturned } = this.query.state;
    const remembered = this.query.remembered(newestFrom);
    if (remembered === null) return { kind: 'gone' };
    const rows = remembered.rows.slice(newestFrom - remembered.start, rowsReturned - remembered.start);
    return this.page(rows, this.query.isFinished() ? null : rowsReturned);
  }

  private async nextPage(held: HeldPage | null): Promise<void> {
    const enough = new AbortController();
    const patience = this.context.pace.wait(READER_PATIENCE, enough.signal).catch(() => undefined);
    await Promise.race([held === null ? this.query.goOn() : this.query.moveOn(), patience]);
    enough.abort();
  }

  private async handOut(held: HeldPage, from: number, limit: number): Promise<RowsOutcome> {
    const { to, reached } = cutPage(from, limit, held, this.context.maxRows);
    const rows = held.rows.slice(from - held.start, to - held.start);
    const isLast = reached === 'end-of-page' && this.query.state.nextPath === null;
    if (!(await this.query.handOut(from, to))) return { kind: 'over' };
    const outcome = await this.page(rows, isLast || reached === 'max-rows' ? null : to);
    if (isLast || reached === 'max-rows') {
      await this.query.end({ state: 'finished', truncated: reached === 'max-rows', updateCount: null });
    }
    return outcome;
  }

  private async page(rows: readonly unknown[], next: number | null): Promise<RowsOutcome> {
    const columns = this.query.state.columns ?? [];
    try {
      return { kind: 'page', page: { columns, rows: rows.map(apiRows(columns)), next } };
    } catch (error) {
      if (!(error instanceof ProtocolBreach)) throw error;
      await this.query.end(endedBy('engine_protocol_error'));
      return { kind: 'over' };
    }
  }
}
