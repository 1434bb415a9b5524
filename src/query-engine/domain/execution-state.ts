import type { Column } from './engine-type.js';
import { EngineFault } from './engine-error.js';
import { type Ending, endingByEngineError, type Query, type QueryState } from './query.js';
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
  /** QUERY_MAX_SECONDS after the query's creation. */
  deadlineAt: Date;
}

/** The state of a query's execution, with which any replica can continue it. Row numbers count from the query's first row. */
export interface ExecutionState extends Statement {
  state: Extract<QueryState, 'queued' | 'running'>;
  startedAt: Date | null;
  progressPercent: number | null;
  engineQueryId: string | null;
  columns: readonly Column[] | null;
  /** The path of the next page, a capability. Null: the engine has no further page. */
  nextPath: string | null;
  /** The path of the page that waits for a reader, a capability. Null: no page waits. */
  pagePath: string | null;
  pageStart: number;
  /** First row of the page that was handed out last. */
  newestFrom: number;
  /** The row after that page's last one: the number of rows handed out. */
  rowsReturned: number;
  waitingSince: Date | null;
}

/** The state before the engine's first answer. */
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
 * A page with rows waits for a reader. The only row of an INSERT or a CREATE TABLE AS, the number of written rows, does not wait: such a
 * statement must come to its end without a reader.
 */
export function judgePage(page: StatementPage): PageVerdict {
  if (page.error !== null) return { kind: 'end', ending: endingByEngineError(page.error) };
  if (page.rows.length > 0 && page.updateType === null) return { kind: 'hold' };
  if (page.nextPath !== null) return { kind: 'fetch-next' };
  return { kind: 'end', ending: { state: 'finished', truncated: false, updateCount: page.updateCount } };
}

/**
 * The changes of the execution by a page. A page that ends the query keeps the paths, so that it can be fetched again if the end could not
 * be stored.
 * @param path the page's path; null: the page is the answer to the POST
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

/** Times in milliseconds. */
export const EXECUTION_TIMEOUTS = {
  /** How long a request for rows waits. */
  read: 10_000,
  /** How long rows can stay unread before the query ends. */
  abandoned: 300_000,
  /** How long a fully read page can be read again on any replica, before the next one is fetched. */
  newestPage: 5_000,
  /** The time between two keep-alive requests. The engine cancels after 5 minutes without one (`query.client.timeout`). */
  keepAlive: 60_000,
} as const;

/**
 * What a tick does with a query. `expire`: QUERY_MAX_SECONDS have passed since the POST. `abandon`: no reader came for too long (a request
 * that repeats the newest page does not count). `resume`: no page waits. `fetch-next`: the waiting page was read to its end. `wait`:
 * otherwise.
 */
export type Action = 'expire' | 'abandon' | 'resume' | 'fetch-next' | 'wait';

interface Timing extends Pick<ExecutionState, 'deadlineAt' | 'waitingSince' | 'pageStart' | 'rowsReturned'> {
  /** Whether a request waits for rows that were not handed out before. */
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
