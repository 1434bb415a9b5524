import type { Column } from './engine-type.js';
import { type Ending, failedOnEngine, type Query, type QueryState } from './query.js';
import { EngineFault } from './statement-client.js';
import type { StatementPage } from './statement-page.js';

export interface NewQuery {
  id: string;
  userId: number;
  /** The user of the statement on the engine. */
  runAs: string;
  sql: string;
  catalog: string | null;
  schema: string | null;
  traceToken: string;
  createdAt: Date;
  /** QUERY_MAX_SECONDS after that. */
  deadlineAt: Date;
}

/** The state with which a replica executes a query. Rows are counted from the query's first. */
export interface ExecutionState {
  id: string;
  userId: number;
  runAs: string;
  catalog: string | null;
  schema: string | null;
  traceToken: string;
  deadlineAt: Date;
  state: Extract<QueryState, 'queued' | 'running'>;
  startedAt: Date | null;
  progressPercent: number | null;
  engineQueryId: string | null;
  columns: readonly Column[] | null;
  /** A capability. Null: the engine has no further page. */
  nextPath: string | null;
  /** A capability: where the page that waits for a reader was found. Null: none waits. */
  pagePath: string | null;
  pageStart: number;
  /** The newest page handed out: from this row … */
  newestFrom: number;
  /** … up to before this one. */
  rowsReturned: number;
  waitingSince: Date | null;
}

/** Before the engine's first answer. */
export function newExecution(query: NewQuery): ExecutionState {
  const { id, userId, runAs, catalog, schema, traceToken, deadlineAt } = query;
  return {
    ...{ id, userId, runAs, catalog, schema, traceToken, deadlineAt },
    ...{ state: 'queued', startedAt: null, progressPercent: null, engineQueryId: null, columns: null },
    ...{ nextPath: null, pagePath: null, pageStart: 0, newestFrom: 0, rowsReturned: 0, waitingSince: null },
  };
}

/** The query as it is stored after its first page. */
export function startedQuery({ id, sql, catalog, schema, createdAt }: NewQuery, execution: ExecutionState): Query {
  const { state, startedAt, progressPercent, columns, engineQueryId } = execution;
  return {
    ...{ id, sql, catalog, schema, createdAt, state, startedAt, progressPercent, columns, engineQueryId },
    ...{ sqlTruncated: false, finishedAt: null, rowsReturned: 0, truncated: false, updateCount: null, error: null },
  };
}

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

/**
 * The changes of the execution by that page. One that ends the query leaves its paths: where the end could not be stored it is asked for again.
 * @param path where the page was found; null: in the answer to the POST.
 * @throws EngineFault for rows without columns.
 */
export function changesBy(
  verdict: PageVerdict,
  page: StatementPage,
  path: string | null,
  before: ExecutionState,
  now: Date,
): Partial<ExecutionState> {
  const columns = before.columns ?? page.columns;
  const state = page.rows.length > 0 ? 'running' : publicState(page.engineState);
  const startedAt = before.startedAt ?? (state === 'running' ? now : null);
  const { nextPath, progressPercent, queryId: engineQueryId } = page;
  const known = { columns, state, startedAt, progressPercent, engineQueryId } as const;
  if (verdict.kind === 'end') return known;
  if (verdict.kind === 'ask-again') return { ...known, nextPath, pagePath: null, waitingSince: null };
  if (columns === null) throw new EngineFault('protocol', 'rows without columns');
  return { ...known, nextPath, pagePath: path, pageStart: before.rowsReturned, waitingSince: now };
}

const WAITING: ReadonlySet<string> = new Set(['QUEUED', 'WAITING_FOR_RESOURCES', 'DISPATCHING']);

/** The API's state for the engine's, while the statement runs. */
export function publicState(engineState: string): Extract<QueryState, 'queued' | 'running'> {
  return WAITING.has(engineState) ? 'queued' : 'running';
}

/** Milliseconds. */
export const EXECUTION_TIMEOUTS = {
  /** How long a reader waits for rows. */
  read: 10_000,
  /** Until unread rows end the query. */
  abandoned: 300_000,
  /** How long a page that was read to its end can still be read again on any replica, before the next one is fetched. */
  newestPage: 5_000,
  /** Between two signs of life for the engine, which cancels after 5 minutes (`query.client.timeout`). */
  keepAlive: 60_000,
} as const;

/**
 * The action of a tick on a query: `expire` at QUERY_MAX_SECONDS after the POST, whoever reads; `abandon` for want of a reader
 * (one who asks for the newest page again reads nothing); `resume` where no page waits; `fetch-next` if the page that waits
 * has been read to its end; `wait` otherwise.
 */
export type Action = 'expire' | 'abandon' | 'resume' | 'fetch-next' | 'wait';

interface Timing extends Pick<ExecutionState, 'deadlineAt' | 'waitingSince' | 'pageStart' | 'rowsReturned'> {
  /** A reader waits for rows that nobody has read. */
  isReadOn: boolean;
}

export function nextAction(timing: Timing, now: Date): Action {
  const { deadlineAt, waitingSince, pageStart, rowsReturned, isReadOn } = timing;
  if (now >= deadlineAt) return 'expire';
  if (waitingSince === null) return 'resume';
  if (isReadOn) return 'wait';
  const waiting = now.getTime() - waitingSince.getTime();
  if (waiting >= EXECUTION_TIMEOUTS.abandoned) return 'abandon';
  return waiting >= EXECUTION_TIMEOUTS.newestPage && rowsReturned > pageStart ? 'fetch-next' : 'wait';
}
