import type { ExecutionState, NewQuery } from './execution-state.js';
import type { Ending, Query, QueryCursor } from './query.js';

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
  /** Columns that are null stay as they are stored. */
  abstract save(replica: string, state: ExecutionState): Promise<boolean>;
  /** @param last state, stored with it where it is new. */
  abstract end(id: string, replica: string, ending: Ending, at: Date, last?: ExecutionState): Promise<boolean>;
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
  abstract page(after: QueryCursor | null, limit: number): Promise<Query[]>;
  /** The query to cancel on the engine; `ended`: it had ended before; null: this user has no such query. */
  abstract cancel(id: string, ending: Ending, at: Date): Promise<Ended | 'ended' | null>;
}
