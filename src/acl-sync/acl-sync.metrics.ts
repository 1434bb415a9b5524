import { Injectable } from '@nestjs/common';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { AuditService } from '../audit/audit.service.js';
import type { PublicationHistory } from './domain/publication-history.js';
import type { LiveWatch } from './domain/live-watch.js';
import type { PublicationSummary, RunOutcome, Trigger } from './domain/publication.js';

/** The sync's Prometheus metrics; the API document and the chart's alerts use the same names. */
@Injectable()
export class AclSyncMetrics {
  private readonly runs: Counter<'outcome' | 'trigger'>;
  private readonly lastSuccess: Gauge;
  private readonly lastPublication: Gauge;
  private readonly live: Gauge;
  private readonly rulesBroken: Gauge;
  private readonly overdue: Gauge;
  private readonly restoredUntil: Gauge;
  /** What this process has seen itself; the history knows only of the first time. */
  private watch: LiveWatch | null = null;
  private readonly grantToLive: Histogram;
  private readonly publishedVersion: Gauge;
  private readonly rules: Gauge;
  private readonly bytes: Gauge;
  private readonly drift: Counter;
  private readonly driftSince: Gauge;
  private readonly refusedSince: Gauge;
  private readonly failedSince: Gauge;
  private readonly databaseBehind: Gauge;
  private readonly waitingSince: Gauge;
  private readonly lastEdit: Gauge;
  private readonly lastUnexplained: Gauge;

  constructor(registry: Registry) {
    const registers = [registry];
    const gauge = (name: string, help: string) => {
      const made = new Gauge({ name: `grantline_acl_${name}`, help, registers });
      made.set(Number.NaN); // unknown until the history is read: 0 would mean that nothing was published
      return made;
    };
    this.runs = new Counter({
      name: 'grantline_acl_runs_total',
      help: 'Runs of the sync by outcome and trigger.',
      labelNames: ['outcome', 'trigger'],
      registers,
    });
    this.lastSuccess = gauge('last_success_timestamp_seconds', 'When a run last published or found nothing to change.');
    this.lastPublication = gauge('last_publication_timestamp_seconds', 'When rules were last published.');
    this.live = gauge('live', 'Whether the engine was seen to use the version that was published last (1) or not (0).');
    this.rulesBroken = gauge(
      'rules_broken',
      'Whether the engine could not use its rules file (1): no statement works then.',
    );
    this.overdue = gauge(
      'live_overdue',
      'Whether the engine used other rules than the published ones for longer than they take to it (1).',
    );
    this.restoredUntil = gauge(
      'restored_until_timestamp_seconds',
      'Until when an older version is restored; 0: none is.',
    );
    this.grantToLive = new Histogram({
      name: 'grantline_acl_grant_to_live_seconds',
      help: 'From a change of grants to the moment at which the engine was seen to use it.',
      buckets: [5, 15, 30, 60, 90, 120, 180, 300, 450, 600, 900, 1800],
      registers,
    });
    this.publishedVersion = gauge('published_version', 'The version that was published last; 0: none.');
    this.rules = gauge('rules', 'Rules in the version that was published last.');
    this.bytes = gauge('bytes', 'Size of the text that was published last.');
    this.drift = new Counter({
      name: 'grantline_acl_drift_total',
      help: 'Edits of the live rules by hand that runs of this process found; runs in Jobs show in the timestamp alone.',
      registers,
    });
    this.lastEdit = gauge('last_edit_timestamp_seconds', 'When a run last found an edit of the live rules by hand.');
    this.lastUnexplained = gauge(
      'last_unexplained_change_timestamp_seconds',
      'When a version was last published with an unexplained change, below the limit or approved.',
    );
    this.driftSince = gauge(
      'drift_since_timestamp_seconds',
      'Since when the live rules hold an edit by hand; 0: the last run found none.',
    );
    this.waitingSince = gauge(
      'waiting_since_timestamp_seconds',
      'Since when an unexplained change waits for an approval; 0: none does.',
    );
    this.refusedSince = gauge(
      'refused_since_timestamp_seconds',
      'Since when every run was refused; 0: the last was not.',
    );
    this.databaseBehind = gauge(
      'database_behind_since_timestamp_seconds',
      'Since when the target holds a version that the database does not have and no approved rules have replaced; 0: it does not.',
    );
    this.failedSince = gauge('failed_since_timestamp_seconds', 'Since when every run failed; 0: the last did not.');
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
    this.lastSuccess.set(secondsOf(lastSuccessAt));
    this.refusedSince.set(secondsOf(refusedSince));
    this.failedSince.set(secondsOf(failedSince));
    this.databaseBehind.set(secondsOf(databaseBehind?.foundAt));
    this.lastEdit.set(secondsOf(await trail.lastOf('drift_found')));
    this.lastUnexplained.set(secondsOf(await trail.lastOf('unexplained_change')));
    this.driftSince.set(secondsOf(last?.drift?.foundAt));
    this.waitingSince.set(secondsOf(last?.waiting?.since));
    this.lastPublication.set(secondsOf(published?.publishedAt));
    this.live.set(this.isLive(published) ? 1 : 0);
    this.restoredUntil.set(published?.restored?.ended === null ? secondsOf(published.restored.until) : 0);
    this.publishedVersion.set(published?.version ?? 0);
    this.rules.set(published?.rules ?? 0);
    this.bytes.set(published?.bytes ?? 0);
  }

  /** What probing the engine has shown of the version that is published. */
  showWatch(watch: LiveWatch): void {
    this.watch = watch;
    this.rulesBroken.set(watch.state === 'broken' ? 1 : 0);
    this.overdue.set(watch.state === 'overdue' ? 1 : 0);
    if (watch.state !== 'unknown') this.live.set(watch.state === 'live' ? 1 : 0);
  }

  wentLive(secondsAfterChange: number): void {
    this.grantToLive.observe(secondsAfterChange);
  }

  private isLive(published: PublicationSummary | undefined): boolean {
    const isKnown = this.watch?.version === published?.version && this.watch?.state !== 'unknown';
    return isKnown ? this.watch?.state === 'live' : (published?.liveAt ?? null) !== null;
  }
}

function secondsOf(moment: Date | null | undefined): number {
  return (moment?.getTime() ?? 0) / 1000;
}
