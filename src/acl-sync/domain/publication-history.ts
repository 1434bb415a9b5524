import type { TrailPosition } from '../../audit/domain/audit-event.js';
import { parseDecimal } from '../../kernel/decimal.js';
import { namesOfCursor, type Page, type PageRequest } from '../../kernel/page.js';
import type { Candidate } from './candidate.js';
import type { PastRun, Publication, PublicationSummary, Run } from './publication.js';
import type { LiveRules } from './rules-target.js';
import type { RecordedRestore, Restore, RestoreEnd } from './restore.js';
import type { Baseline } from './unexplained-change.js';

/** A publication that is recorded before targets are written. */
export interface PublicationDraft extends Omit<
  Publication,
  'version' | 'triggeredBy' | 'publishedAt' | 'liveAt' | 'brokenAt' | 'restored'
> {
  triggeredBy: number | null;
  snapshot: string;
  position: TrailPosition;
  restored: Restore | null;
  begunAt: Date;
  /** Whether the targets are written; false: the targets have the text already. */
  isWritten: boolean;
  /** The highest version number in the targets' annotations; 0: there is none. The new version gets a higher one. */
  highestNamed: number;
}

/** A published version that is not yet in the audit trail and the log, because its run has not ended or has died. */
export interface UnreportedPublication extends Pick<PublicationDraft, 'isWritten'> {
  publication: Publication;
  /** The restore that published the previous version, with the number of that version; null: none. */
  formerRestore: (RecordedRestore & { publication: number }) | null;
}

export type RecentVersion = Pick<Publication, 'text' | 'publishedAt' | 'liveAt'>;

/** A snapshot from which a version can be made, and the compiler that did. */
export type MadeFrom = Pick<Candidate, 'snapshot' | 'snapshotHash' | 'at' | 'position' | 'compiler'>;

/** A version and the digest of the snapshot that gives its access. */
export type KnownAccess = Pick<Publication, 'version' | 'snapshotHash'>;

export interface RunSummary {
  lastRun: Run | null;
  /** When a run last applied a version or found no change. */
  lastSuccessAt: Date | null;
  /** Time of the first refused run after the last successful run; null: there is none. Runs for restores do not count. */
  refusedSince: Date | null;
  /** Since when every run has failed; null: the last run did not fail. */
  failedSince: Date | null;
  /** The newest version that the engine was seen to use. */
  live: { version: number; snapshotHash: string; hash: string; confirmedAt: Date } | null;
  /** The newest version that was found at a target, not published by this database. Null: none, or it has been replaced. */
  databaseBehind: { version: number; hash: string; foundAt: Date } | null;
}

/** A position in the list of versions and runs. `run` is 0 for the version itself; for a run after the version it is the run's id. */
export interface HistoryPosition {
  version: number;
  run: number;
}

export type HistoryPage = PageRequest<HistoryPosition>;

export function positionOf(entry: PublicationSummary | PastRun): HistoryPosition {
  return 'version' in entry ? { version: entry.version, run: 0 } : { version: entry.afterVersion, run: entry.id };
}

/** The order of the list of versions and runs: newest first. */
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
  const isPosition = version < 2 ** 31 && Number.isSafeInteger(run) && rest.length === 0;
  return isPosition ? { version, run } : null;
}

/** The published versions and the outcomes of runs. */
export abstract class PublicationHistory {
  /**
   * Ends the state `begun` of versions that earlier runs did not confirm. The newest one that reached a target usually becomes published, and
   * the others abandoned. An abandoned version can become published later, because the API server may write after its caller has died. Must be
   * called under the lock.
   */
  abstract settleBegun(liveRules: readonly Pick<LiveRules, 'text' | 'namedVersion'>[], at: Date): Promise<void>;
  /** Records a publication before the target is written. @returns its version. */
  abstract beginVersion(draft: PublicationDraft): Promise<number>;
  /** The highest version in any state; 0: none. */
  abstract highestVersion(): Promise<number>;
  abstract confirm(version: number, at: Date): Promise<Publication>;
  /** The newest published version. */
  abstract latest(): Promise<Publication | null>;
  /** The version with which new rules are compared: usually the newest published one on which the engine did not fail. Never a withdrawal, a restore or a transitional version (`firstStepOf`). */
  abstract baseline(): Promise<Baseline | null>;
  /** Approves the candidate with this `approvalHash` as the next version after `baseline()`. Idempotent. */
  abstract approve(hash: string, approverId: number | null, at: Date): Promise<void>;
  /** Records a later snapshot that gives the same version: `baseline()` has it from then on, but the version stays as it was published. */
  abstract addLaterSnapshot(version: number, made: MadeFrom): Promise<void>;
  /** The newest version published at or before `time`, and all later ones, oldest first. */
  abstract publishedSince(time: Date): Promise<RecentVersion[]>;
  abstract find(version: number): Promise<Publication | null>;
  /** The hash of a version in any state; null: no such version. */
  abstract hashOf(version: number): Promise<string | null>;
  /**
   * The newest version, if its access is known; null: no version, or `databaseBehind`. Withdrawals from a found version do not count: their
   * snapshot is older than the found version. For a restore, `snapshotHash` is that of the restored snapshot.
   */
  abstract newestAccess(): Promise<KnownAccess | null>;
  /**
   * Whether this history gave the number of an access to another version, so that the access is of another database. Not up to the newest
   * found version, because what follows that one is approved. @param snapshotHash its first 12 digits
   */
  abstract isContradicted({ version, snapshotHash }: KnownAccess): Promise<boolean>;
  /** The snapshot of a version's access, as JSON text. */
  abstract accessSnapshot(version: number): Promise<string | null>;
  /** Versions, newest first. */
  abstract list(page: HistoryPage): Promise<Page<PublicationSummary>>;
  /** Versions, and the refused and failed runs between them. Of consecutive equal runs only the first is listed. */
  abstract listWithRuns(page: HistoryPage): Promise<Page<PublicationSummary | PastRun>>;
  /** Records that the engine was seen to use this version, which is therefore not broken. */
  abstract markLive(version: number, at: Date): Promise<void>;
  /** Records that the engine was seen to fail on this version, unless it has used the same text before. */
  abstract markBroken(version: number, at: Date): Promise<void>;
  abstract isBroken(hash: string): Promise<boolean>;
  /** Records that the restore which published this version has ended. A second call changes nothing. */
  abstract endRestore(version: number, restoreEnd: RestoreEnd): Promise<void>;
  abstract record(run: Run): Promise<void>;
  /** Returns the published versions that were not reported, in order, and marks them as reported. Must run in the reporting transaction. */
  abstract takeUnreported(): Promise<UnreportedPublication[]>;
  /**
   * Removes a batch of versions, and all runs, older than `beforeDate`. Keeps the newest `keptCount` versions, and older versions that are
   * still needed, such as the version in force at `beforeDate` and versions that the engine failed on.
   * @returns the number of removed versions; call it again until that is 0
   */
  abstract removePast(beforeDate: Date, keptCount: number): Promise<number>;
  abstract summary(): Promise<RunSummary>;
}
