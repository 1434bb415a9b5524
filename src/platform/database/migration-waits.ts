import { setTimeout as delay } from 'node:timers/promises';
import type { DataSource, QueryRunner } from 'typeorm';
import { codeOf } from '../files/plain-file.js';

/** In milliseconds. */
export interface Patience {
  /** Limit of a statement's wait for its lock. Every statement of the running version on the same table queues behind it. */
  lock: number;
  /** Between two attempts, so that the queued statements get through. */
  pause: number;
  /** Limit of all waits together: before the 280 s of the chart's Job are over, which pulls the image, too. */
  limit: number;
}

export const PATIENCE: Patience = { lock: 3_000, pause: 5_000, limit: 200_000 };

/** A wait of a migration, and its seconds so far. */
export interface MigrationWait {
  waitsFor: string;
  seconds: number;
}

/** Milliseconds after which the server notices that a process which waits for its statement has ended. */
const CONNECTION_CHECK = 2_000;

/** `lock_not_available`, which is lock_timeout's, and `deadlock_detected`. */
const IN_THE_WAY = /^(55P03|40P01)$/;

/** The locks that a migration waits for: each shortly, and again, so that it holds up nobody while it waits. */
export class MigrationWaits {
  private readonly began = performance.now();

  /** @param source of a second connection, which asks who is in the way */
  constructor(
    private readonly runner: QueryRunner,
    private readonly source: DataSource,
    private readonly report: (wait: MigrationWait) => void,
    private readonly patience = PATIENCE,
  ) {}

  /** Limits the waits of the session. */
  async begin(): Promise<void> {
    await this.runner.query(`SELECT set_config('lock_timeout', $1, false)`, [`${this.patience.lock}ms`]);
    await this.runner
      .query(`SELECT set_config('client_connection_check_interval', $1, false)`, [`${CONNECTION_CHECK}ms`])
      .catch(() => undefined); // not every system can
  }

  /** Does `work`, from its beginning, until no lock is in its way. @throws Error that says who was, at the limit */
  async outlast<T>(work: () => Promise<T>, pause = this.patience.pause): Promise<T> {
    for (;;) {
      const { result, holders } = await this.attempt(work);
      if (result !== null) return result.value;
      await this.next(`a lock${holders === null ? '' : ` that is held by ${holders}`}`, pause);
    }
  }

  /** @throws Error at the limit */
  private async next(waitsFor: string, pause: number): Promise<void> {
    const waited = performance.now() - this.began;
    const seconds = Math.round(waited / 1000);
    if (waited + pause >= this.patience.limit) {
      throw new Error(
        `gave up after ${seconds} s of waiting for ${waitsFor}: let it end, or end it; then migrate again`,
      );
    }
    this.report({ waitsFor, seconds });
    await delay(pause);
  }

  /** A result of null: a lock was in the way. */
  private async attempt<T>(work: () => Promise<T>): Promise<{ result: { value: T } | null; holders: string | null }> {
    const [{ pid }] = (await this.runner.query('SELECT pg_backend_pid() AS pid')) as [{ pid: number }];
    const looking = new AbortController();
    let holders: string | null = null;
    const look = async (): Promise<void> => {
      for (;;) {
        await delay(this.patience.lock / 4, undefined, { signal: looking.signal });
        holders = (await this.holders(pid)) ?? holders;
      }
    };
    look().catch(() => undefined);
    try {
      return { result: { value: await work() }, holders };
    } catch (error) {
      if (!IN_THE_WAY.test(codeOf(error) ?? '')) throw error;
      return { result: null, holders };
    } finally {
      looking.abort();
    }
  }

  /** `pid 4711 (pg_dump of backup)`; null: nobody is in that process's way. */
  private async holders(pid: number): Promise<string | null> {
    const rows = await this.source.query<{ pid: number; application: string | null; role: string | null }[]>(
      `SELECT pid, nullif(application_name, '') AS application, usename AS role
         FROM unnest(pg_blocking_pids($1)) AS pid LEFT JOIN pg_stat_activity USING (pid)`,
      [pid],
    );
    if (rows.length === 0) return null;
    return rows.map((row) => `pid ${row.pid} (${row.application ?? 'a client'} of ${row.role ?? '?'})`).join(', ');
  }
}
