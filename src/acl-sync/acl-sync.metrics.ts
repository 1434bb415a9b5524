import { Injectable } from '@nestjs/common';
import { type Counter, type Gauge, Histogram, Registry } from 'prom-client';
import type { AuditService } from '../audit/audit.service.js';
import { counter, gauge } from '../platform/operations/metrics.js';
import type { GuaranteeStore } from '../grants/guarantee.store.js';
import type { PublicationHistory } from './domain/publication-history.js';
import type { EngineWatch } from './domain/engine-watch.js';
import { type PublicationSummary, type RunOutcome, type Trigger, TRIGGERS } from './domain/publication.js';

const GAUGES = {
  last_success_timestamp_seconds: 'When a run last published or found nothing to change.',
  last_publication_timestamp_seconds:
    'When a version was last published; old where no grant changes, which is no fault.',
  live: '1: the engine uses the last version; asked every 15 s, every 2 s until it does.',
  rules_broken:
    '1: the engine could not use its rules file; of what this replica asked itself, only with `SERVICE_QUERY_HOST`.',
  live_overdue: '1: the engine uses other rules, although the last version is older than 210 s or was in use already.',
  restored_until_timestamp_seconds: 'Until when an older version is restored; 0: none is.',
  published_version: 'The last version; 0: none.',
  rules: 'Rules in the last version.',
  bytes: 'Size of the last version; a ConfigMap holds 1,048,576 bytes with the previous one.',
  last_edit_timestamp_seconds: 'When a run last found an edit of the live rules by hand; 0: never.',
  last_unexplained_change_timestamp_seconds:
    'When a version was last published with an unexplained change, below the limit or approved; 0: never.',
  drift_since_timestamp_seconds: 'Since when the live rules hold an edit by hand; 0: the last run found none.',
  waiting_since_timestamp_seconds: 'Since when a change waits for an approval; 0: none does.',
  refused_since_timestamp_seconds: 'Since when every run was refused, restores aside; 0: the last one was not.',
  database_behind_since_timestamp_seconds:
    'Since when the rules in force are a version that the database does not have; 0: they are not.',
  failed_since_timestamp_seconds: 'Since when every run failed; 0: the last one did not.',
  target_available:
    '1: the rules target could be read and written when it was last checked: each minute, every 10 s while not.',
};

/** The sync's Prometheus metrics; the API document and the chart's alerts use the same names. */
@Injectable()
export class AclSyncMetrics {
  private readonly gauges: ReadonlyMap<string, Gauge>;
  private readonly runs: Counter<'outcome' | 'trigger'>;
  private readonly drift: Counter;
  private readonly grantToLive: Histogram;
  private readonly guarantees: Gauge<'mode' | 'state'>;
  private readonly brokenSince: Gauge<'name'>;
  /** The state that this process has seen itself. The history records only the first use by the engine. */
  private watch: EngineWatch | null = null;

  constructor(registry: Registry) {
    const gauges = Object.entries(GAUGES);
    this.gauges = new Map(gauges.map(([name, help]) => [name, gauge(registry, `grantline_acl_${name}`, help)]));
    // NaN until history and target are read, because 0 would mean that nothing was published.
    for (const each of this.gauges.values()) each.set(Number.NaN);
    const outcomes = '`applied`, `no_change`, `refused`, `failed`';
    const help = `Runs by \`outcome\` (${outcomes}) and \`trigger\` (\`${TRIGGERS.join('`, `')}\`).`;
    this.runs = counter(registry, 'grantline_acl_runs_total', help, 'outcome', 'trigger');
    this.grantToLive = new Histogram({
      name: 'grantline_acl_grant_to_live_seconds',
      help: 'From the first change in a version to the engine seen using it.',
      buckets: [5, 15, 30, 60, 90, 120, 180, 300, 450, 600, 900, 1800],
      registers: [registry],
    });
    this.guarantees = gauge(registry, 'grantline_guarantees', 'Guarantees by mode and state.', 'mode', 'state');
    this.brokenSince = gauge(
      registry,
      'grantline_guarantee_broken_since_timestamp_seconds',
      'Since when a guarantee is broken; those that hold are left out.',
      'name',
    );
    this.drift = counter(
      registry,
      'grantline_acl_drift_total',
      'Edits by hand that runs of this process found; alerts use `grantline_acl_last_edit_timestamp_seconds`, which knows of Jobs, too.',
    );
  }

  countRun(outcome: RunOutcome['kind'], trigger: Trigger): void {
    this.runs.inc({ outcome, trigger });
  }

  countDrift(): void {
    this.drift.inc();
  }

  /** Sets the gauges from the history and the audit trail, because runs may happen in other processes only, such as Jobs. */
  async showHistory(
    history: PublicationHistory,
    trail: Pick<AuditService, 'lastTimeOf'>,
    guarantees: Pick<GuaranteeStore, 'listAll'>,
  ): Promise<void> {
    const recorded = await guarantees.listAll();
    this.guarantees.reset();
    this.brokenSince.reset();
    for (const { guarantee, brokenSince } of recorded) {
      this.guarantees.inc({ mode: guarantee.mode, state: brokenSince === null ? 'holds' : 'broken' });
      if (brokenSince !== null) this.brokenSince.set({ name: guarantee.name }, secondsOf(brokenSince));
    }
    const { last, lastSuccessAt, refusedSince, failedSince, databaseBehind } = await history.summary();
    const [published] = (await history.list({ limit: 1, after: null })).items;
    this.setGauges({
      last_success_timestamp_seconds: secondsOf(lastSuccessAt),
      refused_since_timestamp_seconds: secondsOf(refusedSince),
      failed_since_timestamp_seconds: secondsOf(failedSince),
      database_behind_since_timestamp_seconds: secondsOf(databaseBehind?.foundAt),
      last_edit_timestamp_seconds: secondsOf(await trail.lastTimeOf('drift_found')),
      last_unexplained_change_timestamp_seconds: secondsOf(await trail.lastTimeOf('unexplained_change')),
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

  /** Sets the gauges that show whether the engine uses the published version. */
  showWatch(watch: EngineWatch): void {
    this.watch = watch;
    const { state } = watch;
    this.setGauges({ rules_broken: state === 'broken' ? 1 : 0, live_overdue: state === 'overdue' ? 1 : 0 });
    if (state !== 'unknown') this.setGauges({ live: state === 'live' ? 1 : 0 });
  }

  showTarget(isAvailable: boolean): void {
    this.setGauges({ target_available: isAvailable ? 1 : 0 });
  }

  recordLive(secondsAfterChange: number): void {
    this.grantToLive.observe(secondsAfterChange);
  }

  private setGauges(values: Partial<Record<keyof typeof GAUGES, number>>): void {
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
