import type { Clock, Timers } from '../kernel/clock.js';
import type { Random } from '../kernel/ids.js';
import {
  AxiosExchange,
  LostConnection,
  OversizedHeaders,
  OversizedReply,
  type Reply,
  readRetryAfter,
  retryPause,
} from '../platform/http/axios-exchange.js';
import type { Log } from '../platform/log/log.js';
import { EngineFault } from './domain/engine-error.js';
import {
  type EngineSession,
  type HeaderPrefix,
  readSessionChange,
  type SessionChange,
  sessionHeaders,
} from './domain/engine-session.js';
import { type Column, unknownTypes } from './domain/engine-type.js';
import { belongsTo, PageTooHeavy, readStatementPage, type StatementPage } from './domain/statement-page.js';
import { ProtocolBreach } from './domain/reading.js';
import type { RowLoop } from './domain/row-loop.js';
import { type ServiceTokenSource, TokenUnavailable } from './domain/service-token.js';

/** One answer of the engine, with session changes for later statements of the same connection. */
export interface StatementAnswer {
  page: StatementPage;
  change: SessionChange;
}

export interface RequestLimits {
  /** The statement's own deadline, on the monotonic clock of Timers. */
  deadline: number;
  signal?: AbortSignal;
  /** Called with the number of bytes received so far. A NamedError that it throws ends the request and is thrown by it. */
  onBytes?: (bytes: number) => void;
  /** Whether rows of this statement have been handed out. The request is then not repeated with a new token. */
  rowsHandedOut?: boolean;
}

/** An engine, and the way to reach it. */
export interface TrinoAddress {
  /** `http://host:port` or `https://host:port`. No request goes to another origin. */
  origin: string;
  /** Path prefix of a gateway, such as `/trino`; empty: the engine is at the root. */
  path: string;
  /** Headers for a gateway, sent with every request. */
  headers: Readonly<Record<string, string>>;
  /** Password of `user`; null: requests carry a token or no credential. */
  password: string | null;
  /** A PEM file of the engine's certificate authorities, read again when it changes; null: the platform's own. */
  caFile: string | null;
  /** The original user, sent with every request besides the user. */
  user: string;
  headerPrefix: HeaderPrefix;
  forwardedProto: 'https' | null;
  compression: 'none' | 'gzip';
  /** Bytes of the largest accepted page. */
  largestPage: number;
}

/** The most heap bytes of a parsed row, as a multiple of the largest page. */
const LARGEST_PARSED = 4;

/** The most remembered names of unknown types, each of which is logged once. */
const MOST_UNKNOWN_TYPES = 100;
const LONGEST_TYPE = 200;

/**
 * Milliseconds for one request (`attempt`) and for all its attempts (`budget`). The engine holds a GET for a second at most; the rest is for
 * a busy engine. A POST only registers a statement, and a GET can be repeated freely.
 */
const TIMEOUTS = {
  POST: { attempt: 10_000, budget: 5_000 },
  GET: { attempt: 30_000, budget: 30_000 },
  HEAD: { attempt: 5_000, budget: 5_000 },
  DELETE: { attempt: 5_000, budget: 5_000 },
} as const;

/** Statuses after which a request is repeated. Trino's clients repeat 502, 503 and 504 after 50 to 100 ms, and 429 after `Retry-After`. */
const RETRIED: ReadonlySet<number> = new Set([429, 502, 503, 504]);
const FIRST_PAUSE = 50;

type Method = keyof typeof TIMEOUTS;
/** The outcome of one request. `reply` null: the connection was lost. */
type Outcome = { reply: Reply } | { reply: null; reason: string };

/**
 * Trino's statement protocol over HTTP: requests, headers and repetitions. Keeps no state between calls, so that any replica can make the
 * next one. Every request carries the Bearer token, the user and the original user.
 */
export class TrinoStatementClient {
  private readonly exchange: AxiosExchange;
  private readonly unknownTypes = new Set<string>();

  /** @param loop finds many rows of a page at once; null: they are found one by one */
  constructor(
    private readonly engine: TrinoAddress,
    private readonly tokens: ServiceTokenSource,
    private readonly timers: Timers,
    private readonly random: Random,
    private readonly clock: Clock,
    private readonly log: Log,
    private readonly loop: RowLoop | null = null,
  ) {
    this.exchange = new AxiosExchange(engine.largestPage, { caFile: engine.caFile });
  }

  /**
   * POST /v1/statement registers a statement, which the engine starts when the first page is fetched.
   * @throws EngineFault
   * @throws InvalidSession
   */
  async submit(sql: string, session: EngineSession, limits: RequestLimits): Promise<StatementAnswer> {
    return this.readAnswer(await this.ask('POST', '/v1/statement', session, limits, sql), null);
  }

  /**
   * GET of a page's `nextPath`, which the engine holds for up to a second. The newest path can be requested again.
   * @throws EngineFault
   */
  async advance(path: string, session: EngineSession, limits: RequestLimits): Promise<StatementAnswer> {
    return this.readAnswer(await this.ask('GET', path, session, limits), path);
  }

  /** Keeps an already fetched page alive on the engine. Never throws. */
  async keepAlive(path: string, session: EngineSession): Promise<void> {
    await this.notify('HEAD', path, session);
  }

  /** DELETE of `nextPath` ends a statement. Never throws: without it the engine ends the statement after 5 minutes. */
  async cancel(path: string, session: EngineSession): Promise<void> {
    await this.notify('DELETE', path, session);
  }

  /** Closes idle connections. */
  close(): void {
    this.exchange.close();
  }

  /** @param path the path of the request; null: it was the POST. */
  private readAnswer(reply: Reply, path: string | null): StatementAnswer {
    const header = (name: string): string | null => reply.headers[name] ?? null;
    try {
      const heaviestRow = this.engine.largestPage * LARGEST_PARSED;
      const page = readStatementPage(reply.body, heaviestRow, this.loop, this.engine.path);
      // Checked so that a proxy that mixes answers up cannot show one user's rows to another.
      const strays = [path, page.nextPath].some((known) => known !== null && !belongsTo(known, page.queryId));
      if (strays) throw new ProtocolBreach('a page of another query');
      if (path !== null && page.nextPath === path && page.rows.length > 0)
        throw new ProtocolBreach('a page with rows that leads to itself');
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
        deadline: this.timers.now() + TIMEOUTS[method].budget,
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
    let bearer = await this.bearerToken(method, null, limits);
    let renewed = limits.rowsHandedOut === true || bearer === null;
    let failures = 0;
    let failingSince = 0;
    for (;;) {
      const outcome = await this.attempt(method, path, this.requestHeaders(named, bearer, method), limits, body);
      const { reply } = outcome;
      if (reply?.status === 200 || reply?.status === 204) return reply;
      if (reply?.status === 401 && !renewed && /^bearer\b/i.test(reply.headers['www-authenticate'] ?? '')) {
        renewed = true;
        bearer = await this.bearerToken(method, bearer, limits);
        continue;
      }
      const now = this.timers.now();
      if (now >= limits.deadline) throw outOfTime();
      if (failures === 0) failingSince = now;
      failures += 1;
      const retryAfter = readRetryAfter(reply?.headers['retry-after'], this.clock.now());
      const pause = retryPause(failures, retryAfter, FIRST_PAUSE * (1 + this.random.fraction()));
      const isInTime = now + pause <= failingSince + TIMEOUTS[method].budget && now + pause < limits.deadline;
      if ((reply !== null && !RETRIED.has(reply.status)) || !isInTime) throw faultOf(method, outcome, bearer);
      await this.timers.wait(pause, limits.signal);
    }
  }

  /** @throws EngineFault when the time is over, and for an answer that is too large. */
  private async attempt(
    method: Method,
    path: string,
    headers: Record<string, string>,
    { deadline, signal, onBytes }: RequestLimits,
    body?: string,
  ): Promise<Outcome> {
    const remaining = deadline - this.timers.now();
    if (remaining <= 0) throw outOfTime();
    try {
      const reply = await this.exchange.send({
        method,
        url: this.engine.origin + this.engine.path + path,
        headers,
        timeout: Math.min(TIMEOUTS[method].attempt, remaining),
        ...(body === undefined ? {} : { body }),
        ...(signal === undefined ? {} : { signal }),
        ...(onBytes === undefined ? {} : { onBytes }),
      });
      return { reply };
    } catch (error) {
      if (error instanceof LostConnection) return { reply: null, reason: error.message };
      if (error instanceof OversizedHeaders) throw new EngineFault('protocol', error.message);
      if (error instanceof OversizedReply) throw new EngineFault('too-large', 'a page of more bytes than are taken');
      throw error;
    }
  }

  private requestHeaders(named: Record<string, string>, bearer: string | null, method: Method): Record<string, string> {
    return {
      ...this.engine.headers,
      ...named,
      ...(bearer === null ? this.basicCredentials() : { Authorization: `Bearer ${bearer}` }),
      ...(this.engine.forwardedProto === null ? {} : { 'X-Forwarded-Proto': this.engine.forwardedProto }),
      ...(method === 'POST' ? { 'Content-Type': 'text/plain; charset=utf-8' } : {}),
      'Accept-Encoding': this.engine.compression === 'gzip' ? 'gzip' : 'identity',
    };
  }

  private basicCredentials(): Record<string, string> {
    const { user, password } = this.engine;
    if (password === null) return {};
    return { Authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` };
  }

  /**
   * The Bearer token. While the provider is down, running statements use the last one, because the engine does not verify it on GET.
   * @param refused the token that the engine refused; null: none
   */
  private async bearerToken(method: Method, refused: string | null, limits: RequestLimits): Promise<string | null> {
    try {
      return await this.tokens.validToken(refused, limits.signal);
    } catch (error) {
      if (!(error instanceof TokenUnavailable)) throw error;
      const last = method === 'POST' || refused !== null ? null : this.tokens.newestToken();
      if (last !== null) return last;
      throw new EngineFault('unavailable', `no service-account token: ${error.message}`);
    }
  }
}

function outOfTime(): EngineFault {
  return new EngineFault('deadline', 'the time for the statement is over');
}

/** The fault of a failed request. Only a 401's body is logged, because error bodies can contain stack traces and the token itself. */
function faultOf(method: Method, outcome: Outcome, bearer: string | null): EngineFault {
  if (outcome.reply === null) return new EngineFault('unavailable', `${method}: ${outcome.reason}`);
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

/** Makes a foreign text safe for a log: one short line without tokens. */
function scrubbed(text: string, secret: string | null): string {
  const without = secret === null ? text : text.replaceAll(secret, '[token]');
  return without.replaceAll(ANY_JWT, '[token]').replaceAll(/\s+/g, ' ').trim().slice(0, MAX_LOGGED);
}
