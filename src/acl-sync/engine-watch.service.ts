import { Injectable } from '@nestjs/common';
import { Clock, Timers } from '../kernel/clock.js';
import { HealthRegistry } from '../platform/operations/health.js';
import { Log } from '../platform/log/log.js';
import { Settings } from '../platform/settings/settings.js';
import { EngineProbe } from '../query-engine/engine-probe.service.js';
import type { Finding } from '../trino-rules/document/finding.js';
import { AclSyncMetrics } from './acl-sync.metrics.js';
import { BackgroundRunsService } from './background-runs.service.js';
import {
  type EngineWatch,
  failsOnVersion,
  isSettled,
  LIVE_WITHIN_MS,
  openCatalogs,
  nextWatch,
} from './domain/engine-watch.js';
import type { PublicationSummary } from './domain/publication.js';
import { PublicationHistory } from './domain/publication-history.js';
import { RulesTarget, RulesTargetUnavailable, TARGET_MS } from './domain/rules-target.js';
import type { Probe } from './heartbeat.service.js';

/** How often the history is read, because any process may publish. An engine that uses the version is probed less often. */
const CHECK_INTERVAL_MS = 2_000;
const SETTLED_INTERVAL_MS = 15_000;

/** Probes whether the engine uses the last published version, and requests a run if the engine cannot use its rules. */
@Injectable()
export class EngineWatchService implements Probe {
  readonly failure = 'live version check failed';
  private watch: EngineWatch | null = null;
  /** The version for which a repairing run was requested. */
  private repaired: number | null = null;
  private askedAt = -Infinity;
  private checkedAt: number | null = null;
  /** Warnings on open catalogs. Read when the engine is first seen to use a version, and at the start of this process. */
  openCatalogs: readonly Finding[] = [];

  constructor(
    private readonly history: PublicationHistory,
    private readonly engine: EngineProbe,
    private readonly target: RulesTarget,
    private readonly runs: BackgroundRunsService,
    private readonly metrics: AclSyncMetrics,
    private readonly timers: Timers,
    private readonly clock: Clock,
    private readonly log: Log,
    private readonly settings: Settings,
    health: HealthRegistry,
  ) {
    if (settings.engine.origin === null) return;
    const age = () => (this.checkedAt === null ? null : Math.round((timers.now() - this.checkedAt) / 1000));
    const isWrong = () => this.watch?.state === 'broken' || this.watch?.state === 'overdue';
    health.register('rules', () => Promise.resolve(isWrong() ? 'degraded' : 'up'), age);
  }

  interval(): number {
    return CHECK_INTERVAL_MS;
  }

  async probe(): Promise<void> {
    const isRecent = isSettled(this.watch) && this.timers.now() - this.askedAt < SETTLED_INTERVAL_MS;
    const [latest] = isRecent ? (await this.history.list({ limit: 1, after: null })).items : [];
    if (!isRecent || latest?.version !== this.watch?.version) await this.check();
  }

  /** Asks the engine once whether it uses the last published version. */
  async check(): Promise<void> {
    const [latest, former] = (await this.history.list({ limit: 2, after: null })).items;
    if (latest === undefined) return;
    const answer = await this.engine.rulesInForce(`grantline_rules_${latest.hash}`);
    const now = this.clock.now();
    const before = this.watch;
    const watch = nextWatch(before, latest, former, answer, now);
    const isDeparture = watch.state === 'overdue' && before?.state !== 'overdue';
    if (isDeparture && (await this.repair(watch, latest, now))) return this.check();
    this.watch = watch;
    this.askedAt = this.timers.now();
    if (answer !== 'unreachable') this.checkedAt = this.askedAt;
    this.metrics.showWatch(watch);
    await this.act(watch, before?.version === latest.version ? before.state : 'unknown', latest, now);
  }

  private async act(
    watch: EngineWatch,
    before: EngineWatch['state'],
    latest: PublicationSummary,
    now: Date,
  ): Promise<void> {
    const { version, hash } = latest;
    if (watch.state === 'live' && latest.liveAt === null) await this.confirm(latest, now);
    if (watch.state === 'live' && before !== 'live') await this.noteOpenCatalogs();
    if (watch.state === 'overdue' && before !== 'overdue') {
      this.log.error('TRINO_ACL_RULES_OVERDUE', { version, hash, bound_seconds: LIVE_WITHIN_MS / 1000 });
    }
    if (watch.state === 'broken' && before !== 'broken') this.log.error('TRINO_ACL_RULES_BROKEN', { version, hash });
    if (watch.state === 'broken') await this.repair(watch, latest, now);
  }

  /**
   * Requests a repairing run, once for each version, because the run publishes a new one or records one that a killed run has written.
   * @returns whether a run was made
   */
  private async repair(watch: EngineWatch, latest: PublicationSummary, now: Date): Promise<boolean> {
    if (this.repaired === latest.version) return false;
    const live = await this.target.read(AbortSignal.timeout(TARGET_MS)).catch((error: unknown) => {
      if (error instanceof RulesTargetUnavailable) return null;
      throw error;
    });
    if (live === null) return false;
    const isOurs = live.text === (await this.history.latest())?.text;
    if (isOurs && !failsOnVersion(watch, latest, now)) return false;
    this.repaired = latest.version;
    if (isOurs) await this.history.markBroken(latest.version, now);
    if (!this.settings.acl.sync.enabled) return false;
    await this.runs.run('rollback');
    return true;
  }

  private async confirm({ version, hash, changedAt, publishedAt }: PublicationSummary, now: Date): Promise<void> {
    await this.history.markLive(version, now);
    const seconds = (now.getTime() - (changedAt ?? publishedAt).getTime()) / 1000;
    this.metrics.recordLive(seconds);
    this.log.info('TRINO_ACL_RULES_LIVE', { version, hash, seconds });
  }

  /** Logs a warning once for each open catalog, because rules alone do not close access that the connector opens. */
  private async noteOpenCatalogs(): Promise<void> {
    const catalogs = await this.engine.catalogs();
    if (catalogs === null) return;
    const known = this.openCatalogs.map(({ message }) => message);
    this.openCatalogs = openCatalogs(catalogs, this.settings.acl);
    for (const { message, witness: properties = null } of this.openCatalogs)
      if (!known.includes(message)) this.log.warn('TRINO_ACL_CATALOG_OPEN', { message, properties });
  }
}
