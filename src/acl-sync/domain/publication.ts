import type { AuditContext } from '../../audit/domain/audit-event.js';
import type { GuaranteeVerdict } from '../../trino-rules/answers/guarantee-verdicts.js';
import type { AccessChange } from '../../trino-rules/diff/access-change.js';
import type { RulesDiff } from '../../trino-rules/diff/rules-diff.js';
import type { Finding } from '../../trino-rules/document/finding.js';
import { LeaseLost, PreparationExceeded } from './run-ports.js';
import { RulesTargetMoved, RulesTargetUnavailable, type TargetFailure } from './rules-target.js';
import type { RecordedRestore, Restore } from './restore.js';
import type { TargetState } from './target-state.js';

export const TRIGGERS = ['schedule', 'change', 'expiry', 'route', 'cli', 'restore', 'rollback'] as const;
export type Trigger = (typeof TRIGGERS)[number];

/** A published version, and the snapshot behind it. */
export interface Publication {
  version: number;
  /** The text of the rules; null if OPA was the only target, which uses no rules. */
  text: string | null;
  hash: string;
  rules: number;
  bytes: number;
  /** The rules that were added and removed, compared with the text that was live before. */
  diff: RulesDiff;
  /** Access gained and lost since the previous version; null: none is known. */
  access: AccessChange | null;
  /** Whether this version is a withdrawal, published while runs are refused: the previous version without the access that was revoked since. */
  isWithdrawal: boolean;
  /** Whether this version was found at a target, and not written by a run of this database (docs/decisions/0026). */
  isFound: boolean;
  /** The restore that brought back an older text as this version; null: no restore. */
  restored: RecordedRestore | null;
  /** If this version is transitional ("Masks first" in docs/sync-run.md): the hash of the rules that follow. Null for other versions. */
  firstStepOf: string | null;
  /** The edit by hand that this version overwrote; null: none. */
  edit: Edit | null;
  /** Findings of the checks: warnings and remarks, no errors. */
  checks: Finding[];
  trigger: Trigger;
  triggeredBy: { id: number; name: string } | null;
  snapshotHash: string;
  compiler: string;
  snapshotAt: Date;
  /** Time of the earliest change or expiry that this version publishes; null: none is known. */
  changedAt: Date | null;
  publishedAt: Date;
  /** When the engine was first seen to use this version. */
  liveAt: Date | null;
  /** When the engine was seen to fail on this version, without ever having used it. */
  brokenAt: Date | null;
}

/** A publication in a list: without the text (up to a mebibyte) and the changed rules, and with only counts of the changed access. */
export interface PublicationSummary extends Omit<Publication, 'text' | 'diff' | 'access'> {
  access: Pick<AccessChange, 'gainedInAll' | 'lostInAll' | 'peopleGaining' | 'peopleLosing' | 'changedPairs'> | null;
}

export interface RunFailure {
  reason: TargetFailure | PreparationExceeded['reason'] | 'moved' | 'lease-lost' | 'internal';
  /** A message that is safe to show. */
  message: string;
  /** Id of the request in the API server's audit log. */
  auditId: string | null;
  /** The cause, for the log only. */
  cause: unknown;
}

/** The outcome of a run after which `publication` is at the targets. `applied`: this run wrote it. `no_change`: it was there already. */
interface PublishedOutcome {
  kind: 'applied' | 'no_change';
  publication: Publication;
  /** Why the published rules differ from the current grants; empty if they agree. */
  reasons: Finding[];
}

export type RunOutcome =
  | PublishedOutcome
  | {
      kind: 'refused';
      reasons: Finding[];
      /** The hash to approve, so that the refused version is published. Null: no approval can end the refusal. */
      awaits: string | null;
      /** The withdrawal (the previous version without revoked access) that this run published; null: none. */
      publication: Publication | null;
    }
  | {
      kind: 'failed';
      failure: RunFailure;
      /** The outcome at the targets that did not fail; null: the run failed before it published to any target. */
      outcomeElsewhere: PublishedOutcome | null;
    };

export interface ShownPublication extends Pick<PublicationSummary, 'version' | 'hash' | 'rules' | 'bytes'> {
  diff?: RulesDiff;
}

/** The part of a run's outcome that commands print. The API answers with these fields. */
export type ShownRun =
  | { kind: 'applied' | 'no_change'; publication: ShownPublication; reasons: Finding[] }
  | { kind: 'refused'; publication: ShownPublication | null; awaits: string | null; reasons: Finding[] }
  | { kind: 'failed'; failure: Pick<RunFailure, 'reason' | 'message' | 'auditId'> };

export interface RunOrder {
  trigger: Trigger;
  by: AuditContext;
  /** How long to wait for a run that holds the lock. */
  lockTimeoutMs: number;
  restore?: Restore;
}

export interface RunEnding {
  outcome: RunOutcome;
  /** The edit by hand that the run found in the live text; null: none. */
  edit: Edit | null;
  /** Verdicts on the guarantees and the time of their snapshot; null: no rules were compiled. */
  judgement: { verdicts: readonly GuaranteeVerdict[]; at: Date } | null;
  targets: readonly TargetState[];
}

export interface Run {
  at: Date;
  trigger: Trigger;
  triggeredBy: Publication['triggeredBy'];
  outcome: RunOutcome['kind'];
  /** Whether the run was requested to restore a version. If it is refused, the published version stays. */
  isRestore: boolean;
  /** The findings of a refusal, or the failure as a finding. */
  reasons: Finding[];
  /** An edit by hand that this run found in the live text. */
  drift: Drift | null;
  /** The change that waits for an approval, and why it was refused. `since`: when the wait began, perhaps with an earlier change. */
  waiting: { hash: string; since: Date; reasons: Finding[] } | null;
  targets: readonly TargetState[];
}

/** A refused or failed run in the list of published versions. */
export interface PastRun extends Pick<Run, 'at' | 'trigger' | 'triggeredBy' | 'outcome' | 'reasons'> {
  id: number;
  /** The newest published version at the end of the run; 0: none. */
  afterVersion: number;
}

export interface Edit {
  /** SHA-256 of the edited text; null: there was no text. */
  textHash: string | null;
}

export interface Drift extends Edit {
  foundAt: Date;
  /** Whether the run that found the edit has overwritten it. */
  overwritten: boolean;
}

/** The failure to report for an error that ended a run. An unexpected error may hold secrets, so it is only logged. */
export function failureOf(cause: unknown): RunFailure {
  if (cause instanceof RulesTargetUnavailable) {
    const { reason, message, auditId } = cause;
    return { reason, message, auditId, cause };
  }
  const failure = (reason: RunFailure['reason'], { message }: Error) => ({ reason, message, auditId: null, cause });
  if (cause instanceof RulesTargetMoved) return failure('moved', cause);
  if (cause instanceof PreparationExceeded) return failure(cause.reason, cause);
  if (cause instanceof LeaseLost) return failure('lease-lost', cause);
  const message = 'the run ended with an error of its own; the log has it';
  return { reason: 'internal', message, auditId: null, cause };
}

/** The reasons of a run that did not publish, as findings. */
export function reasonsOf(outcome: ShownRun): Finding[] {
  if (outcome.kind !== 'failed') return outcome.reasons;
  return [{ code: `run-${outcome.failure.reason}`, severity: 'error', message: outcome.failure.message }];
}
