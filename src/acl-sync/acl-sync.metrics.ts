import { Injectable } from '@nestjs/common';
import { type Counter, type Gauge, Histogram, Registry } from 'prom-client';
import type { AuditService } from '../audit/audit.service.js';
import { counter, gauge } from '../platform/operations/metrics.js';
import type { GuaranteeStore } from '../grants/guarantee.store.js';
import type { PublicationHistory } from './domain/publication-history.js';
import type { EngineWatch } from './domain/engine-watch.js';
import { RulesTargets } from './domain/rules-target.js';
import { type PublicationSummary, TRIGGERS } from './domain/publication.js';

const GAUGES = {
  last_success_timestamp_seconds: 'When a run last published or found nothing to change.',
  last_publication_timestamp_seconds:
    'When a version was last published; old where no grant changes, which is no fault.',
  rules_broken:
    '1: the engine could not use its rules file; of what this replica asked itself, only with `SERVICE_QUERY_HOST`.',
  live_overdue:
    '1: the engine uses other rules, although a version that it was not seen to use is older than 210 s, or the last version was in use already.',
  restored_until_timestamp_seconds: 'Until when an older version is restored; 0: none is.',
  published_version: 'The last version; 0: none.',
  rules: 'Rules in the last version.',
  last_edit_timestamp_seconds: 'When a run last found an edit of the live rules by hand; 0: never.',
  last_unexplained_change_timestamp_seconds:
    'When a version was last published with an unexplained change, below the limit or approved; 0: never.',
  drift_since_timestamp_seconds: 'Since when the live rules hold an edit by hand; 0: the last run found none.',
  waiting_since_timestamp_seconds: 'Since when a change waits for an approval; 0: none does.',
  refused_since_timestamp_seconds: 'Since when every run was refused, restores aside; 0: the last one was not.',
  database_behind_since_timestamp_seconds:
    'Since when the rules in force are a version that the database does not have; 0: they are not.',
  failed_since_timestamp_seconds: 'Since when every run failed; 0: the last one did not.',
};

const GAUGES_OF_TARGETS = {
  live: '1: the engine uses the last version; asked every 15 s, every 2 s until it does. Only of the first `target`, which the configured engine reads, and of `opa` after its first report: canary and instances of five minutes say so; 0 if all are silent.',
  bytes:
    'Size of the last version by `target`, of `opa` packed; a ConfigMap holds 1,048,576 bytes with the previous one.',
  target_available:
    '1: the `target` could be read and written when it was last checked: each minute, every 10 s while not.',
};

/** The sync's Prometheus metrics; the API document and the chart's alerts use the same names. */
@Injectable()
export class AclSyncMetrics {
  private readonly gauges: ReadonlyMap<string, Gauge>;
  private readonly targetGauges: Record<'live' | 'bytes' | 'available', Gauge<'target'>>;
  readonly runs: Counter<'outcome' | 'trigger'>;
  readonly drift: Counter;
  readonly changeToLiveSeconds: Histogram;
  private readonly guarantees: Gauge<'mode' | 'state'>;
  private readonly brokenSince: Gauge<'name'>;
  /** The engine's latest state that this process has seen. The history lacks this state: it records only the first use of a version. */
  private watch: EngineWatch | null = null;

  constructor(
    metricsRegistry: Registry,
    private readonly targets: RulesTargets,
  ) {
    const gauges = Object.entries(GAUGES);
    this.gauges = new Map(gauges.map(([name, help]) => [name, gauge(metricsRegistry, `grantline_acl_${name}`, help)]));
    const targetGauge = (name: keyof typeof GAUGES_OF_TARGETS) =>
      gauge(metricsRegistry, `grantline_acl_${name}`, GAUGES_OF_TARGETS[name], 'target');
    const [live, bytes, available] = [targetGauge('live'), targetGauge('bytes'), targetGauge('target_available')];
    this.targetGauges = { live, bytes, available };
    // The gauges are NaN until history and targets are read, because 0 would mean that nothing was published.
    for (const each of this.gauges.values()) each.set(Number.NaN);
    live.set({ target: targets.engineTargetKey }, Number.NaN);
    for (const { key: target } of targets.all) for (const each of [bytes, available]) each.set({ target }, Number.NaN);
    const outcomesText = '`applied`, `no_change`, `refused`, `failed`';
    const help = `Runs by \`outcome\` (${outcomesText}) and \`trigger\` (\`${TRIGGERS.join('`, `')}\`).`;
    this.runs = counter(metricsRegistry, 'grantline_acl_runs_total', help, 'outcome', 'trigger');
    this.changeToLiveSeconds = new Histogram({
      name: 'grantline_acl_grant_to_live_seconds',
      help: 'From the first change in a version to the engine seen using it.',
      buckets: [5, 15, 30, 60, 90, 120, 180, 300, 450, 600, 900, 1800],
      registers: [metricsRegistry],
    });
    this.guarantees = gauge(metricsRegistry, 'grantline_guarantees', 'Guarantees by mode and state.', 'mode', 'state');
    this.brokenSince = gauge(
      metricsRegistry,
      'grantline_guarantee_broken_since_timestamp_seconds',
      'Since when a guarantee is broken; those that hold are left out.',
      'name',
    );
    this.drift = counter(
      metricsRegistry,
      'grantline_acl_drift_total',
      'Edits by hand that runs of this process found; alerts use `grantline_acl_last_edit_timestamp_seconds`, which knows of Jobs, too.',
    );
  }

  /** Sets the gauges from the history and the audit trail, because all runs may take place in other processes, such as Jobs. */
  async setHistoryGauges(
    history: PublicationHistory,
    auditTrail: Pick<AuditService, 'lastTimeOf'>,
    guarantees: Pick<GuaranteeStore, 'listAll'>,
  ): Promise<void> {
    const guaranteeStates = await guarantees.listAll();
    this.guarantees.reset();
    this.brokenSince.reset();
    for (const { guarantee, brokenSince } of guaranteeStates) {
      this.guarantees.inc({ mode: guarantee.mode, state: brokenSince === null ? 'holds' : 'broken' });
      if (brokenSince !== null) this.brokenSince.set({ name: guarantee.name }, unixTime(brokenSince));
    }
    const { lastRun: last, lastSuccessAt, refusedSince, failedSince, databaseBehind } = await history.summary();
    const [published] = (await history.list({ limit: 1, after: null })).items;
    this.setGauges({
      last_success_timestamp_seconds: unixTime(lastSuccessAt),
      refused_since_timestamp_seconds: unixTime(refusedSince),
      failed_since_timestamp_seconds: unixTime(failedSince),
      database_behind_since_timestamp_seconds: unixTime(databaseBehind?.foundAt),
      last_edit_timestamp_seconds: unixTime(await auditTrail.lastTimeOf('drift_found')),
      last_unexplained_change_timestamp_seconds: unixTime(await auditTrail.lastTimeOf('unexplained_change')),
      drift_since_timestamp_seconds: unixTime(last?.drift?.foundAt),
      waiting_since_timestamp_seconds: unixTime(last?.waiting?.since),
      last_publication_timestamp_seconds: unixTime(published?.publishedAt),
      restored_until_timestamp_seconds: published?.restored?.ended === null ? unixTime(published.restored.until) : 0,
      published_version: published?.version ?? 0,
      rules: published?.rules ?? 0,
    });
    if (this.targets.engineTargetKey !== 'opa') this.setLiveGauge(this.isLive(published));
    for (const { key: target } of this.targets.all) this.targetGauges.bytes.set({ target }, published?.bytes ?? 0);
  }

  setWatchGauges(watch: EngineWatch): void {
    this.watch = watch;
    const { state } = watch;
    this.setGauges({ rules_broken: state === 'broken' ? 1 : 0, live_overdue: state === 'overdue' ? 1 : 0 });
    if (state !== 'unknown') this.setLiveGauge(state === 'live');
  }

  setTargetGauge(target: string, isAvailable: boolean): void {
    this.targetGauges.available.set({ target }, isAvailable ? 1 : 0);
  }

  /** Sets the gauges of a target that another module serves, such as OPA. `isLive` is null if no engine is known to use the target. */
  setServedTarget(target: string, isLive: boolean | null, bytes: number): void {
    if (isLive === null) this.targetGauges.live.remove({ target });
    else this.targetGauges.live.set({ target }, isLive ? 1 : 0);
    this.targetGauges.bytes.set({ target }, bytes);
  }

  private setLiveGauge(isLive: boolean): void {
    this.targetGauges.live.set({ target: this.targets.engineTargetKey }, isLive ? 1 : 0);
  }

  private setGauges(values: Partial<Record<keyof typeof GAUGES, number>>): void {
    for (const [name, value] of Object.entries(values)) this.gauges.get(name)?.set(value);
  }

  private isLive(published: PublicationSummary | undefined): boolean {
    const isStateKnown = this.watch?.version === published?.version && this.watch?.state !== 'unknown';
    return isStateKnown ? this.watch?.state === 'live' : (published?.liveAt ?? null) !== null;
  }
}

function unixTime(moment: Date | null | undefined): number {
  return (moment?.getTime() ?? 0) / 1000;
}
