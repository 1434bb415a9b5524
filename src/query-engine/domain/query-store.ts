import type { Column } from './engine-type.js';
import type { Ending, Query, QueryState } from './query.js';

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

/** From that row on up to before that one. */
export interface RowSpan {
  from: number;
  to: number;
}

/** Changes of a query by a page of the engine. */
export interface QueryProgress {
  state: Extract<QueryState, 'queued' | 'running'>;
  startedAt: Date | null;
  progressPercent: number | null;
  engineQueryId: string;
  /** Null: none are known yet, or they are stored already. */
  columns: readonly Column[] | null;
  nextPath: string | null;
  pagePath: string | null;
  pageStart: number;
  waitingSince: Date | null;
}

/** The query as it is stored after its first page. */
export function startedQuery({ id, sql, catalog, schema, createdAt }: NewQuery, progress: QueryProgress): Query {
  const { state, startedAt, progressPercent, columns, engineQueryId } = progress;
  return {
    ...{ id, sql, catalog, schema, createdAt, state, startedAt, progressPercent, columns, engineQueryId },
    ...{ sqlTruncated: false, finishedAt: null, rowsReturned: 0, truncated: false, updateCount: null, error: null },
  };
}

/** The data to cancel a query on the engine. */
export type Ended = Pick<ExecutionState, 'runAs' | 'catalog' | 'schema' | 'traceToken' | 'nextPath'>;

/**
 * The queries of all replicas. One replica executes a query, for as long as it renews its lease. Methods that take a replica
 * change nothing and return false when another one executes the query, or none does.
 */
export abstract class QueryStore {
  /** The queries of one user. */
  abstract ownedBy(userId: number): OwnQueries;
  /** False: the user has `mostAlive` running ones already, however many are reserved at once. */
  abstract reserve(query: NewQuery, replica: string, mostAlive: number): Promise<boolean>;
  /** Removes the user's oldest queries beyond what is kept of one user. */
  abstract forgetOldest(userId: number): Promise<void>;
  /** Removes a query that the engine did not accept. */
  abstract discard(id: string): Promise<void>;
  abstract progress(id: string, replica: string, progress: QueryProgress): Promise<boolean>;
  /** The held page has been read, and cannot be asked for again. */
  abstract releasePage(id: string, replica: string): Promise<boolean>;
  /** Rows from … up to before … go to the reader. @param at null: a stream's, and the page is released with them. */
  abstract handOut(id: string, replica: string, rows: RowSpan, at: Date | null): Promise<boolean>;
  /** @param last handed out at the same time. */
  abstract end(id: string, replica: string, ending: Ending, at: Date, last?: RowSpan): Promise<boolean>;
  /** Takes over a query that the engine has accepted. `wasOwn`: this replica executed it already. Null: it has ended. */
  abstract claim(id: string, replica: string): Promise<{ state: ExecutionState; wasOwn: boolean } | null>;
  /** Takes over up to `most` queries of other replicas whose lease has expired. */
  abstract claimExpired(replica: string, most: number): Promise<ExecutionState[]>;
  /** Renews the leases of this replica. @returns the queries that it executes, and whether their users are active. */
  abstract renew(replica: string): Promise<{ id: string; isActive: boolean }[]>;
  /** Ends the leases of queries that the engine has accepted, so that another replica can take over at once. */
  abstract release(replica: string): Promise<void>;
  /** Removes queries that ended before. @returns how many. */
  abstract removePast(before: Date): Promise<number>;
}

/** The queries of one user; no method can reach another user's. */
export abstract class OwnQueries {
  /** Null: this user has no such query. */
  abstract find(id: string): Promise<Query | null>;
  /** Newest first, beginning after that one; at most `limit`. */
  abstract page(after: { createdAt: Date; id: string } | null, limit: number): Promise<Query[]>;
  /** The query to cancel on the engine; `ended`: it had ended before; null: this user has no such query. */
  abstract cancel(id: string, ending: Ending, at: Date): Promise<Ended | 'ended' | null>;
}
