import { Injectable } from '@nestjs/common';
import { Clock, Timers } from '../kernel/clock.js';
import { Refused } from '../kernel/errors.js';
import { IdSource } from '../kernel/ids.js';
import { type Page, pageOf } from '../kernel/page.js';
import type { AuthenticatedUser, Client } from '../platform/http/access.js';
import { Log } from '../platform/log/log.js';
import { Settings } from '../platform/settings/settings.js';
import { EngineFault } from './domain/engine-error.js';
import { type EngineSession, InvalidSession, sessionFor } from './domain/engine-session.js';
import type { NewQuery } from './domain/execution-state.js';
import { rowsOfEndedQuery, type RowsResult, uncountedPage } from './domain/held-page.js';
import { endingWithCode, queryKey, type Query, type QueryCursor, RETRY_AFTER, tooManyQueries } from './domain/query.js';
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
  /** The number of submissions, by user id, that the engine has not answered yet. Each may become a running query. */
  private readonly pendingSubmissions = new Map<number, number>();

  constructor(
    private readonly store: QueryStore,
    private readonly executions: QueryExecutions,
    private readonly client: TrinoStatementClient,
    private readonly engineIdentity: EngineIdentity,
    private readonly settings: Settings,
    private readonly timers: Timers,
    private readonly clock: Clock,
    private readonly idSource: IdSource,
    private readonly metrics: QueryMetrics,
    private readonly log: Log,
  ) {}

  /** Submits a statement. Resolves once the engine has accepted it. @throws Refused */
  async submit(user: AuthenticatedUser, submission: Submission, client: Client): Promise<Query> {
    const { engine, queries } = this.settings;
    // A user's SQL never runs as the service account.
    if (!engine.impersonation) throw new Refused('impersonation_disabled');
    if (engine.origin === null)
      throw new Refused('engine_unavailable', { detail: 'No engine is configured (SERVICE_QUERY_HOST).' });
    if (!(await this.engineIdentity.respectsUserHeaders())) throw engineUnavailableRefusal();
    const pendingSubmissions = this.pendingSubmissions.get(user.id) ?? 0;
    if (pendingSubmissions >= queries.maxRunningPerUser) throw tooManyQueries(queries.maxRunningPerUser);
    this.pendingSubmissions.set(user.id, pendingSubmissions + 1);
    try {
      return await this.begin(user, submission, client);
    } finally {
      const remainingCount = (this.pendingSubmissions.get(user.id) ?? 1) - 1;
      if (remainingCount === 0) this.pendingSubmissions.delete(user.id);
      else this.pendingSubmissions.set(user.id, remainingCount);
    }
  }

  find(user: AuthenticatedUser, id: string): Promise<Query | null> {
    return this.store.find(user.id, id);
  }

  async list(user: AuthenticatedUser, after: QueryCursor | null, limit: number): Promise<Page<Query>> {
    return pageOf(await this.store.listPage(user.id, after, limit + 1), limit, queryKey);
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
    const ending = endingWithCode(code);
    const cancelTarget = await this.store.cancel(user.id, id, ending, this.clock.now());
    if (cancelTarget === null) return false;
    if (cancelTarget !== 'ended') this.metrics.countEnding(ending);
    this.executions.forgetQuery(id);
    if (cancelTarget !== 'ended' && cancelTarget.nextPath !== null) {
      const { runAs, catalog, schema, traceToken } = cancelTarget;
      await this.client.cancel(cancelTarget.nextPath, sessionFor(runAs, { catalog, schema, traceToken }));
    }
    return true;
  }

  /** At most `limit` rows beginning with row `startRow`. Waits up to 10 s for them. */
  async rows(user: AuthenticatedUser, id: string, startRow: number, limit: number): Promise<RowsResult> {
    const isOwnQuery = this.executions.isExecutedFor(user.id, id) || (await this.find(user, id)) !== null;
    if (!isOwnQuery) return { kind: 'not-found' };
    return (await this.executions.rows(id, startRow, limit)) ?? this.rowsOfStoredQuery(user, id, startRow);
  }

  private async rowsOfStoredQuery(user: AuthenticatedUser, id: string, startRow: number): Promise<RowsResult> {
    const query = await this.find(user, id);
    if (query === null) return { kind: 'not-found' };
    const { state, columns, truncated, updateCount, error } = query;
    if (state === 'finished') return rowsOfEndedQuery({ state, truncated, updateCount }, query, startRow);
    if (state === 'failed' || state === 'cancelled')
      return error === null ? { kind: 'gone' } : rowsOfEndedQuery({ state, error }, query, startRow);
    // Another replica is taking the query over or has released it. An empty page makes the client ask again.
    return { kind: 'page', page: uncountedPage(columns ?? [], [], startRow) };
  }

  private async begin(
    user: AuthenticatedUser,
    { sql, catalog, schema, parameters }: Submission,
    { requestId: traceToken, signal }: Client,
  ): Promise<Query> {
    const createdAt = this.clock.now();
    const maxMilliseconds = this.settings.queries.maxSeconds * 1000;
    const query: NewQuery = {
      ...{
        id: this.idSource.uuid(),
        userId: user.id,
        runAs: user.username,
        sql,
        catalog,
        schema,
        traceToken,
        createdAt,
      },
      deadlineAt: new Date(createdAt.getTime() + maxMilliseconds),
    };
    const session = sessionFor(query.runAs, { catalog, schema, traceToken });
    let page: StatementPage;
    try {
      const limits = { deadline: this.timers.now() + maxMilliseconds, signal };
      ({ page } = await this.client.submit(statementText(sql, parameters), session, limits));
    } catch (error) {
      throw this.refusalOf(error, query.id);
    }
    // A query that has ended at once is read from the store, with its ending.
    const storedQuery = (await this.beginExecution(query, page, session)) ?? (await this.find(user, query.id));
    if (storedQuery === null) throw engineUnavailableRefusal();
    return storedQuery;
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
    const logFields = { query_id: id, kind: error.kind, reason: error.message };
    if (error.kind === 'forbidden') {
      this.log.warn('the engine does not admit this service', logFields);
      return new Refused('engine_forbidden');
    }
    this.log.error('the engine did not accept a statement', logFields);
    return engineUnavailableRefusal();
  }
}

function engineUnavailableRefusal(): Refused {
  return new Refused('engine_unavailable', { retryAfter: RETRY_AFTER });
}
