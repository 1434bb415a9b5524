import { type BeforeApplicationShutdown, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Timers } from '../kernel/clock.js';
import type { LogMarker } from '../kernel/log-marker.js';
import { Log } from '../platform/log/log.js';
import { HealthRegistry } from '../platform/operations/health.js';
import { AclSyncMetrics } from './acl-sync.metrics.js';
import { PublicationHistory } from './domain/publication-history.js';
import { type RulesTarget, RulesTargets, RulesTargetUnavailable, type TargetFailure } from './domain/rules-target.js';

/** Repeats every probe at its own intervals. A slow probe delays neither other probes nor the start of the service. */
export class HeartbeatService implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly stopController = new AbortController();
  private probeLoops: Promise<void>[] = [];

  constructor(
    private readonly timers: Timers,
    private readonly log: Log,
    private readonly probes: readonly Probe[],
  ) {}

  onApplicationBootstrap(): void {
    this.probeLoops = this.probes.map((probe) => this.repeatProbe(probe));
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.stopController.abort();
    await Promise.all(this.probeLoops);
  }

  private async repeatProbe(probe: Probe): Promise<void> {
    const { signal } = this.stopController;
    while (!signal.aborted) {
      await probe.probe(signal).catch((error: unknown) => {
        if (!signal.aborted) this.log.warn(probe.failureMessage, { err: error });
      });
      await this.timers.wait(probe.intervalMs(), signal).catch(() => undefined);
    }
  }
}

/** A check that `HeartbeatService` repeats as long as the service runs. */
export interface Probe {
  /** Logged when the check fails. */
  readonly failureMessage: LogMarker;
  /** Milliseconds until the next check. */
  intervalMs(): number;
  probe(signal: AbortSignal): Promise<void>;
}

/** The result of a check of a target. `denied`: this process lacks rights there. */
type TargetCheck = 'available' | 'denied' | TargetFailure;

const CHECK_TIMEOUT_MS = 20_000;
const INTERVAL_MS = { well: 60_000, degraded: 10_000 };

/** Checks whether the rules targets can be read and written, and have the published rules. */
@Injectable()
export class TargetProbe implements Probe {
  readonly failureMessage = 'rules target check failed';
  private readonly lastChecks = new Map<RulesTarget, TargetCheck>();
  private lastProbe: { isWell: boolean; probedAt: number } | null = null;

  constructor(
    private readonly targets: RulesTargets,
    private readonly history: PublicationHistory,
    private readonly metrics: AclSyncMetrics,
    private readonly timers: Timers,
    private readonly log: Log,
    health: HealthRegistry,
  ) {
    const ageSeconds = (): number | null => this.lastProbe && (timers.now() - this.lastProbe.probedAt) / 1000;
    health.register('target', () => Promise.resolve(this.lastProbe?.isWell === false ? 'degraded' : 'up'), ageSeconds);
  }

  /** Checks all targets at the same time, each with its own time limit. */
  async probe(signal: AbortSignal): Promise<void> {
    const areTargetsWell = await Promise.all(
      this.targets.all.map(async (target) => {
        const isAvailable = (await this.check(target, signal)) === 'available';
        this.metrics.setTargetGauge(target.key, isAvailable);
        return isAvailable && !(await this.hasForeignRules(target, signal));
      }),
    );
    this.lastProbe = { isWell: !areTargetsWell.includes(false), probedAt: this.timers.now() };
  }

  intervalMs(): number {
    return INTERVAL_MS[this.lastProbe?.isWell === false ? 'degraded' : 'well'];
  }

  /** Checks all targets, and logs what fails. */
  async checkAll(): Promise<void> {
    await Promise.all(this.targets.all.map((target) => this.check(target)));
  }

  /** Logs a failed check, unless the check before it failed for the same reason. @throws when the signal is aborted */
  private async check(target: RulesTarget, signal?: AbortSignal): Promise<TargetCheck> {
    const timeout = AbortSignal.timeout(CHECK_TIMEOUT_MS);
    const formerCheck = this.lastChecks.get(target) ?? 'available';
    const record = (check: TargetCheck): TargetCheck => {
      this.lastChecks.set(target, check);
      return check;
    };
    try {
      const access = await target.checkAccess(signal === undefined ? timeout : AbortSignal.any([signal, timeout]));
      if (access.kind === 'granted') return record('available');
      const { missingRights: missing, identity } = access;
      if (formerCheck !== 'denied')
        this.log.error('TRINO_ACL_TARGET_DENIED', { target: target.name, missing, identity });
      return record('denied');
    } catch (error) {
      signal?.throwIfAborted();
      if (!(error instanceof RulesTargetUnavailable)) throw error;
      const { reason, message, auditId } = error;
      if (reason !== formerCheck)
        this.log.warn(this.failureMessage, { target: target.name, reason, message, audit_id: auditId });
      return record(reason);
    }
  }

  /** Whether the live text differs from the published one. A difference is checked again, because a run may publish between `read` and `latest`. */
  private async hasForeignRules(target: RulesTarget, signal: AbortSignal): Promise<boolean> {
    const hasOtherText = async (): Promise<boolean> => {
      const { text } = await target.read(signal);
      const publication = await this.history.latest();
      return publication !== null && publication.text !== text;
    };
    return (await hasOtherText()) && (await hasOtherText());
  }
}
