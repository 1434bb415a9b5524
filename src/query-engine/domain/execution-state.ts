import type { Column } from './engine-type.js';
import { EngineFault } from './engine-error.js';
import { type Ending, failedOnEngine, type Query, type QueryState } from './query.js';
import type { StatementPage } from './statement-page.js';

export interface NewQuery extends Statement {
  sql: string;
  createdAt: Date;
}

interface Statement {
  id: string;
  userId: number;
  /** The user of the statement on the engine. */
  runAs: string;
  catalog: string | null;
  schema: string | null;
  traceToken: string;
  /** QUERY_MAX_SECONDS after the query was made. */
  deadlineAt: Date;
}

/** The state with which a replica executes a query. Rows are counted from the query's first. */
export interface ExecutionState extends Statement {
  state: Extract<QueryState, 'queued' | 'running'>;
  startedAt: Date | null;
  progressPercent: number | null;
  engineQueryId: string | null;
  columns: readonly Column[] | null;
  /** A capability. Null: the engine has no further page. */
  nextPath: string | null;
  /** A capability: the path of the page that waits for a reader. Null: none waits. */
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

/** The next step after a page: hold it for a reader, fetch the next one, or end the query. */
export type PageVerdict = { kind: 'hold' } | { kind: 'fetch-next' } | { kind: 'end'; ending: Ending };

/**
 * A page with rows waits for a reader. The one row of an INSERT or a CREATE TABLE AS does not: it is the number of rows
 * written, and such a statement must come to its end whether it is read or not.
 */
export function judgePage(page: StatementPage): PageVerdict {
  if (page.error !== null) return { kind: 'end', ending: failedOnEngine(page.error) };
  if (page.rows.length > 0 && page.updateType === null) return { kind: 'hold' };
  if (page.nextPath !== null) return { kind: 'fetch-next' };
  return { kind: 'end', ending: { state: 'finished', truncated: false, updateCount: page.updateCount } };
}

/**
 * The changes of the execution by that page. A page that ends the query leaves the paths: it is fetched again where the end could
 * not be stored.
 * @param path of the page; null: it is the answer to the POST.
 * @throws EngineFault for rows without columns.
 */
export function changesBy(
  verdict: PageVerdict,
  page: StatementPage,
  path: string | null,
  former: ExecutionState,
  now: Date,
): Partial<ExecutionState> {
  const columns = former.columns ?? page.columns;
  const state = page.rows.length > 0 ? 'running' : publicState(page.engineState);
  const startedAt = former.startedAt ?? (state === 'running' ? now : null);
  const { nextPath, progressPercent, queryId: engineQueryId } = page;
  const known = { columns, state, startedAt, progressPercent, engineQueryId } as const;
  if (verdict.kind === 'end') return known;
  if (verdict.kind === 'fetch-next') return { ...known, nextPath, pagePath: null, waitingSince: null };
  if (columns === null) throw new EngineFault('protocol', 'rows without columns');
  return { ...known, nextPath, pagePath: path, pageStart: former.rowsReturned, waitingSince: now };
}

const WAITING: ReadonlySet<string> = new Set(['QUEUED', 'WAITING_FOR_RESOURCES', 'DISPATCHING']);

/** The API's state for the engine's, while the statement runs. */
export function publicState(engineState: string): Extract<QueryState, 'queued' | 'running'> {
  return WAITING.has(engineState) ? 'queued' : 'running';
}

/** Milliseconds. */
export const EXECUTION_TIMEOUTS = {
  /** Limit of the wait of a request for rows. */
  read: 10_000,
  /** Time after which unread rows end the query. */
  abandoned: 300_000,
  /** Time in which a fully read page can be read again on any replica, before the next one is fetched. */
  newestPage: 5_000,
  /** Between two keep-alive requests to the engine, which cancels after 5 minutes (`query.client.timeout`). */
  keepAlive: 60_000,
} as const;

/**
 * The action of a tick on a query: `expire` at QUERY_MAX_SECONDS after the POST; `abandon` after too long without a reader (asking for
 * the newest page again does not count as reading); `resume` where no page waits; `fetch-next` if the waiting page has been read to
 * its end; `wait` otherwise.
 */
export type Action = 'expire' | 'abandon' | 'resume' | 'fetch-next' | 'wait';

interface Timing extends Pick<ExecutionState, 'deadlineAt' | 'waitingSince' | 'pageStart' | 'rowsReturned'> {
  /** A request waits for rows that were not handed out before. */
  isAwaited: boolean;
}

export function nextAction(timing: Timing, now: Date): Action {
  const { deadlineAt, waitingSince, pageStart, rowsReturned, isAwaited } = timing;
  if (now >= deadlineAt) return 'expire';
  if (waitingSince === null) return 'resume';
  if (isAwaited) return 'wait';
  const waiting = now.getTime() - waitingSince.getTime();
  if (waiting >= EXECUTION_TIMEOUTS.abandoned) return 'abandon';
  return waiting >= EXECUTION_TIMEOUTS.newestPage && rowsReturned > pageStart ? 'fetch-next' : 'wait';
}
