import type { RecordedGuarantee } from '../../grants/domain/guarantee.js';
import type { Finding } from '../../trino-rules/document/finding.js';
import { opaFault, type OpaStatus } from './opa-status.js';
import type { RunSummary } from './publication-history.js';
import type { PublicationSummary, ShownRun } from './publication.js';
import type { Restore } from './restore.js';
import type { RulesTarget } from './rules-target.js';
import { revisionOf } from './target-state.js';

interface LiveContext {
  published: PublicationSummary | null;
  now: Date;
}

/**
 * Lines about a run's outcome for a terminal. The first line begins with the log marker of the outcome.
 * @param live the rules published before the run; absent: not known
 */
export function runLines(outcome: ShownRun, live?: LiveContext): string[] {
  switch (outcome.kind) {
    case 'applied': {
      const { version, hash, rules, bytes, diff } = outcome.publication;
      const changesText = diff === undefined ? '' : `, ${diff.added.length} added, ${diff.removed.length} removed`;
      return [
        `TRINO_ACL_SYNC_APPLIED  version ${version} (${shortHash(hash)}): ${rules} rules, ${bytes} bytes${changesText}`,
        ...outcome.reasons.flatMap(findingLines),
      ];
    }
    case 'no_change': {
      const { version, hash } = outcome.publication;
      const stateText = outcome.reasons.length === 0 ? 'matches the grants' : 'stays';
      return [
        `TRINO_ACL_SYNC_NO_CHANGE  version ${version} (${shortHash(hash)}) ${stateText}`,
        ...outcome.reasons.flatMap(findingLines),
      ];
    }
    case 'refused':
      return [`TRINO_ACL_SYNC_REFUSED  ${refusalText(outcome, live)}`, ...outcome.reasons.flatMap(findingLines)];
    case 'failed': {
      const { reason, message, auditId } = outcome.failure;
      return [`TRINO_ACL_SYNC_FAILED  ${reason}: ${message}${auditId === null ? '' : ` (audit id ${auditId})`}`];
    }
  }
}

/** A finding, with its rule and its evidence (`witness`) on the line below. */
export function findingLines({ severity, code, message, rule, witness }: Finding): string[] {
  const evidence = [rule, witness].filter((part) => part !== undefined).join('  ');
  const firstLine = `  ${severity === 'error' ? '' : `${severity}: `}${message}  [${code}]`;
  return evidence === '' ? [firstLine] : [firstLine, `    ${evidence}`];
}

function refusalText({ awaits, publication }: ShownRun & { kind: 'refused' }, live: LiveContext | undefined): string {
  if (awaits === null) return `the new rules cannot be published; ${remainingRulesText(live)}`;
  const publishedText =
    publication === null
      ? remainingRulesText(live)
      : `what was taken away is published (version ${publication.version}, ${shortHash(publication.hash)})`;
  return `an unexplained change waits for an approval; ${publishedText}`;
}

function remainingRulesText(live: LiveContext | undefined): string {
  if (live === undefined) return 'the live rules stay';
  const { published, now } = live;
  if (published === null) return 'nothing has been published yet';
  const minutes = Math.floor((now.getTime() - published.publishedAt.getTime()) / 60_000);
  return `the live rules stay (${shortHash(published.hash)}, ${minutes} min old)`;
}

function shortHash(hash: string): string {
  return hash.slice(0, 6);
}

export interface SyncStatus extends RunSummary {
  /** Time of the next scheduled run; null: this process runs no schedule. */
  nextRunAt: Date | null;
  published: PublicationSummary | null;
  /** The restore in effect; null: none. */
  restore: Restore | null;
  targets: readonly Pick<RulesTarget, 'key' | 'name'>[];
  engineTarget: string;
  guarantees: readonly RecordedGuarantee[];
  /** State of OPA; null: OPA is no target. */
  opa: OpaStatus | null;
}

/** The status with the field names of the API and the command line. */
export function statusForm({ lastRun: last, published, live, databaseBehind, targets, opa, ...at }: SyncStatus) {
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
    target: [...targets.map(({ name }) => name), ...(opa === null ? [] : ['opa'])].join(', '),
    targets: [
      ...targets.map(({ key }) => {
        const state = last?.targets.find(({ target }) => target === key);
        return {
          kind: key.startsWith('configmap:') ? ('configmap' as const) : ('file' as const),
          name: key,
          published: state?.held?.revision ?? null,
          // The engines of other targets are not probed, so their live version is not known.
          live: key === at.engineTarget && live !== null ? revisionOf(live) : null,
          outcome: state === undefined ? null : outcomeOf(state.failure),
          error: state?.failure ? `${state.failure.reason}: ${state.failure.message}` : null,
        };
      }),
      ...(opa === null ? [] : [opaTarget(opa)]),
    ],
    ...(opa !== null && {
      instances: opa.instances.map(({ instance, revision, seenAt, errors }) => ({
        ...{ instance, revision, last_seen_at: seenAt.toISOString(), errors: [...errors] },
      })),
      canary: opa.canary && { answer: opa.canary.answer, at: opa.canary.at.toISOString() },
    }),
  };
}

function opaTarget(opa: OpaStatus) {
  const error = opaFault(opa);
  const hasReports = opa.instances.length > 0 || opa.canary !== null;
  const { publishedRevision: published, liveRevision: live } = opa;
  return { kind: 'opa' as const, name: 'opa', published, live, outcome: hasReports ? outcomeOf(error) : null, error };
}

function outcomeOf(failure: object | string | null): 'available' | 'failed' {
  return failure === null ? 'available' : 'failed';
}
