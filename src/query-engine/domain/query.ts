import { Refused } from '../../kernel/errors.js';
import { isUuid } from '../../kernel/ids.js';
import { namesOfCursor } from '../../kernel/page.js';
import type { EngineError, EngineFaultKind } from './engine-error.js';
import type { Column } from './engine-type.js';

export type QueryState = 'queued' | 'running' | 'finished' | 'failed' | 'cancelled';

/**
 * Why a query failed or was cancelled, besides an error of the engine (`query_failed`). `query_abandoned`: its rows were not
 * fetched. `query_lost`: its replica has died, or the engine has forgotten it. `page_too_large`: beyond
 * QUERY_MAX_PAGE_BYTES, or too many columns. `too_many_unread_rows`: beyond a user's share of QUERY_MAX_HELD_BYTES.
 */
const MESSAGES = {
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

type OwnErrorCode = keyof typeof MESSAGES;
type QueryErrorCode = 'query_failed' | OwnErrorCode;

export const QUERY_ERROR_CODES: readonly string[] = ['query_failed', ...Object.keys(MESSAGES)];

export interface QueryError {
  code: QueryErrorCode;
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
  /** Null until the engine has described the columns. */
  columns: readonly Column[] | null;
  /** Number of rows that the statement changed; null for a statement that only reads. */
  updateCount: bigint | null;
  engineQueryId: string | null;
  error: QueryError | null;
}

/** How a query ends. The first of several endings counts. */
export type Ending =
  | { state: 'finished'; truncated: boolean; updateCount: bigint | null }
  | { state: 'failed' | 'cancelled'; error: QueryError };

const CANCELLED: ReadonlySet<OwnErrorCode> = new Set<OwnErrorCode>([
  'query_cancelled',
  'query_abandoned',
  'account_deactivated',
]);

export function errorOfCode(code: OwnErrorCode): QueryError {
  return { code, message: MESSAGES[code], engineErrorName: null, line: null, column: null };
}

export function endingByCode(code: OwnErrorCode): Ending {
  return { state: CANCELLED.has(code) ? 'cancelled' : 'failed', error: errorOfCode(code) };
}

const FAULTS: Record<EngineFaultKind, OwnErrorCode> = {
  unavailable: 'engine_unavailable',
  refused: 'engine_unavailable',
  forbidden: 'engine_forbidden',
  gone: 'query_lost',
  protocol: 'engine_protocol_error',
  deadline: 'query_timeout',
  'too-large': 'page_too_large',
  share: 'too_many_unread_rows',
};

/** The ending of a query of which the engine gave no page. */
export function endingByFault(kind: EngineFaultKind): Ending {
  return endingByCode(FAULTS[kind]);
}

/** The ending by an error of the engine. readEngineError has removed its private parts. */
export function endingByEngineError({ name, message, line, column }: EngineError): Ending {
  return { state: 'failed', error: { code: 'query_failed', message, engineErrorName: name, line, column } };
}

/** Seconds, for `Retry-After`. */
export const RETRY_AFTER = 5;

/** @param limit the most running queries of one user */
export function tooManyQueries(limit: number): Refused {
  return new Refused('too_many_queries', { quota: { name: 'running-queries', limit }, retryAfter: RETRY_AFTER });
}

/** Identifies the last query of a page in a user's list. Stays valid when queries are added or removed. */
export interface QueryCursor {
  createdAt: Date;
  id: string;
}

export function keyOfQuery({ createdAt, id }: QueryCursor): string[] {
  return [createdAt.toISOString(), id];
}

/** The cursor in a text; null: the text is no cursor of this list. */
export function readQueryCursor(text: string): QueryCursor | null {
  const [at = '', id = '', ...rest] = namesOfCursor(text) ?? [];
  const createdAt = new Date(at);
  const isTime = !Number.isNaN(createdAt.getTime()) && createdAt.toISOString() === at;
  return isTime && isUuid(id) && rest.length === 0 ? { createdAt, id } : null;
}
