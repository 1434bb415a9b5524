import { Injectable } from '@nestjs/common';
import { type Counter, type Gauge, Histogram, Registry } from 'prom-client';
import type { AuditService } from '../audit/audit.service.js';
import { counter, gauge } from '../platform/operations/metrics.js';
import type { PublicationHistory } from './domain/publication-history.js';
import type { EngineWatch } from './domain/engine-watch.js';
import type { PublicationSummary, RunOutcome, Trigger } from './domain/publication.js';

const GAUGES = {
  last_success_timestamp_seconds: 'When a run last published or found nothing to change.',
  last_publication_timestamp_seconds: 'When rules were last published.',
  live: 'Whether the engine was seen to use the version that was published last (1) or not (0).',
  rules_broken: 'Whether the engine could not use its rules file (1): no statement works then.',
  live_overdue: 'Whether the engine used other rules than the published ones for longer than they take to it (1).',
  restored_until_timestamp_seconds: 'Until when an older version is restored; 0: none is.',
  published_version: 'The version that was published last; 0: none.',
  rules: 'Rules in the version that was published last.',
  bytes: 'Size of the text that was published last.',
  last_edit_timestamp_seconds: 'When a run last found an edit of the live rules by hand.',
  last_unexplained_change_timestamp_seconds:
    'When a version was last published with an unexplained change, below the limit or approved.',
  drift_since_timestamp_seconds: 'Since when the live rules hold an edit by hand; 0: the last run found none.',
  waiting_since_timestamp_seconds: 'Since when an unexplained change waits for an approval; 0: none does.',
  refused_since_timestamp_seconds: 'Since when every run was refused; 0: the last was not.',
  database_behind_since_timestamp_seconds:
    'Since when the target holds a version that the database does not have and no approved rules have replaced; 0: it does not.',
  failed_since_timestamp_seconds: 'Since when every run failed; 0: the last did not.',
  target_available: 'Whether the rules target could be read and written when it was last checked (1) or not (0).',
};

/** The sync's Prometheus metrics; the API document and the chart's alerts use the same names. */
@Injectable()
export class AclSyncMetrics {
  private readonly gauges: ReadonlyMap<string, Gauge>;
  private readonly runs: Counter<'outcome' | 'trigger'>;
  private readonly drift: Counter;
  private readonly grantToLive: Histogram;
  /** What this process has seen itself; the history knows only of the first time. */
  private watch: EngineWatch | null = null;

  constructor(registry: Registry) {
    const gauges = Object.entries(GAUGES);
    this.gauges = new Map(gauges.map(([name, help]) => [name, gauge(registry, `grantline_acl_${name}`, help)]));
    // Unknown until history and target are read: 0 would mean that nothing was published.
    for (const each of this.gauges.values()) each.set(Number.NaN);
    const help = 'Runs of the sync by outcome and trigger.';
    this.runs = counter(registry, 'grantline_acl_runs_total', help, 'outcome', 'trigger');
    this.grantToLive = new Histogram({
      name: 'grantline_acl_grant_to_live_seconds',
      help: 'From a change of grants to the moment at which the engine was seen to use it.',
      buckets: [5, 15, 30, 60, 90, 120, 180, 300, 450, 600, 900, 1800],
      registers: [registry],
    });
    this.drift = counter(
      registry,
      'grantline_acl_drift_total',
      'Edits of the live rules by hand that runs of this process found; runs in Jobs show in the timestamp alone.',
    );
  }

  ran(outcome: RunOutcome['kind'], trigger: Trigger): void {
    this.runs.inc({ outcome, trigger });
  }

  foundDrift(): void {
    this.drift.inc();
  }

  /** Sets the gauges from the history and the audit trail, which other processes write too: runs may happen in Jobs alone. */
  async showHistory(history: PublicationHistory, trail: Pick<AuditService, 'lastOf'>): Promise<void> {
    const { last, lastSuccessAt, refusedSince, failedSince, databaseBehind } = await history.summary();
    const [published] = (await history.list({ limit: 1, after: null })).items;
    this.show({
      last_success_timestamp_seconds: secondsOf(lastSuccessAt),
      refused_since_timestamp_seconds: secondsOf(refusedSince),
      failed_since_timestamp_seconds: secondsOf(failedSince),
      database_behind_since_timestamp_seconds: secondsOf(databaseBehind?.foundAt),
      last_edit_timestamp_seconds: secondsOf(await trail.lastOf('drift_found')),
      last_unexplained_change_timestamp_seconds: secondsOf(await trail.lastOf('unexplained_change')),
      drift_since_timestamp_seconds: secondsOf(last?.drift?.foundAt),
      waiting_since_timestamp_seconds: secondsOf(last?.waiting?.since),
      last_publication_timestamp_seconds: secondsOf(published?.publishedAt),
      live: this.isLive(published) ? 1 : 0,
      restored_until_timestamp_seconds: published?.restored?.ended === null ? secondsOf(published.restored.until) : 0,
      published_version: published?.version ?? 0,
      rules: published?.rules ?? 0,
      bytes: published?.bytes ?? 0,
    });
  }

  /** What probing the engine has shown of the version that is published. */
  showWatch(watch: EngineWatch): void {
    this.watch = watch;
    const { state } = watch;
    this.show({ rules_broken: state === 'broken' ? 1 : 0, live_overdue: state === 'overdue' ? 1 : 0 });
    if (state !== 'unknown') this.show({ live: state === 'live' ? 1 : 0 });
  }

  showTarget(isAvailable: boolean): void {
    this.show({ target_available: isAvailable ? 1 : 0 });
  }

  wentLive(secondsAfterChange: number): void {
    this.grantToLive.observe(secondsAfterChange);
  }

  private show(values: Partial<Record<keyof typeof GAUGES, number>>): void {
    for (const [name, value] of Object.entries(values)) this.gauges.get(name)?.set(value);
  }

  private isLive(published: PublicationSummary | undefined): boolean {
    const isKnown = this.watch?.version === published?.version && this.watch?.state !== 'unknown';
    return isKnown ? this.watch?.state === 'live' : (published?.liveAt ?? null) !== null;
  }
}

function secondsOf(moment: Date | null | undefined): number {
  return (moment?.getTime() ?? 0) / 1000;
}
