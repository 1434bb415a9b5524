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
  /** Told how many bytes of the answer have come, as they come; whoever has no room for them aborts the signal. */
  onBytes?: (bytes: number) => void;
  /** Rows of this statement have left already: nothing is then renewed and repeated behind the reader's back. */
  rowsHandedOut?: boolean;
}

/**
 * Trino's statement protocol (source document 4.6), one request a call and nothing remembered between them, so that
 * any replica can make the next one. Every request carries the Bearer token, the user and the original user.
 */
export abstract class StatementClient {
  /**
   * POST /v1/statement. It registers the statement; the engine begins it when the first page is asked for.
   * @throws EngineFault
   * @throws InvalidSession
   */
  abstract submit(sql: string, session: EngineSession, limits: RequestLimits): Promise<StatementAnswer>;
  /**
   * GET of a page's `nextPath`, held by the engine for up to a second. The newest path may be asked again.
   * @throws EngineFault
   */
  abstract advance(path: string, session: EngineSession, limits: RequestLimits): Promise<StatementAnswer>;
  /** Tells the engine that the page at this path, which was asked for before, still has a reader. Never throws. */
  abstract keepAlive(path: string, session: EngineSession): Promise<void>;
  /** DELETE of `nextPath`: the statement ends. Never throws: an engine that cannot be told forgets it after 5 minutes. */
  abstract cancel(path: string, session: EngineSession): Promise<void>;
  /** Lets go of the connections that are kept. */
  abstract close(): void;
}

/**
 * `unavailable`: cannot be reached, or answers as an engine in trouble does. `refused`: it will not have this service
 * (a bad token, a missing header, a setting). `forbidden`: 403. `gone`: it does not know the statement any more.
 * `protocol`: what came is no statement protocol. `deadline`: the statement's own time is over. `too-large`: a page
 * beyond QUERY_MAX_PAGE_BYTES. `share`: the person's unread pages hold too much memory.
 */
export type EngineFaultKind =
  'unavailable' | 'refused' | 'forbidden' | 'gone' | 'protocol' | 'deadline' | 'too-large' | 'share';

/** The engine gave no page. The message is private: for logs, without path, token or body. */
export class EngineFault extends Error {
  override readonly name = 'EngineFault';

  constructor(
    readonly kind: EngineFaultKind,
    message: string,
  ) {
    super(message);
  }
}
