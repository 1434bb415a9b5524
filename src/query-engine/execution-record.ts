import type { Clock } from '../kernel/clock.js';
import { type PageVerdict, publicState, stateAfter } from './domain/page-verdict.js';
import type { Ending } from './domain/query.js';
import type { ExecutionState, QueryProgress, QueryStore, RowSpan } from './domain/query-store.js';
import type { StatementPage } from './domain/statement-page.js';

/**
 * The stored state of a query that this replica executes, written before the next request goes out, so that another replica
 * can take over at any moment. A write returns false once another replica has, or the query has ended.
 */
export class ExecutionRecord {
  private hasUnstoredRead = false;
  /** Its start is stored, as far as this replica knows. */
  private isStarted = false;

  constructor(
    private readonly store: QueryStore,
    private readonly clock: Clock,
    private readonly replica: string,
    private readonly current: ExecutionState,
  ) {}

  get state(): Readonly<ExecutionState> {
    return this.current;
  }

  /** @param path where the page was found; null: in the answer to the POST. @returns null: false. @throws EngineFault */
  async progress(page: StatementPage, verdict: PageVerdict, path: string | null): Promise<QueryProgress | null> {
    const now = this.clock.now();
    const next = stateAfter(verdict, page, path, this.current, now);
    const state = page.rows.length > 0 ? 'running' : publicState(page.engineState);
    const progress = {
      ...next,
      columns: this.current.columns === null ? next.columns : null,
      state,
      startedAt: state === 'running' ? now : null,
      progressPercent: page.progressPercent,
      engineQueryId: page.queryId,
    } as const;
    // What ends a query that has begun is stored with its end.
    const isStoredWithEnd = verdict.kind === 'end' && this.isStarted && progress.columns === null;
    if (!isStoredWithEnd && !(await this.store.progress(this.current.id, this.replica, progress))) return null;
    this.isStarted ||= progress.startedAt !== null;
    Object.assign(this.current, verdict.kind === 'end' ? { columns: next.columns } : next);
    return progress;
  }

  /** Rows go to the reader. @param isReleased nobody will ask for them again: the page is finished with them. */
  async handOut(rows: RowSpan, isReleased: boolean): Promise<boolean> {
    const waitingSince = isReleased ? null : this.clock.now();
    if (!(await this.store.handOut(this.current.id, this.replica, rows, waitingSince))) return false;
    this.handedOut(rows);
    Object.assign(this.current, isReleased ? { waitingSince, pagePath: null } : { waitingSince });
    return true;
  }

  /** The held page has been read to its end; `releasePage` stores it. */
  finishPage(): void {
    this.hasUnstoredRead ||= this.current.waitingSince !== null;
    Object.assign(this.current, { waitingSince: null, pagePath: null });
  }

  /** To be called before the next page is asked for: from then on the engine does not repeat the old one. */
  async releasePage(): Promise<boolean> {
    if (this.hasUnstoredRead && !(await this.store.releasePage(this.current.id, this.replica))) return false;
    this.hasUnstoredRead = false;
    return true;
  }

  /** @param last rows that go to the reader with it. */
  async end(ending: Ending, last?: RowSpan): Promise<boolean> {
    if (!(await this.store.end(this.current.id, this.replica, ending, this.clock.now(), last))) return false;
    if (last !== undefined) this.handedOut(last);
    return true;
  }

  private handedOut({ from, to }: RowSpan): void {
    Object.assign(this.current, { newestFrom: from, rowsReturned: to });
  }
}
