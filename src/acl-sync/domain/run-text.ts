import type { RecordedGuarantee } from '../../grants/domain/guarantee.js';
import type { Finding } from '../../trino-rules/document/finding.js';
import type { RunSummary } from './publication-history.js';
import type { PublicationSummary, ShownRun } from './publication.js';
import type { Restore } from './restore.js';

interface Live {
  published: PublicationSummary | null;
  now: Date;
}

/**
 * Lines about a run's outcome for a terminal, beginning with the log's marker.
 * @param live the rules that stay if the run published nothing; absent: not known
 */
export function runLines(outcome: ShownRun, live?: Live): string[] {
  switch (outcome.kind) {
    case 'applied': {
      const { version, hash, rules, bytes, diff } = outcome.publication;
      const changes = diff === undefined ? '' : `, ${diff.added.length} added, ${diff.removed.length} removed`;
      return [`TRINO_ACL_SYNC_APPLIED  version ${version} (${brief(hash)}): ${rules} rules, ${bytes} bytes${changes}`];
    }
    case 'no_change':
      return [
        `TRINO_ACL_SYNC_NO_CHANGE  version ${outcome.publication.version} (${brief(outcome.publication.hash)}) matches the grants`,
      ];
    case 'refused':
      return [`TRINO_ACL_SYNC_REFUSED  ${refusal(outcome, live)}`, ...outcome.reasons.flatMap(findingLines)];
    case 'failed': {
      const { reason, message, auditId } = outcome.failure;
      return [`TRINO_ACL_SYNC_FAILED  ${reason}: ${message}${auditId === null ? '' : ` (audit id ${auditId})`}`];
    }
  }
}

/** A finding, with its rule and witness on the line below. */
export function findingLines({ severity, code, message, rule, witness }: Finding): string[] {
  const evidence = [rule, witness].filter((part) => part !== undefined).join('  ');
  const head = `  ${severity === 'error' ? '' : `${severity}: `}${message}  [${code}]`;
  return evidence === '' ? [head] : [head, `    ${evidence}`];
}

function refusal({ awaits, publication }: ShownRun & { kind: 'refused' }, live: Live | undefined): string {
  if (awaits === null) return `the new rules cannot be published; ${staying(live)}`;
  const meanwhile =
    publication === null
      ? staying(live)
      : `what was taken away is published (version ${publication.version}, ${brief(publication.hash)})`;
  return `an unexplained change waits for an approval; ${meanwhile}`;
}

function staying(live: Live | undefined): string {
  if (live === undefined) return 'the live rules stay';
  const { published, now } = live;
  if (published === null) return 'nothing has been published yet';
  const minutes = Math.floor((now.getTime() - published.publishedAt.getTime()) / 60_000);
  return `the live rules stay (${brief(published.hash)}, ${minutes} min old)`;
}

function brief(hash: string): string {
  return hash.slice(0, 6);
}

export interface SyncStatus extends RunSummary {
  /** Null: this process runs no schedule. */
  nextRunAt: Date | null;
  published: PublicationSummary | null;
  /** The restore in effect; null: none. */
  restore: Restore | null;
  /** For display: `configmap engine/trino-access-control`. */
  target: string;
  guarantees: readonly RecordedGuarantee[];
}

/** The status with the field names of the API and the command line. */
export function statusForm({ last, published, live, databaseBehind, target, ...at }: SyncStatus) {
  const { drift = null, waiting = null } = last ?? {};
  return {
    last_run_at: last?.at.toISOString() ?? null,
    last_success_at: at.lastSuccessAt?.toISOString() ?? null,
    last_outcome: last?.outcome ?? null,
    last_reasons: last?.reasons ?? [],
    next_run_at: at.nextRunAt?.toISOString() ?? null,
    published: published && {
      ...{ version: published.version, hash: published.hash, at: published.publishedAt.toISOString() },
      ...{ rules: published.rules, bytes: published.bytes, trigger: published.trigger },
    },
    live: live && { hash: live.hash, confirmed_at: live.confirmedAt.toISOString() },
    drift: drift && {
      ...{ found_at: drift.foundAt.toISOString(), text_hash: drift.textHash, overwritten: drift.overwritten },
    },
    restored_until: at.restore?.until.toISOString() ?? null,
    waiting_for_approval: waiting && { ...waiting, since: waiting.since.toISOString() },
    refused_since: at.refusedSince?.toISOString() ?? null,
    database_behind: databaseBehind && {
      ...{ version: databaseBehind.version, hash: databaseBehind.hash },
      found_at: databaseBehind.foundAt.toISOString(),
    },
    broken_guarantees: at.guarantees.flatMap(({ guarantee: { id, name }, brokenSince, judgement }) => {
      const message = judgement?.witnesses[0]?.message ?? '';
      return brokenSince === null ? [] : [{ id, name, since: brokenSince.toISOString(), message }];
    }),
    target,
  };
}
