import type { TrailPosition } from '../../audit/domain/audit-store.js';
import type { Page, PageRequest } from '../../kernel/page.js';
import type { Publication, PublicationSummary, Run } from './publication.js';
import type { Baseline } from './unexplained-change.js';

/** A publication that is about to happen. */
export interface PublicationDraft extends Omit<Publication, 'version' | 'triggeredBy' | 'publishedAt' | 'liveAt'> {
  /** An account's id. */
  triggeredBy: number | null;
  /** The form of a snapshot file, as JSON. */
  snapshot: string;
  /** Where the audit trail was before that was read. */
  position: TrailPosition;
  compiler: string;
  begunAt: Date;
}

export interface RunSummary {
  last: Run | null;
  /** When a run last ended as it should: applied or without a change. */
  lastSuccessAt: Date | null;
  /** Since when every run that could decide was refused; null: the last one was not. */
  refusedSince: Date | null;
  /** The newest version that the engine was seen to use. */
  live: { hash: string; confirmedAt: Date } | null;
}

/** What was published, and how the runs went. */
export abstract class PublicationHistory {
  /**
   * Ends what earlier runs left open: of the publications that were begun, the newest whose text is live did happen, the others
   * did not. To be called with what was just read, by the one run that there is.
   */
  abstract settle(liveText: string | null, at: Date): Promise<void>;
  /** @returns the version. */
  abstract begin(draft: PublicationDraft): Promise<number>;
  abstract confirm(version: number, at: Date): Promise<Publication>;
  /** The newest that was published. */
  abstract latest(): Promise<Publication | null>;
  /** The newest that was published whole, with what has been approved to follow it. */
  abstract baseline(): Promise<Baseline | null>;
  /** Lets a text follow the baseline, once and for all; a second time it changes nothing. */
  abstract approve(hash: string, by: number | null, at: Date): Promise<void>;
  abstract find(version: number): Promise<Publication | null>;
  /** The newest first. */
  abstract list(page: PageRequest): Promise<Page<PublicationSummary>>;
  /** The engine was seen to use this version. */
  abstract markLive(version: number, at: Date): Promise<void>;
  abstract record(run: Run): Promise<void>;
  abstract summary(): Promise<RunSummary>;
}
