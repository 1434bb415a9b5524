import { type Ending, failedOnEngine, type QueryState } from './query.js';
import type { Drive } from './query-store.js';
import { EngineFault } from './statement-client.js';
import type { StatementPage } from './statement-page.js';

/** What a driver does with a page: hold it for a reader, ask for the next one, or end the query. */
export type PageVerdict = { kind: 'hold' } | { kind: 'ask-again' } | { kind: 'end'; ending: Ending };

/**
 * Rows wait for a reader, and nothing more is asked for meanwhile. The one row of an INSERT or a CREATE TABLE AS is no
 * such row: it says how many were written, and a writer must come to its end whether somebody reads that or not.
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
 * Whether those rows came before, in the page that had rows last: from the same path, or from one that leads to itself
 * with as much in it. The engine's paths lead on from page to page, but a proxy may answer with an older one.
 */
export function isRepeated(page: StatementPage, path: string, last: TakenPage | null): boolean {
  if (last === null || page.rows.length === 0) return false;
  if (path === last.path) return true;
  return (
    page.nextPath === path && last.nextPath === path && page.rows.length === last.rows && page.rows.size === last.size
  );
}

type Standing = Pick<Drive, 'columns' | 'nextPath' | 'pagePath' | 'pageStart' | 'waitingSince'>;

/**
 * Where a query stands after that page.
 * @param path where the page was found; null: it is the answer to the POST.
 * @throws EngineFault for rows without columns.
 */
export function standingAfter(
  verdict: PageVerdict,
  page: StatementPage,
  path: string | null,
  before: Drive,
  now: Date,
): Standing {
  const columns = before.columns ?? page.columns;
  const { nextPath } = page;
  if (verdict.kind !== 'hold') {
    return { columns, nextPath, pagePath: null, pageStart: before.pageStart, waitingSince: null };
  }
  if (columns === null) throw new EngineFault('protocol', 'rows without columns');
  return { columns, nextPath, pagePath: path, pageStart: before.rowsReturned, waitingSince: now };
}

const WAITING: ReadonlySet<string> = new Set(['QUEUED', 'WAITING_FOR_RESOURCES', 'DISPATCHING']);

/** The engine's word as one of ours, while the statement lives. */
export function stateOf(engineState: string): Extract<QueryState, 'queued' | 'running'> {
  return WAITING.has(engineState) ? 'queued' : 'running';
}
