import type { Column } from './engine-type.js';
import { EngineFault } from './engine-error.js';
import { type Ending, endingForEngineError, type Query, type QueryState } from './query.js';
import type { StatementPage } from './statement-page.js';

export interface NewQuery extends Statement {
  sql: string;
  createdAt: Date;
}

interface Statement {
  id: string;
  userId: number;
  /** The user that the statement runs as on the engine. */
  runAs: string;
  catalog: string | null;
  schema: string | null;
  traceToken: string;
  /** QUERY_MAX_SECONDS after the query's creation. */
  deadlineAt: Date;
}

/** The state of a query's execution. Any replica can continue the execution from it. Rows are numbered from 0. */
export interface ExecutionState extends Statement {
  state: Extract<QueryState, 'queued' | 'running'>;
  startedAt: Date | null;
  progressPercent: number | null;
  engineQueryId: string | null;
  columns: readonly Column[] | null;
  /** The path of the next page, which is secret: the path alone gives access. Null: the engine has no further page. */
  nextPath: string | null;
  /** The path of the page that waits for a reader. The path is secret, because it alone gives access. Null: no page waits. */
  waitingPagePath: string | null;
  /** The number of the first row of the page that waits for a reader. */
  waitingPageStart: number;
  /** The number of the first row of the page that was handed out last. */
  newestPageStart: number;
  /** The number of rows handed out so far, which is also the number of the next row. */
  rowsReturned: number;
  waitingSince: Date | null;
}

/** The state before the engine's first answer. */
export function newExecution(query: NewQuery): ExecutionState {
  const { id, userId, runAs, catalog, schema, traceToken, deadlineAt } = query;
  return {
    ...{ id, userId, runAs, catalog, schema, traceToken, deadlineAt },
    ...{ state: 'queued', startedAt: null, progressPercent: null, engineQueryId: null, columns: null },
    ...{ nextPath: null, waitingPagePath: null, waitingPageStart: 0, waitingSince: null },
    ...{ newestPageStart: 0, rowsReturned: 0 },
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
 * Decides the next step after a page. A page with rows is held for a reader. The exception is the page with the row count of an INSERT
 * or a CREATE TABLE AS, so that such a statement ends without a reader. Other rows of writing statements have no count with them: the
 * plan of EXPLAIN ANALYZE INSERT, the metrics of ALTER TABLE EXECUTE.
 */
export function judgePage(page: StatementPage): PageVerdict {
  if (page.error !== null) return { kind: 'end', ending: endingForEngineError(page.error) };
  if (page.rows.length > 0 && page.updateCount === null) return { kind: 'hold' };
  if (page.nextPath !== null) return { kind: 'fetch-next' };
  return { kind: 'end', ending: { state: 'finished', truncated: false, updateCount: page.updateCount } };
}

/**
 * The changes that a page makes to the state of an execution. A page that ends the query leaves the paths unchanged, so that
 * this page can be fetched again if the end could not be stored.
 * @param path the page's path; null: the page is the answer to the POST
 * @throws EngineFault for rows without columns.
 */
export function changesOfPage(
  verdict: PageVerdict,
  page: StatementPage,
  path: string | null,
  formerState: ExecutionState,
  now: Date,
): Partial<ExecutionState> {
  const columns = formerState.columns ?? page.columns;
  const state = page.rows.length > 0 ? 'running' : publicState(page.engineState);
  const startedAt = formerState.startedAt ?? (state === 'running' ? now : null);
  const { nextPath, progressPercent, queryId: engineQueryId } = page;
  const changes = { columns, state, startedAt, progressPercent, engineQueryId } as const;
  if (verdict.kind === 'end') return changes;
  if (verdict.kind === 'fetch-next') return { ...changes, nextPath, waitingPagePath: null, waitingSince: null };
  if (columns === null) throw new EngineFault('protocol', 'rows without columns');
  return { ...changes, nextPath, waitingPagePath: path, waitingPageStart: formerState.rowsReturned, waitingSince: now };
}

const QUEUED_ENGINE_STATES: ReadonlySet<string> = new Set(['QUEUED', 'WAITING_FOR_RESOURCES', 'DISPATCHING']);

/** The API's state of a running statement, from the engine's state. */
export function publicState(engineState: string): Extract<QueryState, 'queued' | 'running'> {
  return QUEUED_ENGINE_STATES.has(engineState) ? 'queued' : 'running';
}

/** Times in milliseconds. */
export const EXECUTION_TIMEOUTS = {
  /** How long a request for rows waits for a page. */
  rowsRequest: 10_000,
  /** How long rows can stay unread before the query ends. */
  unreadRows: 300_000,
  /** How long a fully read page can be read again on any replica, before the next one is fetched. */
  newestPage: 5_000,
  /** The time between two keep-alive requests. The engine cancels a query after 5 minutes without a request (`query.client.timeout`). */
  keepAlive: 60_000,
} as const;

/**
 * The action that is due for a query. `expire`: end it, because QUERY_MAX_SECONDS have passed since the POST. `abandon`: end it, because no
 * reader has asked for new rows, or received any, for too long. `resume`: fetch pages, because none waits for a reader. `fetch-next`: fetch the next page,
 * because the waiting page was read some seconds ago. `wait`: do nothing.
 */
export type Action = 'expire' | 'abandon' | 'resume' | 'fetch-next' | 'wait';

interface Timing extends Pick<ExecutionState, 'deadlineAt' | 'waitingSince' | 'waitingPageStart' | 'rowsReturned'> {
  /** Whether a request waits for rows that were not handed out before. */
  isReaderWaiting: boolean;
  /** When a reader was last receiving rows of a page. */
  beingReadAt: Date;
}

export function nextAction(timing: Timing, now: Date): Action {
  const { deadlineAt, waitingSince, waitingPageStart, rowsReturned, isReaderWaiting, beingReadAt } = timing;
  if (now >= deadlineAt) return 'expire';
  if (waitingSince === null) return 'resume';
  if (isReaderWaiting) return 'wait';
  const waitedMilliseconds = now.getTime() - waitingSince.getTime();
  const unreadMilliseconds = Math.min(waitedMilliseconds, now.getTime() - beingReadAt.getTime());
  if (unreadMilliseconds >= EXECUTION_TIMEOUTS.unreadRows) return 'abandon';
  return waitedMilliseconds >= EXECUTION_TIMEOUTS.newestPage && rowsReturned > waitingPageStart ? 'fetch-next' : 'wait';
}
