import type { EngineError } from './engine-error.js';
import type { Column } from './engine-type.js';
import type { EngineFaultKind } from './statement-client.js';

export type QueryState = 'queued' | 'running' | 'finished' | 'failed' | 'cancelled';

/**
 * Why a query did not end well. `query_failed`: the engine says so, and why. `query_abandoned`: nobody fetched its rows.
 * `query_lost`: the replica that drove it, or the engine, does not know it any more.
 */
export type QueryErrorCode =
  | 'query_failed'
  | 'query_cancelled'
  | 'query_timeout'
  | 'query_abandoned'
  | 'query_lost'
  | 'account_deactivated'
  | 'engine_unavailable'
  | 'engine_protocol_error';

export interface QueryError {
  code: QueryErrorCode;
  /** Public. */
  message: string;
  engineErrorName: string | null;
  line: number | null;
  column: number | null;
}

/** A person's statement, as the person sees it. */
export interface Query {
  id: string;
  state: QueryState;
  sql: string;
  catalog: string | null;
  schema: string | null;
  createdAt: Date;
  /** When the engine began to execute it. */
  startedAt: Date | null;
  finishedAt: Date | null;
  /** From 0 to 100, as far as the engine can say. */
  progressPercent: number | null;
  /** Handed out, not produced. */
  rowsReturned: number;
  /** QUERY_MAX_ROWS was reached. */
  truncated: boolean;
  /** Null until the engine has said them. */
  columns: readonly Column[] | null;
  /** Rows that the statement changed; null for one that only reads. */
  updateCount: bigint | null;
  engineQueryId: string | null;
  error: QueryError | null;
}

/** How a query ends; of several reasons the first wins. */
export type Ending =
  | { state: 'finished'; truncated: boolean; updateCount: bigint | null }
  | { state: 'failed' | 'cancelled'; error: QueryError };

const OUR_WORDS: Record<Exclude<QueryErrorCode, 'query_failed'>, string> = {
  query_cancelled: 'The query was cancelled.',
  query_timeout: 'The query took longer than it may.',
  query_abandoned: 'Nobody fetched the rows, so the query was cancelled.',
  query_lost: 'The query was lost; run it again.',
  account_deactivated: 'The account was deactivated.',
  engine_unavailable: 'The query engine could not be reached any more.',
  engine_protocol_error: 'The query engine answered something that is not its protocol.',
};

const CANCELLED: ReadonlySet<QueryErrorCode> = new Set<QueryErrorCode>([
  'query_cancelled',
  'query_abandoned',
  'account_deactivated',
]);

export function endedBy(code: Exclude<QueryErrorCode, 'query_failed'>): Ending {
  const error = { code, message: OUR_WORDS[code], engineErrorName: null, line: null, column: null };
  return { state: CANCELLED.has(code) ? 'cancelled' : 'failed', error };
}

const FAULTS: Record<EngineFaultKind, Exclude<QueryErrorCode, 'query_failed'>> = {
  unavailable: 'engine_unavailable',
  refused: 'engine_unavailable',
  gone: 'query_lost',
  protocol: 'engine_protocol_error',
  deadline: 'query_timeout',
};

/** The engine gave no page. */
export function endedByFault(kind: EngineFaultKind): Ending {
  return endedBy(FAULTS[kind]);
}

/** The engine says that the statement failed; what it says was cleaned when it was read. */
export function failedOnEngine({ name, message, line, column }: EngineError): Ending {
  return { state: 'failed', error: { code: 'query_failed', message, engineErrorName: name, line, column } };
}

const UUID = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/i;

/** Whether a query could have that id; anything else is nobody's query. */
export function isQueryId(text: string): boolean {
  return UUID.test(text);
}
