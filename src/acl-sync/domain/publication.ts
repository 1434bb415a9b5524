import type { AuditContext } from '../../audit/domain/audit-event.js';
import type { GuaranteeVerdict } from '../../trino-rules/answers/guarantee-verdicts.js';
import type { AccessChange } from '../../trino-rules/diff/access-change.js';
import type { RulesDiff } from '../../trino-rules/diff/rules-diff.js';
import type { Finding } from '../../trino-rules/document/finding.js';
import { LeaseLost, PreparationExceeded } from './run-ports.js';
import { RulesTargetMoved, RulesTargetUnavailable, type TargetFailure } from './rules-target.js';
import type { RecordedRestore, Restore } from './restore.js';

export const TRIGGERS = ['schedule', 'change', 'expiry', 'route', 'cli', 'restore', 'rollback'] as const;
export type Trigger = (typeof TRIGGERS)[number];

/** A published version of the rules, and the snapshot behind it. */
export interface Publication {
  version: number;
  text: string;
  hash: string;
  rules: number;
  bytes: number;
  /** Changes against the text that was live before. */
  diff: RulesDiff;
  /** Access gained and lost against the version before; null: no change, or the first version. */
  access: AccessChange | null;
  /** Whether it is the version before without access that recorded changes took away, published while a run is refused. */
  isWithdrawal: boolean;
  /** Whether it was found at the target, written by no run of this database (docs/decisions/0026). */
  isFound: boolean;
  /** The older version whose text an administrator restored; `ended` is null while the restore lasts. */
  restored: RecordedRestore | null;
  /** The edit by hand that this version overwrote; null: none. */
  edit: Edit | null;
  /** Findings of the checks: warnings and remarks, no errors. */
  checks: Finding[];
  trigger: Trigger;
  triggeredBy: { id: number; name: string } | null;
  snapshotHash: string;
  compiler: string;
  snapshotAt: Date;
  /** Time of the first change or expiry in it; null: there is none. */
  changedAt: Date | null;
  publishedAt: Date;
  /** When the engine was first seen to use this version. */
  liveAt: Date | null;
  /** When the engine was seen to fail on this version, without ever having used it. */
  brokenAt: Date | null;
}

/** A publication in a list, without its text, which can have a mebibyte, and with only counts of the changed access. */
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

export type RunOutcome =
  | {
      kind: 'applied' | 'no_change';
      publication: Publication;
      /** Why the published rules differ from the current grants; empty: they do not. */
      reasons: Finding[];
    }
  | {
      kind: 'refused';
      reasons: Finding[];
      /** Hash of the text that waits for an approval; null: none would help. */
      awaits: string | null;
      /** The withdrawal that this run published; null: none. */
      publication: Publication | null;
    }
  | { kind: 'failed'; failure: RunFailure };

export interface ShownPublication extends Pick<PublicationSummary, 'version' | 'hash' | 'rules' | 'bytes'> {
  diff?: RulesDiff;
}

/** The part of a run's outcome that is printed. The API's answer has no more. */
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
  /** The live text was edited by hand; null: it was not. */
  edit: Edit | null;
  /** Verdicts on the guarantees and the time of their snapshot; null: no rules were compiled. */
  judged: { verdicts: readonly GuaranteeVerdict[]; at: Date } | null;
}

export interface Run {
  at: Date;
  trigger: Trigger;
  triggeredBy: Publication['triggeredBy'];
  outcome: RunOutcome['kind'];
  /** Whether the run was requested to restore a version. If it is refused, the rules by the current grants stay. */
  isRestore: boolean;
  /** The findings of a refusal, or the failure as a finding. */
  reasons: Finding[];
  /** An edit by hand that this run found in the live text. */
  drift: Drift | null;
  /** The text that waits for an approval, since when any text has waited, and the reasons of the refused run that found it. */
  waiting: { hash: string; since: Date; reasons: Finding[] } | null;
}

/** A run among the published versions. */
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
  const known = (reason: RunFailure['reason'], { message }: Error) => ({ reason, message, auditId: null, cause });
  if (cause instanceof RulesTargetMoved) return known('moved', cause);
  if (cause instanceof PreparationExceeded) return known(cause.reason, cause);
  if (cause instanceof LeaseLost) return known('lease-lost', cause);
  const message = 'the run ended with an error of its own; the log has it';
  return { reason: 'internal', message, auditId: null, cause };
}

/** The reasons of a run that did not publish, as findings. */
export function reasonsOf(outcome: ShownRun): Finding[] {
  if (outcome.kind !== 'failed') return outcome.reasons;
  return [{ code: `run-${outcome.failure.reason}`, severity: 'error', message: outcome.failure.message }];
}
