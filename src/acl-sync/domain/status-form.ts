import type { PublicationSummary, Run } from './publication.js';
import type { RunSummary } from './publication-history.js';
import type { Restore } from './restore.js';

export interface SyncStatus extends RunSummary {
  /** Null: this process runs no schedule. */
  nextRunAt: Date | null;
  published: PublicationSummary | null;
  /** The older version that is restored now; null: none is. */
  restore: Restore | null;
  /** For display: `configmap engine/trino-access-control`. */
  target: string;
}

/** In the names of the API and the command line. */
export function statusForm({
  last,
  lastSuccessAt,
  nextRunAt,
  published,
  live,
  refusedSince,
  databaseBehind,
  restore,
  target,
}: SyncStatus) {
  return {
    last_run_at: last?.at.toISOString() ?? null,
    last_success_at: lastSuccessAt?.toISOString() ?? null,
    last_outcome: last?.outcome ?? null,
    last_reasons: last?.reasons ?? [],
    next_run_at: nextRunAt?.toISOString() ?? null,
    published: published && {
      version: published.version,
      hash: published.hash,
      at: published.publishedAt.toISOString(),
      rules: published.rules,
      bytes: published.bytes,
      trigger: published.trigger,
    },
    live: live && { hash: live.hash, confirmed_at: live.confirmedAt.toISOString() },
    drift: last?.drift
      ? {
          found_at: last.drift.foundAt.toISOString(),
          text_hash: last.drift.textHash,
          overwritten: last.drift.overwritten,
        }
      : null,
    restored_until: restore?.until.toISOString() ?? null,
    waiting_for_approval: waitingForm(last),
    refused_since: refusedSince?.toISOString() ?? null,
    database_behind: databaseBehind && {
      version: databaseBehind.version,
      hash: databaseBehind.hash,
      found_at: databaseBehind.foundAt.toISOString(),
    },
    target,
  };
}

export function waitingForm(last: Run | null) {
  if (!last?.waiting) return null;
  return { hash: last.waiting.hash, since: last.waiting.since.toISOString(), reasons: last.waiting.reasons };
}
