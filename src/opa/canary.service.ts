import { Injectable } from '@nestjs/common';
import { type Gauge, Registry } from 'prom-client';
import { type CanaryVerdict, judgeCanary, LOADING_MS } from '../acl-sync/domain/opa-status.js';
import { PublicationHistory } from '../acl-sync/domain/publication-history.js';
import { revisionOf } from '../acl-sync/domain/target-state.js';
import type { Probe } from '../acl-sync/heartbeat.service.js';
import { OpaReportsStore } from '../acl-sync/opa-reports.store.js';
import { Clock, Timers } from '../kernel/clock.js';
import { Log } from '../platform/log/log.js';
import { gauge } from '../platform/operations/metrics.js';
import { EngineProbe } from '../query-engine/engine-probe.service.js';

/** For Grantline's own account, OPA's policy filters this table to one row, and masks the column with the revision of its bundle. */
const REVISION_STATEMENT = 'SELECT table_type FROM system.jdbc.table_types';

/** Milliseconds between two checks for a newer version, and between two questions to the engine after a wrong or a right answer. */
const INTERVAL_MS = { version: 2_000, wrong: 10_000, right: 60_000 };

/**
 * Asks the engine by which revision it decides. A right answer proves that the coordinator asks OPA, and that OPA has the newest version.
 * Only this check detects a misspelt URI of filters or masks: with such a URI the plugin applies no filters or no masks.
 */
@Injectable()
export class CanaryService implements Probe {
  readonly failureMessage = 'canary of OPA could not be recorded';
  private readonly verdictGauge: Gauge;
  /** The newest versions, oldest first: the one that OPA must have loaded by now, and those found after it. */
  private versions: { version: number; foundAt: number }[] = [];
  private newestRevision: string | null = null;
  private lastAskedAt = -Infinity;
  private verdict: CanaryVerdict = 'loading';
  /** The wrong answer that is already logged. Null means that the engine gave no answer. */
  private loggedAnswer: string | null | undefined;

  constructor(
    private readonly history: PublicationHistory,
    private readonly engine: EngineProbe,
    private readonly reports: OpaReportsStore,
    private readonly timers: Timers,
    private readonly clock: Clock,
    private readonly log: Log,
    registry: Registry,
  ) {
    const help =
      '1: the engine decides by the newest bundle, with its filters and masks; only where `opa` is the first of `ACL_TARGET`.';
    this.verdictGauge = gauge(registry, 'grantline_opa_canary', help);
    this.verdictGauge.remove(); // absent until the first answer
  }

  intervalMs(): number {
    return this.verdict === 'wrong' ? INTERVAL_MS.wrong : INTERVAL_MS.version;
  }

  async probe(): Promise<void> {
    const formerRevision = this.newestRevision;
    const knownRevision = await this.readNewest();
    const isNewVersion = knownRevision !== formerRevision;
    const isQuestionDue = this.verdict !== 'right' || this.timers.now() - this.lastAskedAt >= INTERVAL_MS.right;
    if (knownRevision === null || (!isNewVersion && !isQuestionDue)) return;
    const rows = await this.engine.readColumn(REVISION_STATEMENT);
    const answer = rows && (rows.join(', ').slice(0, 200) || 'no row');
    this.lastAskedAt = this.timers.now();
    // Read again, because the answer may be a version that was published meanwhile.
    const revision = await this.readNewest();
    if (revision !== null) this.judge(answer, revision);
    await this.reports.recordCanary({ answer, at: this.clock.now() });
  }

  /** Reads which version is the newest, and since when. @returns its revision; null: no version, or its access is not known */
  private async readNewest(): Promise<string | null> {
    const newest = await this.history.newestAccess();
    if (newest === null) return null;
    const revision = revisionOf(newest);
    if (revision !== this.newestRevision) this.versions.push({ version: newest.version, foundAt: this.timers.now() });
    this.newestRevision = revision;
    return revision;
  }

  private judge(answer: string | null, revision: string): void {
    // Counted for each version on its own: versions that follow each other quickly must not hide that OPA loads none of them.
    const dueIndex = this.versions.findLastIndex(({ foundAt }) => this.lastAskedAt - foundAt >= LOADING_MS);
    this.versions = this.versions.slice(Math.max(dueIndex, 0));
    this.verdict = judgeCanary(answer, revision, dueIndex === -1 ? 0 : (this.versions[0]?.version ?? 0));
    if (this.verdict !== 'loading') this.verdictGauge.set(this.verdict === 'right' ? 1 : 0);
    if (this.verdict === 'wrong' && answer !== this.loggedAnswer)
      this.log.error('OPA_CANARY_WRONG', { revision, answer });
    this.loggedAnswer = this.verdict === 'wrong' ? answer : undefined;
  }
}
