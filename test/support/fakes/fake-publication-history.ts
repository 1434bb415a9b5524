import {
  compareHistory,
  type HistoryPage,
  type KnownAccess,
  keyOfEntry,
  type MadeFrom,
  positionOf,
  type PublicationDraft,
  PublicationHistory,
  type RecentVersion,
  type RunSummary,
  type UnreportedPublication,
} from '../../../src/acl-sync/domain/publication-history.js';
import type { PastRun, Publication, PublicationSummary, Run } from '../../../src/acl-sync/domain/publication.js';
import type { RestoreEnd } from '../../../src/acl-sync/domain/restore.js';
import type { LiveRules } from '../../../src/acl-sync/domain/rules-target.js';
import type { Baseline } from '../../../src/acl-sync/domain/unexplained-change.js';
import { type Page, pageOf } from '../../../src/kernel/page.js';

interface Row extends Publication, Pick<PublicationDraft, 'snapshot' | 'position'> {
  state: 'begun' | 'published' | 'abandoned';
  isWritten: boolean;
  isReported: boolean;
}

/** A history in memory. Passes the contract of the one in PostgreSQL. */
export class FakePublicationHistory extends PublicationHistory {
  readonly rows: Row[] = [];
  readonly runs: Run[] = [];
  /** The newest version after each of them. */
  private readonly versionsThen: number[] = [];
  private readonly laterSnapshots = new Map<number, Omit<MadeFrom, 'snapshotHash'>>();
  private readonly approvals: { version: number; hash: string }[] = [];

  override settleBegun(live: readonly Pick<LiveRules, 'text' | 'namedVersion'>[], at: Date): Promise<void> {
    const newer = this.rows.slice(this.rows.findLastIndex(({ state }) => state === 'published') + 1).reverse();
    const happened = newer.find((row) =>
      live.some(
        ({ text, namedVersion: written }) =>
          (row.text === text && text !== null) || (row.version === written?.generation && row.hash === written.hash),
      ),
    );
    for (const row of this.rows) if (row.state === 'begun') row.state = 'abandoned';
    if (happened !== undefined) Object.assign(happened, { state: 'published', publishedAt: at });
    return Promise.resolve();
  }

  override async beginVersion({
    begunAt,
    triggeredBy,
    restored,
    highestNamed,
    ...draft
  }: PublicationDraft): Promise<number> {
    const version = Math.max(await this.highestVersion(), highestNamed) + 1;
    const by = triggeredBy === null ? null : { id: triggeredBy, name: 'somebody' };
    this.rows.push({
      ...draft,
      version,
      state: 'begun',
      isReported: false,
      restored: restored && { ...restored, ended: null },
      triggeredBy: by,
      publishedAt: begunAt,
      liveAt: null,
      brokenAt: null,
    });
    return version;
  }

  override highestVersion(): Promise<number> {
    return Promise.resolve(this.rows.at(-1)?.version ?? 0);
  }

  override async confirm(version: number, at: Date): Promise<Publication> {
    const row = this.rows.find((candidate) => candidate.version === version && candidate.state === 'begun');
    if (row !== undefined) Object.assign(row, { state: 'published', publishedAt: at });
    const publication = await this.find(version);
    if (publication === null) throw new Error(`publication ${version} was not begun`);
    return publication;
  }

  override latest(): Promise<Publication | null> {
    return Promise.resolve(this.published()[0] ?? null);
  }

  override baseline(): Promise<Baseline | null> {
    const row = this.baselineRow();
    if (row === undefined) return Promise.resolve(null);
    const { text, hash, snapshot, snapshotAt: at, position, compiler, isFound } = row;
    const approved = this.approvals.filter(({ version }) => version === row.version).map((each) => each.hash);
    const later = this.laterSnapshots.get(row.version);
    return Promise.resolve({ text, hash, snapshot, at, position, compiler, approved, isFound, ...later });
  }

  override approve(hash: string): Promise<void> {
    const row = this.baselineRow();
    const isKnown = this.approvals.some((each) => each.version === row?.version && each.hash === hash);
    if (row !== undefined && !isKnown) this.approvals.push({ version: row.version, hash });
    return Promise.resolve();
  }

  override addLaterSnapshot(version: number, made: MadeFrom): Promise<void> {
    const { snapshot, at, position, compiler } = made;
    this.laterSnapshots.set(version, { snapshot, at, position, compiler });
    return Promise.resolve();
  }

  override publishedSince(time: Date): Promise<RecentVersion[]> {
    const published = this.published().reverse();
    return Promise.resolve(
      published.slice(
        Math.max(
          0,
          published.findLastIndex(({ publishedAt }) => publishedAt <= time),
        ),
      ),
    );
  }

  override find(version: number): Promise<Publication | null> {
    return Promise.resolve(this.published().find((publication) => publication.version === version) ?? null);
  }

  override hashOf(version: number): Promise<string | null> {
    return Promise.resolve(this.rows.find((row) => row.version === version)?.hash ?? null);
  }

  override newestAccess(): Promise<KnownAccess | null> {
    const newest = this.rows.findLast(({ state }) => state === 'published' && this.baselineRow()?.isFound !== true);
    const giving = newest && this.giving(newest.version);
    return Promise.resolve(newest && giving ? { version: newest.version, snapshotHash: giving.snapshotHash } : null);
  }

  override isContradicted({ version, snapshotHash }: KnownAccess): Promise<boolean> {
    const hash = this.giving(version)?.snapshotHash.slice(0, 12);
    const newestFound = this.rows.findLast(({ isFound }) => isFound)?.version ?? 0;
    return Promise.resolve(version > newestFound && hash !== undefined && hash !== snapshotHash);
  }

  override accessSnapshot(version: number): Promise<string | null> {
    const giving = this.giving(version);
    return Promise.resolve(giving === undefined || giving.isFound ? null : giving.snapshot);
  }

  private giving(version: number): Row | undefined {
    const row = this.rows.find((each) => each.version === version);
    return row?.restored ? this.giving(row.restored.version) : row;
  }

  override list({ limit, after }: HistoryPage): Promise<Page<PublicationSummary>> {
    const summaries = this.published().map(({ text, diff, ...summary }): PublicationSummary => summary);
    return Promise.resolve(pageOf(summaries.filter(isBelow(after)), limit, keyOfEntry));
  }

  override async listWithRuns({ limit, after }: HistoryPage): Promise<Page<PublicationSummary | PastRun>> {
    const { items: versions } = await this.list({ limit: Infinity, after: null });
    const alike = (run: PastRun, before: PastRun | undefined): boolean =>
      JSON.stringify([run.outcome, run.reasons, run.afterVersion]) ===
      JSON.stringify([before?.outcome, before?.reasons, before?.afterVersion]);
    const runs = this.runs
      .map(({ isRestore, drift, waiting, targets, ...run }, index): PastRun => {
        return { ...run, id: index + 1, afterVersion: this.versionsThen[index] ?? 0 };
      })
      .filter((run, index, all) => !alike(run, all[index - 1]))
      .filter(({ outcome }) => outcome === 'refused' || outcome === 'failed');
    return pageOf([...versions, ...runs].sort(compareHistory).filter(isBelow(after)), limit, keyOfEntry);
  }

  override markLive(version: number, at: Date): Promise<void> {
    const row = this.rows.find((candidate) => candidate.version === version);
    if (row !== undefined) Object.assign(row, { liveAt: row.liveAt ?? at, brokenAt: null });
    return Promise.resolve();
  }

  override markBroken(version: number, at: Date): Promise<void> {
    const row = this.rows.find((candidate) => candidate.version === version);
    const wasUsed = this.rows.some(({ hash, liveAt }) => hash === row?.hash && liveAt !== null);
    if (row !== undefined && !wasUsed) row.brokenAt ??= at;
    return Promise.resolve();
  }

  override isBroken(hash: string): Promise<boolean> {
    return Promise.resolve(this.rows.some((row) => row.hash === hash && row.brokenAt !== null));
  }

  override endRestore(version: number, how: RestoreEnd): Promise<void> {
    const restored = this.rows.find((candidate) => candidate.version === version)?.restored;
    if (restored) restored.ended ??= how;
    return Promise.resolve();
  }

  override record(run: Run): Promise<void> {
    this.runs.push(run);
    this.versionsThen.push(this.published()[0]?.version ?? 0);
    return Promise.resolve();
  }

  override takeUnreported(): Promise<UnreportedPublication[]> {
    const published = this.published().reverse();
    const unreported = this.rows.flatMap((row) => {
      const { isReported, isWritten, state, version } = row;
      if (isReported || state !== 'published') return [];
      row.isReported = true;
      const at = published.findIndex((publication) => publication.version === version);
      const [former, publication] = [published[at - 1], published[at]];
      if (publication === undefined) return [];
      const formerRestore = former?.restored ? { ...former.restored, publication: former.version } : null;
      return { publication, isWritten, formerRestore };
    });
    return Promise.resolve(unreported);
  }

  override removePast(before: Date, versions: number): Promise<number> {
    const published = this.rows.filter(({ state }) => state === 'published');
    const inForce = published.findLast(({ publishedAt }) => publishedAt <= before)?.version ?? 0;
    const end = Math.min(inForce, published.at(-versions)?.version ?? 0);
    const live = published.findLast(({ liveAt }) => liveAt !== null)?.version;
    const kept = [this.baselineRow()?.version, live, ...this.rows.map(({ restored }) => restored?.version)];
    const past = this.rows.filter(
      ({ version, brokenAt, isReported, state }) =>
        version < end && brokenAt === null && (isReported || state !== 'published') && !kept.includes(version),
    );
    for (const row of past) this.rows.splice(this.rows.indexOf(row), 1);
    return Promise.resolve(past.length);
  }

  override summary(): Promise<RunSummary> {
    const isSuccess = ({ outcome }: Run): boolean => outcome === 'applied' || outcome === 'no_change';
    const lastSuccess = this.runs.findLastIndex(isSuccess);
    const own = this.runs.filter(({ isRestore }) => !isRestore);
    const refused = own.slice(own.findLastIndex(isSuccess) + 1).find(({ outcome }) => outcome === 'refused');
    const baseline = this.baselineRow();
    const live = this.published().find(({ liveAt }) => liveAt !== null);
    return Promise.resolve({
      lastRun: this.runs.at(-1) ?? null,
      lastSuccessAt: this.runs[lastSuccess]?.at ?? null,
      refusedSince: refused?.at ?? null,
      failedSince: this.runs[this.runs.findLastIndex(({ outcome }) => outcome !== 'failed') + 1]?.at ?? null,
      databaseBehind:
        baseline?.isFound === true
          ? { version: baseline.version, hash: baseline.hash, foundAt: baseline.publishedAt }
          : null,
      live: live?.liveAt
        ? { version: live.version, snapshotHash: live.snapshotHash, hash: live.hash, confirmedAt: live.liveAt }
        : null,
    });
  }

  private baselineRow(): Row | undefined {
    const broken = this.rows.findLast(({ brokenAt }) => brokenAt !== null)?.version ?? 0;
    return this.rows.findLast(
      ({ state, isWithdrawal, isFound, restored, firstStepOf, brokenAt, liveAt, version }) =>
        state === 'published' &&
        !isWithdrawal &&
        restored === null &&
        firstStepOf === null &&
        (isFound || (brokenAt === null && (liveAt !== null || version > broken))),
    );
  }

  /** The newest first. */
  private published(): Publication[] {
    const rows = this.rows.filter(({ state }) => state === 'published').reverse();
    return rows.map(({ state, isWritten, isReported, snapshot, position, ...publication }) =>
      structuredClone(publication),
    );
  }
}

const isBelow =
  (place: HistoryPage['after']) =>
  (entry: PublicationSummary | PastRun): boolean => {
    const { version, run } = positionOf(entry);
    return place === null || version < place.version || (version === place.version && run < place.run);
  };
