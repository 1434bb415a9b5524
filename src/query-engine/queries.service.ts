import { Injectable } from '@nestjs/common';
import { Clock, Timers } from '../kernel/clock.js';
import { Refused } from '../kernel/errors.js';
import { Ids, isUuid } from '../kernel/ids.js';
import { type Page, pageOf } from '../kernel/page.js';
import type { AuthenticatedUser, Client } from '../platform/http/access.js';
import { Log } from '../platform/log/log.js';
import { Settings } from '../platform/settings/settings.js';
import { EngineFault } from './domain/engine-error.js';
import { type EngineSession, InvalidSession, sessionFor } from './domain/engine-session.js';
import type { NewQuery } from './domain/execution-state.js';
import { rowsOfEndedQuery, type RowsResult, uncountedPage } from './domain/held-page.js';
import { endingByCode, keyOfQuery, type Query, type QueryCursor, RETRY_AFTER, tooManyQueries } from './domain/query.js';
import { type Parameter, InvalidParameter, statementText } from './domain/sql-literal.js';
import type { StatementPage } from './domain/statement-page.js';
import { EngineIdentity } from './engine-identity.service.js';
import { QueryMetrics } from './query.metrics.js';
import { QueryExecutions } from './query-executions.service.js';
import { QueryStore } from './query.store.js';
import { TrinoStatementClient } from './trino-statement-client.js';

export interface Submission {
  sql: string;
  catalog: string | null;
  schema: string | null;
  parameters: readonly Parameter[];
}

/** Runs users' SQL on the engine, each query under its user's own name and visible to that user only. */
@Injectable()
export class QueriesService {
  /** Number of submissions by user that the engine has not answered yet. Each may become a running query. */
  private readonly submissions = new Map<number, number>();

  constructor(
    private readonly store: QueryStore,
    private readonly executions: QueryExecutions,
    private readonly client: TrinoStatementClient,
    private readonly identity: EngineIdentity,
    private readonly settings: Settings,
    private readonly timers: Timers,
    private readonly clock: Clock,
    private readonly ids: Ids,
    private readonly metrics: QueryMetrics,
    private readonly log: Log,
  ) {}

  /** Submits a statement. Resolves once the engine has accepted it. @throws Refused */
  async submit(user: AuthenticatedUser, asked: Submission, client: Client): Promise<Query> {
    const { engine, queries } = this.settings;
    // A user's SQL never runs as the service account.
    if (!engine.impersonation) throw new Refused('impersonation_disabled');
    if (engine.origin === null)
      throw new Refused('engine_unavailable', { detail: 'No engine is configured (SERVICE_QUERY_HOST).' });
    if (!(await this.identity.respectsUserHeaders())) throw unavailable();
    const submissions = this.submissions.get(user.id) ?? 0;
    if (submissions >= queries.maxRunningPerUser) throw tooManyQueries(queries.maxRunningPerUser);
    this.submissions.set(user.id, submissions + 1);
    try {
      return await this.begin(user, asked, client);
    } finally {
      const left = (this.submissions.get(user.id) ?? 1) - 1;
      if (left === 0) this.submissions.delete(user.id);
      else this.submissions.set(user.id, left);
    }
  }

  /** A query of the user. Null: this user has no such query. */
  async find(user: AuthenticatedUser, id: string): Promise<Query | null> {
    return isUuid(id) ? this.store.find(user.id, id) : null;
  }

  /** Newest first. */
  async list(user: AuthenticatedUser, after: QueryCursor | null, limit: number): Promise<Page<Query>> {
    return pageOf(await this.store.page(user.id, after, limit + 1), limit, keyOfQuery);
  }

  /**
   * Ends a query, also on the engine, unless it has ended before. False: this user has no such query.
   * @param code `query_abandoned`: the query's reader has gone
   */
  async cancel(
    user: AuthenticatedUser,
    id: string,
    code: 'query_cancelled' | 'query_abandoned' = 'query_cancelled',
  ): Promise<boolean> {
    if (!isUuid(id)) return false;
    const ending = endingByCode(code);
    const cancelled = await this.store.cancel(user.id, id, ending, this.clock.now());
    if (cancelled === null) return false;
    if (cancelled !== 'ended') this.metrics.countEnding(ending);
    this.executions.forgetQuery(id);
    if (cancelled !== 'ended' && cancelled.nextPath !== null) {
      const { runAs, catalog, schema, traceToken } = cancelled;
      await this.client.cancel(cancelled.nextPath, sessionFor(runAs, { catalog, schema, traceToken }));
    }
    return true;
  }

  /** At most `limit` rows beginning with row `from`. Waits for them up to 10 s. */
  async rows(user: AuthenticatedUser, id: string, from: number, limit: number): Promise<RowsResult> {
    const isOwn = this.executions.isExecutedFor(user.id, id) || (await this.find(user, id)) !== null;
    if (!isOwn) return { kind: 'not-found' };
    return (await this.executions.rows(id, from, limit)) ?? this.rowsOfStoredQuery(user, id, from);
  }

  private async rowsOfStoredQuery(user: AuthenticatedUser, id: string, from: number): Promise<RowsResult> {
    const query = await this.find(user, id);
    if (query === null) return { kind: 'not-found' };
    const { state, columns, truncated, updateCount, error } = query;
    if (state === 'finished') return rowsOfEndedQuery({ state, truncated, updateCount }, query, from);
    if (state === 'failed' || state === 'cancelled')
      return error === null ? { kind: 'gone' } : rowsOfEndedQuery({ state, error }, query, from);
    // Another replica is taking the query over or has released it. The client's next request will tell.
    return { kind: 'page', page: uncountedPage(columns ?? [], [], from) };
  }

  private async begin(
    user: AuthenticatedUser,
    { sql, catalog, schema, parameters }: Submission,
    { requestId: traceToken, gone: signal }: Client,
  ): Promise<Query> {
    const createdAt = this.clock.now();
    const milliseconds = this.settings.queries.maxSeconds * 1000;
    const query: NewQuery = {
      ...{ id: this.ids.uuid(), userId: user.id, runAs: user.username, sql, catalog, schema, traceToken, createdAt },
      deadlineAt: new Date(createdAt.getTime() + milliseconds),
    };
    const session = sessionFor(query.runAs, { catalog, schema, traceToken });
    let page: StatementPage;
    try {
      const limits = { deadline: this.timers.now() + milliseconds, signal };
      ({ page } = await this.client.submit(statementText(sql, parameters), session, limits));
    } catch (error) {
      throw this.refusalOf(error, query.id);
    }
    // If the query has ended at once, the store has its end.
    const stored = (await this.beginExecution(query, page, session)) ?? (await this.find(user, query.id));
    if (stored === null) throw unavailable();
    return stored;
  }

  private async beginExecution(query: NewQuery, page: StatementPage, session: EngineSession): Promise<Query | null> {
    try {
      return await this.executions.begin(query, page);
    } catch (error) {
      // The query is not stored, so no replica can execute it. Cancels it now instead of leaving it to the engine's timeout.
      if (page.nextPath !== null) await this.client.cancel(page.nextPath, session);
      throw error;
    }
  }

  /** The refusal for a statement that the engine did not accept. @throws any other error */
  private refusalOf(error: unknown, id: string): Refused {
    if (error instanceof InvalidParameter || error instanceof InvalidSession) {
      const field = error instanceof InvalidSession ? error.field : 'parameters';
      return new Refused('validation_failed', { errors: [{ field, message: error.message }] });
    }
    if (!(error instanceof EngineFault)) throw error;
    const reason = { query_id: id, kind: error.kind, reason: error.message };
    if (error.kind === 'forbidden') {
      this.log.warn('the engine does not admit this service', reason);
      return new Refused('engine_forbidden');
    }
    this.log.error('the engine did not accept a statement', reason);
    return unavailable();
  }
}

function unavailable(): Refused {
  return new Refused('engine_unavailable', { retryAfter: RETRY_AFTER });
}
