import { Injectable } from '@nestjs/common';
import { Clock } from '../kernel/clock.js';
import type { ConcurrencyQuota } from '../kernel/errors.js';
import { Ids } from '../kernel/ids.js';
import type { AuthenticatedUser } from '../platform/access.js';
import { Log } from '../platform/log.js';
import { Settings } from '../platform/settings.js';
import { sessionFor, UnfitSession } from './domain/engine-session.js';
import { Timers } from '../kernel/timers.js';
import { endedBy, isQueryId, type Query, type QueryError } from './domain/query.js';
import { type Drive, type NewQuery, QueryStore } from './domain/query-store.js';
import type { QueryCursor } from './domain/query-cursor.js';
import { type Parameter, UnfitParameter, withParameters } from './domain/sql-literal.js';
import { EngineFault, type StatementAnswer, StatementClient } from './domain/statement-client.js';
import { EngineIdentity } from './engine-identity.service.js';
import { QueryDrivers } from './query-drivers.service.js';
import { type RowsPage, smallPage } from './row-reader.js';

export interface Submission {
  sql: string;
  catalog: string | null;
  schema: string | null;
  parameters: readonly Parameter[];
}

export interface QueryPage {
  items: Query[];
  /** Where to go on; null: this was the last page. */
  next: QueryCursor | null;
}

export type Submitted =
  | { kind: 'submitted'; query: Query }
  | { kind: 'refused'; code: 'impersonation_disabled' | 'engine_unavailable' | 'engine_forbidden' }
  | { kind: 'too-many'; quota: ConcurrencyQuota }
  | { kind: 'unfit'; field: 'parameters' | 'catalog'; message: string };

/** `gone`: an older page than the newest. `unknown-place`: no answer named it. `not-found`: this person has no such query. */
export type Rows =
  | { kind: 'page'; page: RowsPage }
  | { kind: 'ended'; error: QueryError; state: 'failed' | 'cancelled' }
  | { kind: 'gone' | 'unknown-place' | 'not-found' };

/** People's SQL on the engine, under their own name, and nobody else's business. */
@Injectable()
export class QueriesService {
  constructor(
    private readonly store: QueryStore,
    private readonly drivers: QueryDrivers,
    private readonly client: StatementClient,
    private readonly identity: EngineIdentity,
    private readonly settings: Settings,
    private readonly timers: Timers,
    private readonly clock: Clock,
    private readonly ids: Ids,
    private readonly log: Log,
  ) {}

  /** Answers once the engine has taken the statement. @param signal aborted when the person goes away before that. */
  async submit(user: AuthenticatedUser, asked: Submission, requestId: string, signal: AbortSignal): Promise<Submitted> {
    const { engine, queries } = this.settings;
    // Nothing ever runs a person's SQL as the service account (product.md section 5).
    if (!engine.impersonation) return { kind: 'refused', code: 'impersonation_disabled' };
    if (engine.origin === null) return { kind: 'refused', code: 'engine_unavailable' };
    if (!(await this.identity.letsPeopleBeThemselves())) return { kind: 'refused', code: 'engine_unavailable' };
    const createdAt = this.clock.now();
    const query: NewQuery = {
      id: this.ids.uuid(),
      userId: user.id,
      runAs: user.username,
      sql: asked.sql,
      catalog: asked.catalog,
      schema: asked.schema,
      traceToken: requestId,
      createdAt,
      deadlineAt: new Date(createdAt.getTime() + queries.maxSeconds * 1000),
    };
    if (!(await this.store.reserve(query, this.drivers.driver, queries.maxRunningPerUser))) {
      return { kind: 'too-many', quota: { name: 'running-queries', limit: queries.maxRunningPerUser } };
    }
    const answer = await this.hand(query, asked, signal);
    if ('kind' in answer) return answer;
    await this.begin(query, answer);
    const submitted = await this.store.ownedBy(user.id).find(query.id);
    return submitted === null
      ? { kind: 'refused', code: 'engine_unavailable' }
      : { kind: 'submitted', query: submitted };
  }

  /** Null: this person has no such query. */
  async find(user: AuthenticatedUser, id: string): Promise<Query | null> {
    return isQueryId(id) ? this.store.ownedBy(user.id).find(id) : null;
  }

  /** The newest first. */
  async list(user: AuthenticatedUser, after: QueryCursor | null, limit: number): Promise<QueryPage> {
    const found = await this.store.ownedBy(user.id).page(after, limit + 1);
    const items = found.slice(0, limit);
    return { items, next: found.length > limit ? (items.at(-1) ?? null) : null };
  }

  /** False: this person has no such query. One that has ended stays as it is. */
  cancel(user: AuthenticatedUser, id: string): Promise<boolean> {
    return this.endAs('query_cancelled', user, id);
  }

  /** Nobody reads the rows any more. */
  async abandon(user: AuthenticatedUser, id: string): Promise<void> {
    await this.endAs('query_abandoned', user, id);
  }

  private async endAs(
    code: 'query_cancelled' | 'query_abandoned',
    user: AuthenticatedUser,
    id: string,
  ): Promise<boolean> {
    if (!isQueryId(id)) return false;
    const ended = await this.store.ownedBy(user.id).cancel(id, endedBy(code), this.clock.now());
    if (ended === null) return false;
    this.drivers.forget(id);
    if (ended !== 'ended' && ended.nextPath !== null) {
      const { catalog, schema, traceToken } = ended;
      await this.client.cancel(ended.nextPath, sessionFor(ended.runAs, { catalog, schema, traceToken }));
    }
    return true;
  }

  /** The rows from that one on, at most so many; waits for them up to 10 s. */
  async rows(user: AuthenticatedUser, id: string, from: number, limit: number): Promise<Rows> {
    const query = await this.find(user, id);
    if (query === null) return { kind: 'not-found' };
    const outcome = await this.drivers.rows(id, from, limit);
    switch (outcome.kind) {
      case 'page':
        return { kind: 'page', page: outcome.page };
      case 'gone':
        return { kind: 'gone' };
      case 'unknown':
        return { kind: 'unknown-place' };
      case 'over':
        return this.rowsOfEnded(user, id, from);
    }
  }

  private async rowsOfEnded(user: AuthenticatedUser, id: string, from: number): Promise<Rows> {
    const query = await this.find(user, id);
    if (query === null) return { kind: 'not-found' };
    const columns = query.columns ?? [];
    switch (query.state) {
      case 'failed':
      case 'cancelled':
        return query.error === null ? { kind: 'gone' } : { kind: 'ended', state: query.state, error: query.error };
      case 'finished':
        if (from === 0 && query.updateCount !== null && columns.length === 1) {
          return { kind: 'page', page: smallPage(columns, [[String(query.updateCount)]], null) };
        }
        return from === query.rowsReturned ? { kind: 'page', page: smallPage(columns, [], null) } : { kind: 'gone' };
      case 'queued':
      case 'running':
        // Another replica is just taking it, or has let it go: whoever asks again finds out.
        return { kind: 'page', page: smallPage(columns, [], from) };
    }
  }

  /** Hands the statement to the engine; what it does not take is as if it had never been asked. */
  private async hand(query: NewQuery, asked: Submission, signal: AbortSignal): Promise<StatementAnswer | Submitted> {
    const { id, catalog, schema, traceToken } = query;
    const deadline = this.timers.now() + this.settings.queries.maxSeconds * 1000;
    try {
      const sql = withParameters(asked.sql, asked.parameters);
      return await this.client.submit(sql, sessionFor(query.runAs, { catalog, schema, traceToken }), {
        deadline,
        signal,
      });
    } catch (error) {
      await this.store.discard(id);
      if (error instanceof UnfitParameter) return { kind: 'unfit', field: 'parameters', message: error.message };
      if (error instanceof UnfitSession) return { kind: 'unfit', field: 'catalog', message: error.message };
      if (!(error instanceof EngineFault)) throw error;
      const reason = { query_id: id, kind: error.kind, reason: error.message };
      if (error.kind === 'forbidden') {
        this.log.warn('the engine did not admit a statement', reason);
        return { kind: 'refused', code: 'engine_forbidden' };
      }
      this.log.error('the engine did not take a statement', reason);
      return { kind: 'refused', code: 'engine_unavailable' };
    }
  }

  private async begin(query: NewQuery, { page }: StatementAnswer): Promise<void> {
    const { id, runAs, catalog, schema, traceToken, deadlineAt } = query;
    const begun: Drive = {
      ...{ id, runAs, catalog, schema, traceToken, deadlineAt },
      ...{ columns: null, nextPath: page.nextPath, pagePath: null, pageStart: 0, newestFrom: 0, rowsReturned: 0 },
      waitingSince: null,
    };
    try {
      await this.drivers.begin(begun, page);
    } catch (error) {
      // Nobody could drive it: the engine forgets it by itself, but sooner is better.
      if (page.nextPath !== null) await this.client.cancel(page.nextPath, sessionFor(runAs, { traceToken }));
      throw error;
    }
  }
}
