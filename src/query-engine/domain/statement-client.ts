import { NamedError } from '../../kernel/errors.js';
import type { EngineSession, SessionChange } from './engine-session.js';
import type { StatementPage } from './statement-page.js';

/** One answer of the engine, and what it changes for the statements that follow on the same connection. */
export interface StatementAnswer {
  page: StatementPage;
  change: SessionChange;
}

export interface RequestLimits {
  /** The statement's own deadline, on the monotonic clock of Timers. */
  deadline: number;
  signal?: AbortSignal;
  /** Called with the bytes received so far. A NamedError that it throws ends the request, and is thrown by it. */
  onBytes?: (bytes: number) => void;
  /** Rows of this statement have been handed out: the request is then not repeated with a new token. */
  rowsHandedOut?: boolean;
}

/**
 * Trino's statement protocol, one request a call and nothing remembered between them, so that
 * any replica can make the next one. Every request carries the Bearer token, the user and the original user.
 */
export abstract class StatementClient {
  /**
   * POST /v1/statement. It registers the statement; the engine starts it when the first page is fetched.
   * @throws EngineFault
   * @throws InvalidSession
   */
  abstract submit(sql: string, session: EngineSession, limits: RequestLimits): Promise<StatementAnswer>;
  /**
   * GET of a page's `nextPath`, held by the engine for up to a second. The newest path can be requested again.
   * @throws EngineFault
   */
  abstract advance(path: string, session: EngineSession, limits: RequestLimits): Promise<StatementAnswer>;
  /** Keeps the page at this path, which was fetched before, alive on the engine. Never throws. */
  abstract keepAlive(path: string, session: EngineSession): Promise<void>;
  /** DELETE of `nextPath`. Never throws: an engine that cannot be reached ends the statement after 5 minutes. */
  abstract cancel(path: string, session: EngineSession): Promise<void>;
  /** Closes idle connections. */
  abstract close(): void;
}

/**
 * `unavailable`: unreachable, or answers with 429 or 5xx. `refused`: rejects this service (a bad token, a missing header,
 * a setting). `forbidden`: 403. `gone`: the statement is unknown to it. `protocol`: the answer breaks the protocol.
 * `deadline`: the statement's own time is over. `too-large`: a page beyond QUERY_MAX_PAGE_BYTES. `share`: the user's
 * unread pages hold too much memory.
 */
export type EngineFaultKind =
  | 'unavailable'
  | 'refused'
  | 'forbidden'
  | 'gone'
  | 'protocol'
  | 'deadline'
  | 'too-large'
  | 'share';

/** The engine gave no page. The message is private: for logs, without path, token or body. */
export class EngineFault extends NamedError {
  constructor(
    readonly kind: EngineFaultKind,
    message: string,
  ) {
    super(message);
  }
}
