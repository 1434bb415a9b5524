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
import { belongsTo, ParsedPageTooLarge, readStatementPage, type StatementPage } from './domain/statement-page.js';
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
  /** Called with the number of bytes received so far. A NamedError thrown by this function ends the request, which throws the same error. */
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
  /** Path of a PEM file with the engine's certificate authorities, read again when it changes; null: the platform's authorities. */
  caFile: string | null;
  /** The original user, sent with every request besides the session's user. */
  user: string;
  headerPrefix: HeaderPrefix;
  forwardedProto: 'https' | null;
  compression: 'none' | 'gzip';
  /** Bytes of the largest accepted page. */
  maxPageBytes: number;
}

/** The most heap bytes of a parsed row, as a multiple of `maxPageBytes`. */
const MAX_PARSED_FACTOR = 4;

/** Limit on the remembered names of unknown types. Each name is logged once. */
const MAX_UNKNOWN_TYPES = 100;
const MAX_TYPE_LENGTH = 200;

/**
 * Milliseconds for one attempt of a request (`attempt`), and milliseconds after the first failure during which it is repeated (`budget`).
 * The engine holds a GET for at most a second; more time is needed only by a busy engine. A POST only registers a statement.
 */
const TIMEOUTS = {
  POST: { attempt: 10_000, budget: 5_000 },
  GET: { attempt: 30_000, budget: 30_000 },
  HEAD: { attempt: 5_000, budget: 5_000 },
  DELETE: { attempt: 5_000, budget: 5_000 },
} as const;

/** Statuses after which a request is repeated. Trino's clients repeat 502, 503 and 504 after 50 to 100 ms, and 429 after `Retry-After`. */
const RETRIED_STATUSES: ReadonlySet<number> = new Set([429, 502, 503, 504]);
const FIRST_RETRY_PAUSE = 50;

type Method = keyof typeof TIMEOUTS;
/** The outcome of one attempt: a reply, or the reason why the connection was lost. */
type Outcome = { reply: Reply } | { reply: null; reason: string };

/**
 * Trino's statement protocol over HTTP: requests, headers and repetitions. Keeps no state between calls, so that any replica can make the
 * next one. Every request carries the Bearer token, the user and the original user.
 */
export class TrinoStatementClient {
  private readonly exchange: AxiosExchange;
  private readonly unknownTypes = new Set<string>();

  /** @param rowLoop finds many rows of a page at once; null: the rows are found one by one */
  constructor(
    private readonly address: TrinoAddress,
    private readonly tokens: ServiceTokenSource,
    private readonly timers: Timers,
    private readonly random: Random,
    private readonly clock: Clock,
    private readonly log: Log,
    private readonly rowLoop: RowLoop | null = null,
  ) {
    this.exchange = new AxiosExchange(address.maxPageBytes, { caFile: address.caFile });
  }

  /**
   * POST /v1/statement registers a statement, which the engine starts when the first page is fetched.
   * @throws EngineFault @throws InvalidSession
   */
  async submit(sql: string, session: EngineSession, limits: RequestLimits): Promise<StatementAnswer> {
    return this.readAnswer(await this.request('POST', '/v1/statement', session, limits, sql), null);
  }

  /**
   * Fetches the page at a former page's `nextPath`. The engine answers within about a second. The newest path can be requested again.
   * @throws EngineFault
   */
  async advance(path: string, session: EngineSession, limits: RequestLimits): Promise<StatementAnswer> {
    return this.readAnswer(await this.request('GET', path, session, limits), path);
  }

  /** Keeps a statement alive on the engine by a HEAD request for the page at `path`, already fetched. Never throws. */
  async keepAlive(path: string, session: EngineSession): Promise<void> {
    await this.sendIgnoringFaults('HEAD', path, session);
  }

  /** Ends a statement by DELETE of its `nextPath`. Never throws: if the request fails, the engine ends the statement after 5 minutes. */
  async cancel(path: string, session: EngineSession): Promise<void> {
    await this.sendIgnoringFaults('DELETE', path, session);
  }

  close(): void {
    this.exchange.close();
  }

  /** Reads an answer. @param path the path of the request; null: the request was the POST. */
  private readAnswer(reply: Reply, path: string | null): StatementAnswer {
    const headerValue = (name: string): string | null => reply.headers[name] ?? null;
    try {
      const maxRowHeapBytes = this.address.maxPageBytes * MAX_PARSED_FACTOR;
      const page = readStatementPage(reply.body, maxRowHeapBytes, this.rowLoop, this.address.path);
      // Checked so that a proxy that mixes answers up cannot show one user's rows to another.
      const paths = [path, page.nextPath].filter((each) => each !== null);
      if (!paths.every((each) => belongsTo(each, page.queryId))) throw new ProtocolBreach('a page of another query');
      if (path !== null && page.nextPath === path && page.rows.length > 0)
        throw new ProtocolBreach('a page with rows that leads to itself');
      this.warnOfUnknownTypes(page.columns ?? []);
      const change = readSessionChange(headerValue, this.address.headerPrefix);
      return { page, change };
    } catch (error) {
      if (error instanceof ParsedPageTooLarge) throw new EngineFault('too-large', error.message);
      if (error instanceof ProtocolBreach) throw new EngineFault('protocol', error.message);
      throw error;
    }
  }

  private warnOfUnknownTypes(columns: readonly Column[]): void {
    for (const type of unknownTypes(columns.map(({ parsedType }) => parsedType))) {
      if (this.unknownTypes.has(type) || this.unknownTypes.size === MAX_UNKNOWN_TYPES) continue;
      this.unknownTypes.add(type);
      this.log.warn('the engine sent a type that is not known here', { type: type.slice(0, MAX_TYPE_LENGTH) });
    }
  }

  /** Sends a request whose failure is only logged. */
  private async sendIgnoringFaults(method: 'HEAD' | 'DELETE', path: string, session: EngineSession): Promise<void> {
    try {
      await this.request(method, path, session, {
        deadline: this.timers.now() + TIMEOUTS[method].budget,
        rowsHandedOut: true,
      });
    } catch (error) {
      if (!(error instanceof EngineFault)) throw error;
      if (error.kind !== 'gone') this.log.debug(`the engine did not accept a ${method}`, { reason: error.message });
    }
  }

  private async request(
    method: Method,
    path: string,
    session: EngineSession,
    limits: RequestLimits,
    body?: string,
  ): Promise<Reply> {
    const sessionFields = sessionHeaders(session, this.address.headerPrefix, this.address.user);
    let bearer = await this.bearerToken(method, null, limits);
    let isRenewalUsedUp = limits.rowsHandedOut === true || bearer === null;
    let failureCount = 0;
    let failingSince = 0;
    for (;;) {
      const headers = this.requestHeaders(sessionFields, bearer, method);
      const outcome = await this.attempt(method, path, headers, limits, body);
      const { reply } = outcome;
      if (reply?.status === 200 || reply?.status === 204) return reply;
      if (reply?.status === 401 && !isRenewalUsedUp && /^bearer\b/i.test(reply.headers['www-authenticate'] ?? '')) {
        isRenewalUsedUp = true;
        bearer = await this.bearerToken(method, bearer, limits);
        continue;
      }
      const now = this.timers.now();
      if (now >= limits.deadline) throw deadlineFault();
      if (failureCount === 0) failingSince = now;
      failureCount += 1;
      const retryAfter = readRetryAfter(reply?.headers['retry-after'], this.clock.now());
      const pause = retryPause(failureCount, retryAfter, FIRST_RETRY_PAUSE * (1 + this.random.fraction()));
      const isInTime = now + pause <= failingSince + TIMEOUTS[method].budget && now + pause < limits.deadline;
      if ((reply !== null && !RETRIED_STATUSES.has(reply.status)) || !isInTime) throw toFault(method, outcome, bearer);
      await this.timers.wait(pause, limits.signal);
    }
  }

  /** Sends a request once. @throws EngineFault at the deadline, and for an answer that is too large. */
  private async attempt(
    method: Method,
    path: string,
    headers: Record<string, string>,
    { deadline, signal, onBytes }: RequestLimits,
    body?: string,
  ): Promise<Outcome> {
    const remainingTime = deadline - this.timers.now();
    if (remainingTime <= 0) throw deadlineFault();
    try {
      const reply = await this.exchange.send({
        method,
        url: this.address.origin + this.address.path + path,
        headers,
        timeout: Math.min(TIMEOUTS[method].attempt, remainingTime),
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

  private requestHeaders(
    sessionFields: Record<string, string>,
    bearer: string | null,
    method: Method,
  ): Record<string, string> {
    return {
      ...this.address.headers,
      ...sessionFields,
      ...(bearer === null ? this.basicCredentials() : { Authorization: `Bearer ${bearer}` }),
      ...(this.address.forwardedProto === null ? {} : { 'X-Forwarded-Proto': this.address.forwardedProto }),
      ...(method === 'POST' ? { 'Content-Type': 'text/plain; charset=utf-8' } : {}),
      'Accept-Encoding': this.address.compression === 'gzip' ? 'gzip' : 'identity',
    };
  }

  private basicCredentials(): Record<string, string> {
    const { user, password } = this.address;
    if (password === null) return {};
    return { Authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` };
  }

  /**
   * The Bearer token. The engine does not verify tokens on GET. So while the provider is down, requests after the POST may carry an expired token.
   * @param refusedToken the token that the engine refused; null: none
   */
  private async bearerToken(
    method: Method,
    refusedToken: string | null,
    limits: RequestLimits,
  ): Promise<string | null> {
    try {
      return await this.tokens.validToken(refusedToken, limits.signal);
    } catch (error) {
      if (!(error instanceof TokenUnavailable)) throw error;
      const lastToken = method === 'POST' || refusedToken !== null ? null : this.tokens.newestToken();
      if (lastToken !== null) return lastToken;
      throw new EngineFault('unavailable', `no service-account token: ${error.message}`);
    }
  }
}

function deadlineFault(): EngineFault {
  return new EngineFault('deadline', 'the time for the statement is over');
}

/** The fault of a failed request. Includes only the body of a 401, without tokens. Other bodies are left out: they can contain stack traces. */
function toFault(method: Method, outcome: Outcome, bearer: string | null): EngineFault {
  if (outcome.reply === null) return new EngineFault('unavailable', `${method}: ${outcome.reason}`);
  const { status, body } = outcome.reply;
  const summary = `${method} was answered with ${status}`;
  if (status === 404 || status === 410) return new EngineFault('gone', summary);
  if (status === 401) return new EngineFault('refused', `${summary}: ${withoutTokens(body.toString(), bearer)}`);
  if (status === 403) return new EngineFault('forbidden', summary);
  if (status >= 400 && status < 500 && status !== 429) return new EngineFault('refused', summary);
  return new EngineFault(status >= 500 || status === 429 ? 'unavailable' : 'protocol', summary);
}

const MAX_LOGGED_LENGTH = 200;
const ANY_JWT = /eyJ[\w-]*(\.[\w-]*){0,2}/g;

/** Makes a text from outside safe for a log: one short line without tokens. */
function withoutTokens(text: string, secret: string | null): string {
  const withoutSecret = secret === null ? text : text.replaceAll(secret, '[token]');
  return withoutSecret.replaceAll(ANY_JWT, '[token]').replaceAll(/\s+/g, ' ').trim().slice(0, MAX_LOGGED_LENGTH);
}
