import type { TrailPosition } from '../../audit/domain/audit-event.js';
import { decimal } from '../../kernel/decimal.js';
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
  /** False: its text is live already, so that the target is not written. */
  isWritten: boolean;
  /** The version is above this one: the generation that the target names. */
  after: number;
}

/** A published version that the audit trail and the log do not have yet: its run has not ended, or died. */
export interface UnreportedPublication extends Pick<PublicationDraft, 'isWritten'> {
  publication: Publication;
  /** The restore of the version before; null: it was none. */
  formerRestore: (RecordedRestore & { publication: number }) | null;
}

export interface RunSummary {
  last: Run | null;
  /** When a run last applied a version or found no change. */
  lastSuccessAt: Date | null;
  /** Since when every run was refused, failed runs and restores aside; null: the last one was not. */
  refusedSince: Date | null;
  /** Since when every run failed; null: the last one did not. */
  failedSince: Date | null;
  /** The newest version that the engine was seen to use. */
  live: { hash: string; confirmedAt: Date } | null;
  /** The found version that no approved rules have replaced yet; null: none. */
  databaseBehind: { version: number; hash: string; foundAt: Date } | null;
}

/** A place among versions and runs: a version has the run 0, and the runs after it follow it. */
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

/** Null: not one of our cursors. */
export function positionOfCursor(cursor: string): HistoryPosition | null {
  const [version = NaN, run = NaN, ...rest] = namesOfCursor(cursor)?.map(decimal) ?? [];
  const isPlace = version < 2 ** 31 && Number.isSafeInteger(run) && rest.length === 0;
  return isPlace ? { version, run } : null;
}

/** The published versions and the outcomes of runs. */
export abstract class PublicationHistory {
  /**
   * Closes the publications that earlier runs began and did not confirm: the newest whose text is live is published, the others
   * are abandoned. An abandoned one newer than every published one is published once its text is live: the API server may
   * carry out a write after its caller has died. A version that the target names counts as live, also where an edit by hand has
   * replaced it. Called with what was just read, by the run that holds the lock.
   */
  abstract settle(live: Pick<LiveRules, 'text' | 'written'>, at: Date): Promise<void>;
  /** @returns the version. */
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
  /** The newest first. */
  abstract list(page: HistoryPage): Promise<Page<PublicationSummary>>;
  /** The same with the refused and failed runs among them. Of equal ones in a row the first stands for all. */
  abstract listWithRuns(page: HistoryPage): Promise<Page<PublicationSummary | PastRun>>;
  /** The engine was seen to use this version, so that it is not broken either. */
  abstract markLive(version: number, at: Date): Promise<void>;
  /** The engine was seen to fail on this version; nothing is marked where it has used the same text before. */
  abstract markBroken(version: number, at: Date): Promise<void>;
  abstract isBroken(hash: string): Promise<boolean>;
  /** The restore that this version published is over. Ended once, it stays as it is. */
  abstract endRestore(version: number, how: RestoreEnd): Promise<void>;
  abstract record(run: Run): Promise<void>;
  /** The published versions that were not reported, in order. In the transaction that reports them: each is given out once. */
  abstract takeUnreported(): Promise<UnreportedPublication[]>;
  /**
   * Removes some versions, and runs, from before that time: never one of the newest `versions`, the one that was in force then,
   * the baseline or what it would fall back to, one that is restored, unreported or broken.
   * @returns how many versions; call it again until there are none
   */
  abstract removePast(before: Date, versions: number): Promise<number>;
  abstract summary(): Promise<RunSummary>;
}
