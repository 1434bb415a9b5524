import type { Clock, Timers } from '../../kernel/clock.js';
import { AxiosExchange, type Reply } from '../../platform/http/axios-exchange.js';
import type { Log } from '../../platform/log/log.js';
import { type Column, unknownTypes } from '../domain/engine-type.js';
import { type EngineSession, type HeaderPrefix, readSessionChange, sessionHeaders } from '../domain/engine-session.js';
import type { Random } from '../../kernel/ids.js';
import { belongsTo } from '../domain/next-uri.js';
import { ProtocolBreach } from '../domain/reading.js';
import { RETRY_BUDGET } from '../domain/retry.js';
import type { RowLoop } from '../domain/row-loop.js';
import { type ServiceTokenSource, TokenUnavailable } from '../domain/service-token.js';
import { EngineFault, type RequestLimits, type StatementAnswer, StatementClient } from '../domain/statement-client.js';
import { PageTooHeavy, readStatementPage } from '../domain/statement-page.js';
import { type AttemptResult, EngineAttempts, type Method } from './engine-attempts.js';

/** An engine, and how it is spoken to. */
export interface TrinoAddress {
  /** `http://host:port` or `https://host:port`; no request goes to another. */
  origin: string;
  /** Below which a gateway has the engine, such as `/trino`; empty: it is at the root. */
  path: string;
  /** For a gateway: sent with every request. */
  headers: Readonly<Record<string, string>>;
  /** Of `user`; null: there is a token, or nothing. */
  password: string | null;
  /** Its certificate authorities in PEM, read again when they change; null: the platform's own. */
  caFile: string | null;
  /** Sent beside every user as the original user. */
  user: string;
  headerPrefix: HeaderPrefix;
  forwardedProto: 'https' | null;
  compression: 'none' | 'gzip';
  /** Bytes of the largest page that is taken. */
  largestPage: number;
}

/** How much more memory than the bytes of the largest page a row may take once it is parsed. */
const LARGEST_PARSED = 4;

/** Names of types that are remembered, so that each is logged once. */
const MOST_UNKNOWN_TYPES = 100;
const LONGEST_TYPE = 200;

/** The statement protocol over HTTP: which request, which headers, when to repeat. Answers are interpreted in domain/. */
export class TrinoStatementClient extends StatementClient {
  private readonly exchange: AxiosExchange;
  private readonly unknownTypes = new Set<string>();

  /** @param loop that finds rows on pages; null: they are found one by one */
  constructor(
    private readonly engine: TrinoAddress,
    private readonly tokens: ServiceTokenSource,
    private readonly timers: Timers,
    private readonly random: Random,
    private readonly clock: Clock,
    private readonly log: Log,
    private readonly loop: RowLoop | null = null,
  ) {
    super();
    this.exchange = new AxiosExchange(engine.largestPage, { caFile: engine.caFile });
  }

  override async submit(sql: string, session: EngineSession, limits: RequestLimits): Promise<StatementAnswer> {
    return this.answer(await this.ask('POST', '/v1/statement', session, limits, sql), null);
  }

  override async advance(path: string, session: EngineSession, limits: RequestLimits): Promise<StatementAnswer> {
    return this.answer(await this.ask('GET', path, session, limits), path);
  }

  override async keepAlive(path: string, session: EngineSession): Promise<void> {
    await this.notify('HEAD', path, session);
  }

  override async cancel(path: string, session: EngineSession): Promise<void> {
    await this.notify('DELETE', path, session);
  }

  override close(): void {
    this.exchange.close();
  }

  /** @param path of the request; null: it was the POST. */
  private answer(reply: Reply, path: string | null): StatementAnswer {
    const header = (name: string): string | null => reply.headers[name] ?? null;
    try {
      const heaviestRow = this.engine.largestPage * LARGEST_PARSED;
      const page = readStatementPage(reply.body, heaviestRow, this.loop, this.engine.path);
      // A proxy that mixes answers up must not show one user's rows to another.
      const strays = [path, page.nextPath].some((known) => known !== null && !belongsTo(known, page.queryId));
      if (strays) throw new ProtocolBreach('a page of another query');
      this.warnOfUnknownTypes(page.columns ?? []);
      const change = readSessionChange(header, this.engine.headerPrefix);
      return { page, change };
    } catch (error) {
      if (error instanceof PageTooHeavy) throw new EngineFault('too-large', error.message);
      if (error instanceof ProtocolBreach) throw new EngineFault('protocol', error.message);
      throw error;
    }
  }

  private warnOfUnknownTypes(columns: readonly Column[]): void {
    for (const type of unknownTypes(columns.map(({ shape }) => shape))) {
      if (this.unknownTypes.has(type) || this.unknownTypes.size === MOST_UNKNOWN_TYPES) continue;
      this.unknownTypes.add(type);
      this.log.warn('the engine sent a type that is not known here', { type: type.slice(0, LONGEST_TYPE) });
    }
  }

  /** Sends a request whose failure is only logged. */
  private async notify(method: 'HEAD' | 'DELETE', path: string, session: EngineSession): Promise<void> {
    try {
      await this.ask(method, path, session, {
        deadline: this.timers.now() + RETRY_BUDGET[method],
        rowsHandedOut: true,
      });
    } catch (error) {
      if (!(error instanceof EngineFault)) throw error;
      if (error.kind !== 'gone') this.log.debug(`the engine did not accept a ${method}`, { reason: error.message });
    }
  }

  private async ask(
    method: Method,
    path: string,
    session: EngineSession,
    limits: RequestLimits,
    body?: string,
  ): Promise<Reply> {
    const named = sessionHeaders(session, this.engine.headerPrefix, this.engine.user);
    let bearer = await this.bearer(method, limits);
    let renewed = limits.rowsHandedOut === true || bearer === null;
    const { timers, random, clock, exchange } = this;
    const attempts = new EngineAttempts(method, limits, { exchange, timers, random, clock });
    for (;;) {
      const outcome = await attempts.attempt(
        this.engine.origin + this.engine.path + path,
        this.headers(named, bearer, method),
        body,
      );
      if (outcome.kind === 'reply') {
        const { reply } = outcome;
        if (reply.status === 200 || reply.status === 204) return reply;
        if (reply.status === 401 && !renewed && /^bearer\b/i.test(reply.headers['www-authenticate'] ?? '')) {
          renewed = true;
          bearer = await this.renewed(bearer, limits);
          continue;
        }
      }
      if (!(await attempts.mayRepeat(outcome))) throw faultOf(method, outcome, bearer);
    }
  }

  private headers(named: Record<string, string>, bearer: string | null, method: Method): Record<string, string> {
    return {
      ...this.engine.headers,
      ...named,
      ...(bearer === null ? this.basic() : { Authorization: `Bearer ${bearer}` }),
      ...(this.engine.forwardedProto === null ? {} : { 'X-Forwarded-Proto': this.engine.forwardedProto }),
      ...(method === 'POST' ? { 'Content-Type': 'text/plain; charset=utf-8' } : {}),
      'Accept-Encoding': this.engine.compression === 'gzip' ? 'gzip' : 'identity',
    };
  }

  private basic(): Record<string, string> {
    const { user, password } = this.engine;
    if (password === null) return {};
    return { Authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` };
  }

  /** While the provider is down, running statements use the last token: the engine does not verify it on GET. */
  private async bearer(method: Method, limits: RequestLimits): Promise<string | null> {
    try {
      return await this.tokens.current(limits.signal);
    } catch (error) {
      if (!(error instanceof TokenUnavailable)) throw error;
      const last = method === 'POST' ? null : this.tokens.last();
      if (last !== null) return last;
      throw new EngineFault('unavailable', `no service-account token: ${error.message}`);
    }
  }

  private async renewed(bearer: string | null, limits: RequestLimits): Promise<string | null> {
    try {
      return await this.tokens.replacing(bearer, limits.signal);
    } catch (error) {
      if (!(error instanceof TokenUnavailable)) throw error;
      throw new EngineFault('unavailable', `no new service-account token: ${error.message}`);
    }
  }
}

/** Error bodies can hold stack traces and the token itself; only that of a 401 is of use to operators. */
function faultOf(method: Method, outcome: AttemptResult, bearer: string | null): EngineFault {
  if (outcome.kind === 'lost') return new EngineFault('unavailable', `${method}: ${outcome.reason}`);
  const { status, body } = outcome.reply;
  const summary = `${method} was answered with ${status}`;
  if (status === 404 || status === 410) return new EngineFault('gone', summary);
  if (status === 401) return new EngineFault('refused', `${summary}: ${scrubbed(body.toString(), bearer)}`);
  if (status === 403) return new EngineFault('forbidden', summary);
  if (status >= 400 && status < 500 && status !== 429) return new EngineFault('refused', summary);
  return new EngineFault(status >= 500 || status === 429 ? 'unavailable' : 'protocol', summary);
}

const MAX_LOGGED = 200;
const ANY_JWT = /eyJ[\w-]*(\.[\w-]*){0,2}/g;

/** A foreign text for a log: one short line without tokens. */
function scrubbed(text: string, secret: string | null): string {
  const without = secret === null ? text : text.replaceAll(secret, '[token]');
  return without.replaceAll(ANY_JWT, '[token]').replaceAll(/\s+/g, ' ').trim().slice(0, MAX_LOGGED);
}
