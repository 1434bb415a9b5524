import type { Clock, Timers } from '../../kernel/clock.js';
import type { Random } from '../../kernel/ids.js';
import {
  type AxiosExchange,
  LostConnection,
  OversizedHeaders,
  OversizedReply,
  type Reply,
} from '../../platform/http/axios-exchange.js';
import { type FailedAttempt, pauseBeforeRetry, readRetryAfter, RETRY_BUDGET } from '../domain/retry.js';
import { EngineFault, type RequestLimits } from '../domain/statement-client.js';

export type Method = keyof typeof RETRY_BUDGET;

export type AttemptResult = { kind: 'reply'; reply: Reply } | { kind: 'lost'; reason: string };

/**
 * Milliseconds for one attempt. The engine holds a request for a second at most; the rest is for a busy one. People wait for a
 * POST, and nothing runs for one that was given up: the engine begins with the first GET.
 */
const ATTEMPT = { POST: 10_000, GET: 30_000, HEAD: 5_000, DELETE: 5_000 } as const;

/** One request, attempted until it succeeds or is given up. */
export class EngineAttempts {
  private failures = 0;
  private failingSince = 0;

  constructor(
    private readonly method: Method,
    private readonly limits: RequestLimits,
    private readonly parts: { exchange: AxiosExchange; timers: Timers; random: Random; clock: Clock },
  ) {}

  /** @throws EngineFault when the time is over, and for an answer larger than any that is taken. */
  async attempt(url: string, headers: Record<string, string>, body?: string): Promise<AttemptResult> {
    const { deadline, signal, onBytes } = this.limits;
    const remaining = deadline - this.parts.timers.now();
    if (remaining <= 0) throw outOfTime();
    try {
      const reply = await this.parts.exchange.ask({
        method: this.method,
        url,
        headers,
        timeout: Math.min(ATTEMPT[this.method], remaining),
        ...(body === undefined ? {} : { body }),
        ...(signal === undefined ? {} : { signal }),
        ...(onBytes === undefined ? {} : { onBytes }),
      });
      return { kind: 'reply', reply };
    } catch (error) {
      if (error instanceof LostConnection) return { kind: 'lost', reason: error.message };
      if (error instanceof OversizedHeaders) throw new EngineFault('protocol', error.message);
      if (error instanceof OversizedReply) throw new EngineFault('too-large', 'a page of more bytes than are taken');
      throw error;
    }
  }

  /** Waits until the next attempt. @returns false: there is none. @throws EngineFault when the time is over. */
  async mayRepeat(failed: AttemptResult): Promise<boolean> {
    const { timers, random } = this.parts;
    const { deadline, signal } = this.limits;
    const now = timers.now();
    if (now >= deadline) throw outOfTime();
    if (this.failures === 0) this.failingSince = now;
    this.failures += 1;
    const pause = pauseBeforeRetry(this.failureOf(failed), {
      failures: this.failures,
      failingFor: now - this.failingSince,
      budget: RETRY_BUDGET[this.method],
      remaining: deadline - now,
      jitter: random.fraction(),
    });
    if (pause !== null) await timers.wait(pause, signal);
    return pause !== null;
  }

  private failureOf(failed: AttemptResult): FailedAttempt {
    if (failed.kind === 'lost') return { kind: 'connection' };
    const { status, headers } = failed.reply;
    return { kind: 'status', status, retryAfter: readRetryAfter(headers['retry-after'], this.parts.clock.now()) };
  }
}

function outOfTime(): EngineFault {
  return new EngineFault('deadline', 'the time for the statement is over');
}
