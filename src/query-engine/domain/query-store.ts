import type { Column } from './engine-type.js';
import type { Ending, Query, QueryState } from './query.js';

export interface NewQuery {
  id: string;
  userId: number;
  /** Whom the engine sees. */
  runAs: string;
  sql: string;
  catalog: string | null;
  schema: string | null;
  traceToken: string;
  createdAt: Date;
  /** QUERY_MAX_SECONDS after that. */
  deadlineAt: Date;
}

/** What a replica needs to drive a query, and where it stands. Rows are counted from the query's first. */
export interface Drive {
  id: string;
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

/** What a page of the engine changed. */
export interface QueryProgress {
  state: Extract<QueryState, 'queued' | 'running'>;
  startedAt: Date | null;
  progressPercent: number | null;
  engineQueryId: string;
  columns: readonly Column[] | null;
  nextPath: string | null;
  pagePath: string | null;
  pageStart: number;
  waitingSince: Date | null;
}

/** What is needed to tell the engine that a query was cancelled. */
export type Ended = Pick<Drive, 'runAs' | 'catalog' | 'schema' | 'traceToken' | 'nextPath'>;

/**
 * Where queries are kept, shared by all replicas. One of them drives a query, for as long as it renews its lease; every
 * method that writes on behalf of a driver does nothing for one who is no longer it, and says so.
 */
export abstract class QueryStore {
  /** One person's queries, and nobody else's (product.md section 4, per-user isolation). */
  abstract ownedBy(userId: number): OwnQueries;
  /** False: the person has so many alive already; of many at once no more than that get in. */
  abstract reserve(query: NewQuery, driver: string, mostAlive: number): Promise<boolean>;
  /** The engine did not take it: as if it had never been. */
  abstract discard(id: string): Promise<void>;
  abstract progress(id: string, driver: string, progress: QueryProgress): Promise<boolean>;
  /** The page that waited has been read, and is not to be asked for again. */
  abstract letGoOfPage(id: string, driver: string): Promise<boolean>;
  /** Rows from … up to before … go to the reader now. */
  abstract handOut(id: string, driver: string, from: number, to: number, at: Date): Promise<boolean>;
  /** False: it had ended, or another drives it. */
  abstract end(id: string, driver: string, ending: Ending, at: Date): Promise<boolean>;
  /** Makes this replica the driver of a query that the engine has taken, whoever was before. Null: it has ended. */
  abstract claim(id: string, driver: string): Promise<Drive | null>;
  /** Up to so many whose driver has not renewed its lease. */
  abstract claimExpired(driver: string, most: number): Promise<Drive[]>;
  /** The queries that this replica still drives, and whether their people are still active. */
  abstract renew(driver: string): Promise<{ id: string; isActive: boolean }[]>;
  /** Lets another replica take them over at once. */
  abstract release(driver: string): Promise<void>;
  /** Removes what ended before that. @returns how many. */
  abstract removePast(before: Date): Promise<number>;
}

/** One person's queries. It cannot be asked for anybody else's. */
export abstract class OwnQueries {
  /** Null: this person has no such query. */
  abstract find(id: string): Promise<Query | null>;
  /** The newest first, beginning after that one; at most `limit`. */
  abstract page(after: { createdAt: Date; id: string } | null, limit: number): Promise<Query[]>;
  /** What was to be cancelled; `ended`: it had ended before; null: this person has no such query. */
  abstract cancel(id: string, ending: Ending, at: Date): Promise<Ended | 'ended' | null>;
}
