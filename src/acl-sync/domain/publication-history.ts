import type { TrailPosition } from '../../audit/domain/audit-event.js';
import { parseDecimal } from '../../kernel/decimal.js';
import { namesOfCursor, type Page, type PageRequest } from '../../kernel/page.js';
import type { PastRun, Publication, PublicationSummary, Run } from './publication.js';
import type { LiveRules } from './rules-target.js';
import type { RecordedRestore, Restore, RestoreEnd } from './restore.js';
import type { Baseline } from './unexplained-change.js';

/** A publication before the target is written. */
export interface PublicationDraft extends Omit<
  Publication,
  'version' | 'triggeredBy' | 'publishedAt' | 'liveAt' | 'brokenAt' | 'restored'
> {
  triggeredBy: number | null;
  snapshot: string;
  position: TrailPosition;
  restored: Restore | null;
  begunAt: Date;
  /** Whether the target is written; false: the text is live already. */
  isWritten: boolean;
  /** The generation that the target names. The new version must be above it. */
  after: number;
}

/** A published version that is not yet in the audit trail and the log, because its run has not ended or has died. */
export interface UnreportedPublication extends Pick<PublicationDraft, 'isWritten'> {
  publication: Publication;
  /** The restore that the version before was; null: it was none. */
  formerRestore: (RecordedRestore & { publication: number }) | null;
}

export interface RunSummary {
  last: Run | null;
  /** When a run last applied a version or found no change. */
  lastSuccessAt: Date | null;
  /** Since when every run was refused, not counting failed runs and restores; null: the last one was not refused. */
  refusedSince: Date | null;
  /** Since when every run failed; null: the last one did not fail. */
  failedSince: Date | null;
  /** The newest version that the engine was seen to use. */
  live: { hash: string; confirmedAt: Date } | null;
  /** The found version that no approved rules have replaced yet; null: none. */
  databaseBehind: { version: number; hash: string; foundAt: Date } | null;
}

/** A position in the list of versions and runs. A version has the run 0, and the runs after it have higher numbers. */
export interface HistoryPosition {
  version: number;
  run: number;
}

export type HistoryPage = PageRequest<HistoryPosition>;

export function positionOf(entry: PublicationSummary | PastRun): HistoryPosition {
  return 'version' in entry ? { version: entry.version, run: 0 } : { version: entry.afterVersion, run: entry.id };
}

/** Newest first. */
export function compareHistory(a: PublicationSummary | PastRun, b: PublicationSummary | PastRun): number {
  const [one, other] = [positionOf(a), positionOf(b)];
  return other.version - one.version || other.run - one.run;
}

export function keyOfEntry(entry: PublicationSummary | PastRun): string[] {
  const { version, run } = positionOf(entry);
  return [String(version), String(run)];
}

/** The position of a cursor; null: the text is no cursor of this list. */
export function positionOfCursor(cursor: string): HistoryPosition | null {
  const [version = NaN, run = NaN, ...rest] = namesOfCursor(cursor)?.map(parseDecimal) ?? [];
  const isPlace = version < 2 ** 31 && Number.isSafeInteger(run) && rest.length === 0;
  return isPlace ? { version, run } : null;
}

/** The published versions and the outcomes of runs. */
export abstract class PublicationHistory {
  /**
   * Settles publications that earlier runs began and did not confirm: the newest whose text is live becomes published, the others are
   * abandoned. An abandoned one newer than every published one becomes published once its text is live, because the API server may write
   * after its caller has died. A version that the target names counts as live even if an edit by hand has replaced its text. Called by the
   * run that holds the lock, with the target's state as just read.
   */
  abstract settle(live: Pick<LiveRules, 'text' | 'written'>, at: Date): Promise<void>;
  /** Records a publication before the target is written. @returns its version. */
  abstract begin(draft: PublicationDraft): Promise<number>;
  /** The highest version in any state; 0: none. */
  abstract newest(): Promise<number>;
  abstract confirm(version: number, at: Date): Promise<Publication>;
  /** The newest published version. */
  abstract latest(): Promise<Publication | null>;
  /**
   * The newest published version that is neither withdrawal, restore nor broken, with the texts approved to follow it. A version
   * older than a broken one counts only if the engine was seen to use it, or if it is a found one.
   */
  abstract baseline(): Promise<Baseline | null>;
  /** Approves a text to follow the baseline. Idempotent. */
  abstract approve(hash: string, by: number | null, at: Date): Promise<void>;
  abstract find(version: number): Promise<Publication | null>;
  /** Versions, newest first. */
  abstract list(page: HistoryPage): Promise<Page<PublicationSummary>>;
  /** Versions with refused and failed runs among them. Of consecutive equal runs only the first is listed. */
  abstract listWithRuns(page: HistoryPage): Promise<Page<PublicationSummary | PastRun>>;
  /** Records that the engine was seen to use this version, which is therefore not broken. */
  abstract markLive(version: number, at: Date): Promise<void>;
  /** Records that the engine was seen to fail on this version, unless it has used the same text before. */
  abstract markBroken(version: number, at: Date): Promise<void>;
  abstract isBroken(hash: string): Promise<boolean>;
  /** Records the end of the restore that this version published. A second end changes nothing. */
  abstract endRestore(version: number, how: RestoreEnd): Promise<void>;
  abstract record(run: Run): Promise<void>;
  /** Takes the published versions that were not reported, in order. Each is returned once; call it in the transaction that reports them. */
  abstract takeUnreported(): Promise<UnreportedPublication[]>;
  /**
   * Removes a batch of versions, and runs, from before a time. Keeps the newest `versions`, the version that was in force then, the baseline
   * and its fallback, and restored, unreported and broken versions.
   * @returns how many versions; call it again until there are none
   */
  abstract removePast(before: Date, versions: number): Promise<number>;
  abstract summary(): Promise<RunSummary>;
}
