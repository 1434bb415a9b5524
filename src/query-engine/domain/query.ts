import { Refused } from '../../kernel/errors.js';
import { isUuid } from '../../kernel/ids.js';
import { namesOfCursor } from '../../kernel/page.js';
import type { EngineError, EngineFaultKind } from './engine-error.js';
import type { Column } from './engine-type.js';

export type QueryState = 'queued' | 'running' | 'finished' | 'failed' | 'cancelled';

/**
 * Messages of failed or cancelled queries by the service's own error code. Errors of the engine (`query_failed`) have the engine's
 * message. `query_lost`: the query's replica has died, or the engine no longer knows the query. `page_too_large`: a page has more than
 * QUERY_MAX_PAGE_BYTES, too many columns, or a row that exceeds a user's share of QUERY_MAX_HELD_BYTES while it is sent.
 * `too_many_unread_rows`: the user's unread pages exceed that share.
 */
const ERROR_MESSAGES = {
  query_cancelled: 'The query was cancelled.',
  query_timeout: 'The query exceeded its time limit.',
  query_abandoned: 'The rows were not fetched, so the query was cancelled.',
  query_lost: 'The query was lost; run it again.',
  page_too_large: 'The engine sent more at once than this service takes; select fewer columns or smaller values.',
  too_many_unread_rows: 'Your queries hold too many unread rows; read or cancel some, then run this again.',
  account_deactivated: 'The account was deactivated.',
  engine_unavailable: 'The query engine is no longer reachable.',
  engine_forbidden: 'The query engine does not admit this service.',
  engine_protocol_error: 'The query engine answered something that is not its protocol.',
};

type OwnErrorCode = keyof typeof ERROR_MESSAGES;

export const QUERY_ERROR_CODES: readonly string[] = ['query_failed', ...Object.keys(ERROR_MESSAGES)];

export interface QueryError {
  code: 'query_failed' | OwnErrorCode;
  /** Text for users. */
  message: string;
  engineErrorName: string | null;
  line: number | null;
  column: number | null;
}

/** A user's query, as the user sees it. */
export interface Query {
  id: string;
  state: QueryState;
  sql: string;
  /** Whether `sql` is only the beginning of a long text, as in lists. */
  sqlTruncated: boolean;
  catalog: string | null;
  schema: string | null;
  createdAt: Date;
  /** When the engine began to execute the query. */
  startedAt: Date | null;
  finishedAt: Date | null;
  /** From 0 to 100; null while the engine reports none. */
  progressPercent: number | null;
  /** Number of rows handed out so far, not of rows that the engine produced. */
  rowsReturned: number;
  /** Whether QUERY_MAX_ROWS was reached. */
  truncated: boolean;
  /** The columns of the result; null until the engine has described them. */
  columns: readonly Column[] | null;
  /** Number of rows that the statement changed; null for a statement that only reads. */
  updateCount: bigint | null;
  engineQueryId: string | null;
  error: QueryError | null;
}

/** How a query ends. If two are reported, for example a cancellation and a timeout, the first one counts. */
export type Ending =
  | { state: 'finished'; truncated: boolean; updateCount: bigint | null }
  | { state: 'failed' | 'cancelled'; error: QueryError };

const CANCELLING_CODES: ReadonlySet<OwnErrorCode> = new Set<OwnErrorCode>([
  'query_cancelled',
  'query_abandoned',
  'account_deactivated',
]);

export function errorWithCode(code: OwnErrorCode): QueryError {
  return { code, message: ERROR_MESSAGES[code], engineErrorName: null, line: null, column: null };
}

export function endingWithCode(code: OwnErrorCode): Ending {
  return { state: CANCELLING_CODES.has(code) ? 'cancelled' : 'failed', error: errorWithCode(code) };
}

const CODE_BY_FAULT: Record<EngineFaultKind, OwnErrorCode> = {
  unavailable: 'engine_unavailable',
  refused: 'engine_unavailable',
  forbidden: 'engine_forbidden',
  gone: 'query_lost',
  protocol: 'engine_protocol_error',
  deadline: 'query_timeout',
  'too-large': 'page_too_large',
  share: 'too_many_unread_rows',
};

/** The ending of a query for which the engine gave no page. */
export function endingForFault(kind: EngineFaultKind): Ending {
  return { state: 'failed', error: errorOfFault(kind) };
}

export function errorOfFault(kind: EngineFaultKind): QueryError {
  return errorWithCode(CODE_BY_FAULT[kind]);
}

/** The ending of a query that failed with an error of the engine. readEngineError has removed the error's private parts. */
export function endingForEngineError({ name, message, line, column }: EngineError): Ending {
  return { state: 'failed', error: { code: 'query_failed', message, engineErrorName: name, line, column } };
}

/** Seconds, for the header `Retry-After`. */
export const RETRY_AFTER = 5;

/** @param limit the maximum number of running queries of one user */
export function tooManyQueries(limit: number): Refused {
  return new Refused('too_many_queries', { quota: { name: 'running-queries', limit }, retryAfter: RETRY_AFTER });
}

/** Identifies the last query of a page in a user's list. Stays valid when queries are added or removed. */
export interface QueryCursor {
  createdAt: Date;
  id: string;
}

export function queryKey({ createdAt, id }: QueryCursor): string[] {
  return [createdAt.toISOString(), id];
}

/** Reads a cursor from its text; null: the text is no cursor of this list. */
export function readQueryCursor(text: string): QueryCursor | null {
  const [time = '', id = '', ...rest] = namesOfCursor(text) ?? [];
  const createdAt = new Date(time);
  const isTime = !Number.isNaN(createdAt.getTime()) && createdAt.toISOString() === time;
  return isTime && isUuid(id) && rest.length === 0 ? { createdAt, id } : null;
}
