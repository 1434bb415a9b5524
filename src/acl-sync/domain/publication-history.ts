import type { TrailPosition } from '../../audit/domain/audit-event.js';
import type { Page, PageRequest } from '../../kernel/page.js';
import type { Publication, PublicationSummary, Run } from './publication.js';
import type { Baseline } from './unexplained-change.js';

/** A publication before the target is written. */
export interface PublicationDraft extends Omit<Publication, 'version' | 'triggeredBy' | 'publishedAt' | 'liveAt'> {
  /** An account's id. */
  triggeredBy: number | null;
  /** A snapshot file, as JSON. */
  snapshot: string;
  /** The end of the audit trail before the snapshot was read. */
  position: TrailPosition;
  compiler: string;
  begunAt: Date;
}

export interface RunSummary {
  last: Run | null;
  /** When a run last applied a version or found no change. */
  lastSuccessAt: Date | null;
  /** Since when every run was refused, failed runs aside; null: the last one was not. */
  refusedSince: Date | null;
  /** The newest version that the engine was seen to use. */
  live: { hash: string; confirmedAt: Date } | null;
}

/** The published versions and the outcomes of runs. */
export abstract class PublicationHistory {
  /**
   * Closes the publications that earlier runs began and did not confirm: the newest whose text is live is published, the others
   * are abandoned. Called with the text just read, by the run that holds the lock.
   */
  abstract settle(liveText: string | null, at: Date): Promise<void>;
  /** @returns the version. */
  abstract begin(draft: PublicationDraft): Promise<number>;
  abstract confirm(version: number, at: Date): Promise<Publication>;
  /** The newest published version. */
  abstract latest(): Promise<Publication | null>;
  /** The newest published version that is no withdrawal, with the texts approved to follow it. */
  abstract baseline(): Promise<Baseline | null>;
  /** Approves a text to follow the baseline. Idempotent. */
  abstract approve(hash: string, by: number | null, at: Date): Promise<void>;
  abstract find(version: number): Promise<Publication | null>;
  /** The newest first. */
  abstract list(page: PageRequest): Promise<Page<PublicationSummary>>;
  /** The engine was seen to use this version. */
  abstract markLive(version: number, at: Date): Promise<void>;
  abstract record(run: Run): Promise<void>;
  abstract summary(): Promise<RunSummary>;
}
