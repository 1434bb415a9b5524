import { type Ending, failedOnEngine, type QueryState } from './query.js';
import type { ExecutionState } from './query-store.js';
import { EngineFault } from './statement-client.js';
import type { StatementPage } from './statement-page.js';

/** The next step after a page: hold it for a reader, ask for the next one, or end the query. */
export type PageVerdict = { kind: 'hold' } | { kind: 'ask-again' } | { kind: 'end'; ending: Ending };

/**
 * A page with rows waits for a reader. The one row of an INSERT or a CREATE TABLE AS does not: it is the number of rows
 * written, and such a statement must come to its end whether it is read or not.
 */
export function judgePage(page: StatementPage): PageVerdict {
  if (page.error !== null) return { kind: 'end', ending: failedOnEngine(page.error) };
  if (page.rows.length > 0 && page.updateType === null) return { kind: 'hold' };
  if (page.nextPath !== null) return { kind: 'ask-again' };
  return { kind: 'end', ending: { state: 'finished', truncated: false, updateCount: page.updateCount } };
}

/** The last page with rows: where it was found, where it led, and how much it held. */
export interface TakenPage {
  path: string;
  nextPath: string | null;
  rows: number;
  size: number;
}

/**
 * Whether the page repeats the rows of the last one: it has the same path, or a path that leads to itself and as many rows
 * and bytes. The engine never does that; a proxy may answer with an older page.
 */
export function isRepeated(page: StatementPage, path: string, last: TakenPage | null): boolean {
  if (last === null || page.rows.length === 0) return false;
  if (path === last.path) return true;
  return (
    page.nextPath === path && last.nextPath === path && page.rows.length === last.rows && page.rows.size === last.size
  );
}

type PageState = Pick<ExecutionState, 'columns' | 'nextPath' | 'pagePath' | 'pageStart' | 'waitingSince'>;

/**
 * The state of the execution after that page.
 * @param path where the page was found; null: in the answer to the POST.
 * @throws EngineFault for rows without columns.
 */
export function stateAfter(
  verdict: PageVerdict,
  page: StatementPage,
  path: string | null,
  before: ExecutionState,
  now: Date,
): PageState {
  const columns = before.columns ?? page.columns;
  const { nextPath } = page;
  if (verdict.kind !== 'hold') {
    return { columns, nextPath, pagePath: null, pageStart: before.pageStart, waitingSince: null };
  }
  if (columns === null) throw new EngineFault('protocol', 'rows without columns');
  return { columns, nextPath, pagePath: path, pageStart: before.rowsReturned, waitingSince: now };
}

const WAITING: ReadonlySet<string> = new Set(['QUEUED', 'WAITING_FOR_RESOURCES', 'DISPATCHING']);

/** The API's state for the engine's, while the statement runs. */
export function publicState(engineState: string): Extract<QueryState, 'queued' | 'running'> {
  return WAITING.has(engineState) ? 'queued' : 'running';
}
