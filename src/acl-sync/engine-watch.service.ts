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
  openCatalogFindings,
  nextWatch,
  overdueVersions,
  textsInUse,
} from './domain/engine-watch.js';
import type { PublicationSummary } from './domain/publication.js';
import { PublicationHistory } from './domain/publication-history.js';
import { RulesTargets, RulesTargetUnavailable, TARGET_MS } from './domain/rules-target.js';
import type { Probe } from './heartbeat.service.js';

/** Milliseconds between two reads of the history, to which other processes may add versions. */
const CHECK_INTERVAL_MS = 2_000;
/** The most versions that are considered while the engine does not use the newest one. */
const MAX_AWAITED = 100;
const SETTLED_INTERVAL_MS = 15_000; // between two probes of an engine that uses the published version

/** Probes whether the engine uses the last published version. If not, may request a repairing run. */
@Injectable()
export class EngineWatchService implements Probe {
  readonly failureMessage = 'live version check failed';
  private watch: EngineWatch | null = null;
  /** The version for which a repairing run was requested. */
  private repairedVersion: number | null = null;
  private engineAskedAt = -Infinity;
  private checkedAt: number | null = null;
  /** Warnings on catalogs that can bypass restrictions. Renewed at the start, and when the engine is first seen to use a version. */
  openCatalogs: readonly Finding[] = [];

  constructor(
    private readonly history: PublicationHistory,
    private readonly engine: EngineProbe,
    private readonly targets: RulesTargets,
    private readonly backgroundRuns: BackgroundRunsService,
    private readonly metrics: AclSyncMetrics,
    private readonly timers: Timers,
    private readonly clock: Clock,
    private readonly log: Log,
    private readonly settings: Settings,
    health: HealthRegistry,
  ) {
    if (settings.engine.origin === null) return;
    const ageSeconds = () => (this.checkedAt === null ? null : Math.round((timers.now() - this.checkedAt) / 1000));
    const hasFault = () => this.watch?.state === 'broken' || this.watch?.state === 'overdue';
    health.register('rules', () => Promise.resolve(hasFault() ? 'degraded' : 'up'), ageSeconds);
  }

  intervalMs(): number {
    return CHECK_INTERVAL_MS;
  }

  async probe(): Promise<void> {
    const isRecent = isSettled(this.watch) && this.timers.now() - this.engineAskedAt < SETTLED_INTERVAL_MS;
    const [latest] = isRecent ? (await this.history.list({ limit: 1, after: null })).items : [];
    if (!isRecent || latest?.version !== this.watch?.version) await this.check();
  }

  /** Asks the engine once whether it uses the last published version. */
  async check(): Promise<void> {
    const [latest, former] = (await this.history.list({ limit: 2, after: null })).items;
    if (latest === undefined) return;
    const answer = await this.engine.rulesInForce(`grantline_rules_${latest.hash}`);
    const now = this.clock.now();
    const formerWatch = this.watch;
    const awaitedSince = answer === 'others' ? await this.awaitedSince(latest, now) : latest.publishedAt;
    const watch = nextWatch(formerWatch, latest, former, answer, now, awaitedSince);
    const isNewlyOverdue = watch.state === 'overdue' && formerWatch?.state !== 'overdue';
    if (isNewlyOverdue && (await this.repair(watch, latest, now))) return this.check();
    this.watch = watch;
    this.engineAskedAt = this.timers.now();
    if (answer !== 'unreachable') this.checkedAt = this.engineAskedAt;
    this.metrics.setWatchGauges(watch);
    const { version, hash } = latest;
    if (isNewlyOverdue)
      this.log.error('TRINO_ACL_RULES_OVERDUE', { version, hash, bound_seconds: LIVE_WITHIN_MS / 1000 });
    await this.actOnState(watch, formerWatch?.version === latest.version ? formerWatch.state : 'unknown', latest, now);
  }

  /** Records that the engine uses a version, if it is the newest version. @param revision as OPA reports it */
  async recordLive(revision: string): Promise<void> {
    const [latest] = (await this.history.list({ limit: 1, after: null })).items;
    if (latest?.liveAt === null && revision.startsWith(`v${latest.version}-`))
      await this.markLive(latest, this.clock.now());
  }

  /**
   * Since when the engine should use a newer version than it does. Versions that follow each other quickly are each replaced before the engine
   * uses them, so the engine is in time if it uses one of those that are not overdue yet, or the version before these.
   */
  private async awaitedSince(latest: PublicationSummary, now: Date): Promise<Date> {
    const overdue = overdueVersions((await this.history.list({ limit: MAX_AWAITED, after: null })).items, now);
    for (const { hash } of overdue.slice(1))
      if ((await this.engine.rulesInForce(`grantline_rules_${hash}`)) !== 'others') return latest.publishedAt;
    return overdue.at(-1)?.publishedAt ?? latest.publishedAt;
  }

  private async actOnState(
    watch: EngineWatch,
    oldState: EngineWatch['state'],
    latest: PublicationSummary,
    now: Date,
  ): Promise<void> {
    const { version, hash } = latest;
    if (watch.state === 'live' && latest.liveAt === null && !(await this.mayUseOlderVersion(now)))
      await this.markLive(latest, now);
    if (watch.state === 'live' && oldState !== 'live') await this.logOpenCatalogs();
    if (watch.state === 'broken' && oldState !== 'broken') this.log.error('TRINO_ACL_RULES_BROKEN', { version, hash });
    if (watch.state === 'broken') await this.repair(watch, latest, now);
  }

  /** Starts a run because the engine fails on its rules, at most once for each version. @returns whether a run was started */
  private async repair(engineWatch: EngineWatch, latest: PublicationSummary, now: Date): Promise<boolean> {
    if (this.repairedVersion === latest.version) return false;
    const liveRules = await this.targets.all[0]?.read(AbortSignal.timeout(TARGET_MS)).catch((error: unknown) => {
      if (error instanceof RulesTargetUnavailable) return null;
      throw error;
    });
    if (!liveRules) return false;
    const isPublishedText = liveRules.text === (await this.history.latest())?.text;
    if (isPublishedText && !failsOnVersion(engineWatch, latest, now)) return false;
    this.repairedVersion = latest.version;
    if (isPublishedText) await this.history.markBroken(latest.version, now);
    if (!this.settings.acl.sync.enabled) return false;
    await this.backgroundRuns.run('rollback');
    return true;
  }

  /** Whether the engine may still use an older version that has the same text as the latest version. */
  private async mayUseOlderVersion(now: Date): Promise<boolean> {
    const versions = await this.history.publishedSince(new Date(now.getTime() - LIVE_WITHIN_MS));
    const texts = textsInUse(versions, true, now);
    return texts.indexOf(texts.at(-1) ?? '') < texts.length - 1;
  }

  /** Records that a version is live. If the version was transitional (`firstStepOf`), starts a run that publishes the final rules. */
  private async markLive(latest: PublicationSummary, now: Date): Promise<void> {
    const { version, hash, changedAt, publishedAt, firstStepOf } = latest;
    await this.history.markLive(version, now);
    const seconds = (now.getTime() - (changedAt ?? publishedAt).getTime()) / 1000;
    this.metrics.changeToLiveSeconds.observe(seconds);
    this.log.info('TRINO_ACL_RULES_LIVE', { version, hash, seconds });
    if (firstStepOf !== null && this.settings.acl.sync.enabled) await this.backgroundRuns.run('change');
  }

  /** Logs a warning once for each catalog whose connector can bypass restrictions, because rules alone cannot prevent that. */
  private async logOpenCatalogs(): Promise<void> {
    const catalogs = await this.engine.catalogs();
    if (catalogs === null) return;
    const knownMessages = this.openCatalogs.map(({ message }) => message);
    this.openCatalogs = openCatalogFindings(catalogs, this.settings.acl);
    for (const { message, witness: properties = null } of this.openCatalogs)
      if (!knownMessages.includes(message)) this.log.warn('TRINO_ACL_CATALOG_OPEN', { message, properties });
  }
}
