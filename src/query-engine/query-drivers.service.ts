import { Injectable } from '@nestjs/common';
import { Clock } from '../kernel/clock.js';
import { Ids } from '../kernel/ids.js';
import { Log } from '../platform/log.js';
import { Settings } from '../platform/settings.js';
import { Timers } from '../kernel/timers.js';
import { PageBudget } from './domain/page-budget.js';
import { endedBy } from './domain/query.js';
import { type Drive, QueryStore } from './domain/query-store.js';
import { StatementClient } from './domain/statement-client.js';
import type { StatementPage } from './domain/statement-page.js';
import { DrivenQuery, type DriverContext } from './driven-query.js';
import { RowReader, type RowsOutcome } from './row-reader.js';

/** Milliseconds. A driver that has not renewed its lease (of 30 s, see the store) for so long is taken for dead. */
const TICK = 5_000;
/** For so long the last page of a finished query can be asked for once more. */
const REMEMBERED_FOR = 60_000;
const SWEEP_EVERY = 3_600_000;
const ADOPTED_AT_ONCE = 20;
const DAY = 86_400_000;

interface Driven {
  query: DrivenQuery;
  reader: RowReader;
}

/**
 * The queries that this replica drives (background work: its owner is the lease in the database, its deadline
 * QUERY_MAX_SECONDS, its record the query itself). Queries of a replica that died are adopted and driven on.
 */
@Injectable()
export class QueryDrivers {
  /** This replica. */
  readonly driver: string;
  readonly #driven = new Map<string, Driven>();
  private readonly context: DriverContext;
  private isStopping = false;
  private sweptAt = -SWEEP_EVERY;

  constructor(
    client: StatementClient,
    private readonly store: QueryStore,
    private readonly timers: Timers,
    private readonly clock: Clock,
    private readonly log: Log,
    private readonly settings: Settings,
    ids: Ids,
  ) {
    this.driver = ids.uuid();
    const { maxRows, maxHeldBytes, maxPageBytes } = settings.queries;
    const budget = new PageBudget(maxHeldBytes, maxPageBytes);
    this.context = { client, store, timers, clock, log, driver: this.driver, maxRows, budget };
  }

  /** Until the signal is aborted. Another replica then goes on, or the next start does, while the engine remembers. */
  async run(signal: AbortSignal): Promise<void> {
    const leaveAll = (): void => {
      this.isStopping = true;
      for (const { query } of this.#driven.values()) query.leave();
    };
    signal.addEventListener('abort', leaveAll, { once: true });
    while (!signal.aborted) {
      await this.tick().catch((error: unknown) => this.report(error));
      await this.timers.wait(TICK, signal).catch(() => undefined);
    }
    leaveAll();
    await this.store.release(this.driver).catch((error: unknown) => this.report(error));
  }

  /** Drives a query on from the answer to its POST. @throws EngineFault when that answer cannot be gone on from. */
  async begin(drive: Drive, page: StatementPage): Promise<void> {
    await this.drive(drive).query.begin(page);
  }

  /** The rows of a query that is alive, from that one on; this replica becomes its driver if it is not. */
  async rows(id: string, from: number, limit: number): Promise<RowsOutcome> {
    const present = this.#driven.get(id);
    const outcome = await present?.reader.rows(from, limit);
    if (outcome?.kind === 'page' || (outcome !== undefined && present?.query.isFinished())) return outcome;
    if (this.isStopping) return { kind: 'over' };
    // Another replica may have driven it on meanwhile: only what stands in the database can say no.
    const drive = await this.store.claim(id, this.driver);
    if (drive === null) return { kind: 'over' };
    present?.query.leave();
    return this.drive(drive).reader.rows(from, limit);
  }

  /** It was ended elsewhere: nothing is asked for it any more. */
  forget(id: string): void {
    const present = this.#driven.get(id);
    present?.query.leave();
    present?.query.forgetPages();
    this.#driven.delete(id);
  }

  /** One round of what time demands. Called every 5 s, and by tests. */
  async tick(): Promise<void> {
    const present = [...this.#driven];
    const leases = new Map((await this.store.renew(this.driver)).map(({ id, isActive }) => [id, isActive]));
    await Promise.all(present.map(([id, { query }]) => this.tickOne(id, query, leases.get(id))));
    for (const drive of await this.store.claimExpired(this.driver, ADOPTED_AT_ONCE)) await this.adopt(drive);
    if (this.timers.now() - this.sweptAt < SWEEP_EVERY) return;
    this.sweptAt = this.timers.now();
    await this.store.removePast(new Date(this.clock.now().getTime() - this.settings.queries.retentionDays * DAY));
  }

  /** @param isActive undefined: another replica drives it, or it was ended elsewhere. */
  private async tickOne(id: string, query: DrivenQuery, isActive: boolean | undefined): Promise<void> {
    if (query.overFor > REMEMBERED_FOR) this.forget(id);
    if (query.isOver()) return;
    if (isActive === undefined) query.leave();
    else if (isActive) await query.tick();
    else await query.end(endedBy('account_deactivated'));
  }

  /** Without the error itself: a database's error carries the values that it was given, and paths are among them. */
  private report(error: unknown): void {
    this.log.warn('the drivers of queries stumbled', { reason: error instanceof Error ? error.message : 'unknown' });
  }

  /** What the dead driver had not handed to the engine, or held in its memory alone, is lost. */
  private async adopt(drive: Drive): Promise<void> {
    const { query } = this.drive(drive);
    this.log.info('a query is driven on after its driver died', { query_id: drive.id });
    if (drive.nextPath === null && drive.pagePath === null) await query.end(endedBy('query_lost'));
    else if (drive.waitingSince === null) void query.goOn();
  }

  private drive(drive: Drive): Driven {
    const query = new DrivenQuery(this.context, drive);
    const driven = { query, reader: new RowReader(this.context, query) };
    this.#driven.set(drive.id, driven);
    return driven;
  }
}
