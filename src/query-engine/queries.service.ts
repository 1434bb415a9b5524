import { Injectable } from '@nestjs/common';
import { Clock, Timers } from '../kernel/clock.js';
import type { ConcurrencyQuota } from '../kernel/errors.js';
import { Ids, isUuid } from '../kernel/ids.js';
import { type Page, pageOf } from '../kernel/page.js';
import type { AuthenticatedUser } from '../platform/http/access.js';
import { Log } from '../platform/log/log.js';
import { Settings } from '../platform/settings/settings.js';
import { sessionFor, InvalidSession } from './domain/engine-session.js';
import { endedBy, keyOfQuery, type Query, type QueryCursor } from './domain/query.js';
import { type ExecutionState, type NewQuery, startedQuery } from './domain/execution-state.js';
import { rowsOfEnded, type RowsResult, smallPage } from './domain/held-page.js';
import { QueryStore } from './domain/query-store.js';
import { type Parameter, InvalidParameter, statementText } from './domain/sql-literal.js';
import { EngineFault, type StatementAnswer, StatementClient } from './domain/statement-client.js';
import { EngineIdentity } from './engine-identity.service.js';
import { QueryMetrics } from './query.metrics.js';
import { QueryExecutions } from './query-executions.service.js';

export interface Submission {
  sql: string;
  catalog: string | null;
  schema: string | null;
  parameters: readonly Parameter[];
}

export type Submitted =
  | { kind: 'submitted'; query: Query }
  | { kind: 'refused'; code: 'impersonation_disabled' | 'engine_unavailable' | 'engine_forbidden' }
  | { kind: 'no-engine' }
  | { kind: 'too-many'; quota: ConcurrencyQuota }
  | { kind: 'invalid'; field: string; message: string };

/** Users' SQL on the engine, each under the user's own name and visible to that user alone. */
@Injectable()
export class QueriesService {
  constructor(
    private readonly store: QueryStore,
    private readonly executions: QueryExecutions,
    private readonly client: StatementClient,
    private readonly identity: EngineIdentity,
    private readonly settings: Settings,
    private readonly timers: Timers,
    private readonly clock: Clock,
    private readonly ids: Ids,
    private readonly metrics: QueryMetrics,
    private readonly log: Log,
  ) {}

  /** Resolves once the engine has accepted the statement. @param signal aborted when the client disconnects before that. */
  async submit(user: AuthenticatedUser, asked: Submission, requestId: string, signal: AbortSignal): Promise<Submitted> {
    const { engine, queries } = this.settings;
    // A user's SQL never runs as the service account.
    if (!engine.impersonation) return { kind: 'refused', code: 'impersonation_disabled' };
    if (engine.origin === null) return { kind: 'no-engine' };
    if (!(await this.identity.respectsUserHeaders())) return { kind: 'refused', code: 'engine_unavailable' };
    const createdAt = this.clock.now();
    const { sql, catalog, schema } = asked;
    const query: NewQuery = {
      ...{ id: this.ids.uuid(), userId: user.id, runAs: user.username, sql, catalog, schema, traceToken: requestId },
      createdAt,
      deadlineAt: new Date(createdAt.getTime() + queries.maxSeconds * 1000),
    };
    if (!(await this.executions.reserve(query, queries.maxRunningPerUser))) {
      return { kind: 'too-many', quota: { name: 'running-queries', limit: queries.maxRunningPerUser } };
    }
    const answer = await this.submitToEngine(query, asked, signal);
    if ('kind' in answer) return answer;
    const execution = await this.begin(query, answer);
    // The store has the end of one that has ended at once.
    const submitted = execution === null ? await this.find(user, query.id) : startedQuery(query, execution);
    return submitted === null
      ? { kind: 'refused', code: 'engine_unavailable' }
      : { kind: 'submitted', query: submitted };
  }

  /** Null: this user has no such query. */
  async find(user: AuthenticatedUser, id: string): Promise<Query | null> {
    return isUuid(id) ? this.store.ownedBy(user.id).find(id) : null;
  }

  /** Newest first. */
  async list(user: AuthenticatedUser, after: QueryCursor | null, limit: number): Promise<Page<Query>> {
    return pageOf(await this.store.ownedBy(user.id).page(after, limit + 1), limit, keyOfQuery);
  }

  /** False: this user has no such query. One that has ended is not changed. */
  cancel(user: AuthenticatedUser, id: string): Promise<boolean> {
    return this.endAs('query_cancelled', user, id);
  }

  /** Cancels a query whose reader has gone. */
  async abandon(user: AuthenticatedUser, id: string): Promise<void> {
    await this.endAs('query_abandoned', user, id);
  }

  private async endAs(
    code: 'query_cancelled' | 'query_abandoned',
    user: AuthenticatedUser,
    id: string,
  ): Promise<boolean> {
    if (!isUuid(id)) return false;
    const ending = endedBy(code);
    const ended = await this.store.ownedBy(user.id).cancel(id, ending, this.clock.now());
    if (ended === null) return false;
    if (ended !== 'ended') this.metrics.ended(ending);
    this.executions.forget(id);
    if (ended !== 'ended' && ended.nextPath !== null) {
      const { catalog, schema, traceToken } = ended;
      await this.client.cancel(ended.nextPath, sessionFor(ended.runAs, { catalog, schema, traceToken }));
    }
    return true;
  }

  /** The rows from that one on, at most so many; waits for them up to 10 s. */
  async rows(user: AuthenticatedUser, id: string, from: number, limit: number): Promise<RowsResult> {
    const isOwn = this.executions.isExecutedFor(user.id, id) || (await this.find(user, id)) !== null;
    if (!isOwn) return { kind: 'not-found' };
    return (await this.executions.rows(id, from, limit)) ?? this.rowsOfStored(user, id, from);
  }

  private async rowsOfStored(user: AuthenticatedUser, id: string, from: number): Promise<RowsResult> {
    const query = await this.find(user, id);
    if (query === null) return { kind: 'not-found' };
    const { state, columns, truncated, updateCount, error } = query;
    if (state === 'finished') return rowsOfEnded({ state, truncated, updateCount }, query, from);
    if (state === 'failed' || state === 'cancelled')
      return error === null ? { kind: 'gone' } : rowsOfEnded({ state, error }, query, from);
    // Another replica is taking it over or has released it: the next request finds out.
    return { kind: 'page', page: smallPage(columns ?? [], [], from) };
  }

  /** A query that the engine does not accept is discarded. */
  private async submitToEngine(
    query: NewQuery,
    asked: Submission,
    signal: AbortSignal,
  ): Promise<StatementAnswer | Submitted> {
    const { id, catalog, schema, traceToken } = query;
    const deadline = this.timers.now() + this.settings.queries.maxSeconds * 1000;
    try {
      const sql = statementText(asked.sql, asked.parameters);
      const session = sessionFor(query.runAs, { catalog, schema, traceToken });
      return await this.client.submit(sql, session, { deadline, signal });
    } catch (error) {
      await this.executions.discard(id);
      if (error instanceof InvalidParameter) return { kind: 'invalid', field: 'parameters', message: error.message };
      if (error instanceof InvalidSession) return { kind: 'invalid', field: error.field, message: error.message };
      if (!(error instanceof EngineFault)) throw error;
      const reason = { query_id: id, kind: error.kind, reason: error.message };
      if (error.kind === 'forbidden') {
        this.log.warn('the engine does not admit this service', reason);
        return { kind: 'refused', code: 'engine_forbidden' };
      }
      this.log.error('the engine did not accept a statement', reason);
      return { kind: 'refused', code: 'engine_unavailable' };
    }
  }

  private async begin(query: NewQuery, { page }: StatementAnswer): Promise<ExecutionState | null> {
    const { runAs, traceToken } = query;
    try {
      return await this.executions.begin(query, page);
    } catch (error) {
      // No replica can execute it: cancelled at once, not when the engine's timeout ends it.
      if (page.nextPath !== null) await this.client.cancel(page.nextPath, sessionFor(runAs, { traceToken }));
      throw error;
    }
  }
}
