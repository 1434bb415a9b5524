import type { AccessChange } from '../../trino-rules/diff/access-change.js';
import type { RulesDiff } from '../../trino-rules/diff/rules-diff.js';
import { type Finding, isError } from '../../trino-rules/document/finding.js';
import type { Candidate } from './candidate.js';
import { PreparationExceeded } from './rules-preparer.js';
import { type LiveRules, RulesTargetMoved, RulesTargetUnavailable, type TargetFailure } from './rules-target.js';
import { LeaseLost } from './sync-lock.js';
import { UNEXPLAINED } from './unexplained-change.js';

export const TRIGGERS = ['schedule', 'change', 'expiry', 'route', 'cli', 'restore', 'rollback'] as const;
export type Trigger = (typeof TRIGGERS)[number];

/** A version of the rules that was published, and what it followed from. */
export interface Publication {
  version: number;
  text: string;
  hash: string;
  rules: number;
  bytes: number;
  /** Against the text that was live before. */
  diff: RulesDiff;
  /** Who gained and lost what against the version before; null: nobody anything, or it was the first. */
  access: AccessChange | null;
  /** Only what recorded changes took away, on top of the version before: an unexplained change waits for its approval. */
  isWithdrawal: boolean;
  /** What the checks said: warnings and remarks, no errors. */
  checks: Finding[];
  trigger: Trigger;
  triggeredBy: { id: number; name: string } | null;
  snapshotHash: string;
  /** When the snapshot was read. */
  snapshotAt: Date;
  /** When the first change in it was recorded, or took effect by itself; null: no recorded one is in it. */
  changedAt: Date | null;
  publishedAt: Date;
  /** When the engine was first seen to use it. */
  liveAt: Date | null;
}

/** A publication as it stands in a list: the text can be a mebibyte. */
export type PublicationSummary = Omit<Publication, 'text' | 'diff' | 'access'>;

/** What a run does with a candidate, given what is live. */
export type Plan =
  | { kind: 'publish'; drift: boolean }
  | { kind: 'no_change'; drift: false }
  | {
      kind: 'refused';
      reasons: Finding[];
      drift: boolean;
      /** The refusal is over once the candidate's text is approved. */
      awaitsApproval: boolean;
    };

/**
 * Decides about a candidate; the decision can be shown instead of carried out. `drift`: the live text is not the one that was
 * published last, so somebody edited it by hand.
 */
export function planPublication(
  candidate: Pick<Candidate, 'text' | 'findings'>,
  live: Pick<LiveRules, 'text'>,
  published: Pick<Publication, 'text'> | null,
): Plan {
  const drift = live.text !== (published?.text ?? null);
  const reasons = candidate.findings.filter(isError);
  if (reasons.length > 0) {
    return { kind: 'refused', reasons, drift, awaitsApproval: reasons.every(({ code }) => code === UNEXPLAINED) };
  }
  return live.text === candidate.text ? { kind: 'no_change', drift: false } : { kind: 'publish', drift };
}

export interface RunFailure {
  reason: TargetFailure | PreparationExceeded['reason'] | 'moved' | 'lease-lost' | 'internal';
  /** Safe to show. */
  message: string;
  /** Finds the request in the API server's audit log. */
  auditId: string | null;
  /** For the log alone. */
  cause: unknown;
}

/** How a run ended. */
export type RunOutcome =
  | { kind: 'applied' | 'no_change'; publication: Publication }
  | {
      kind: 'refused';
      reasons: Finding[];
      /** Which text waits for an approval; null: none would help. */
      awaits: string | null;
      /** What went out meanwhile, in this run: what recorded changes took away. */
      publication: Publication | null;
    }
  | { kind: 'failed'; failure: RunFailure };

/** A run as it is remembered. */
export interface Run {
  at: Date;
  trigger: Trigger;
  outcome: RunOutcome['kind'];
  /** The findings of a refusal, or the failure as one. */
  reasons: Finding[];
  /** Somebody's edit that this run found in the live text. */
  drift: Drift | null;
  /** A text that waits for its approval, and since when something does. */
  waiting: { hash: string; since: Date } | null;
}

export interface Drift {
  /** When a run first found this very edit. */
  foundAt: Date;
  /** SHA-256 of the text that was found; null: there was none. */
  textHash: string | null;
}

/** What a run says of the error that ended it. What nobody foresaw may hold anything, so it is only logged. */
export function failureOf(cause: unknown): RunFailure {
  if (cause instanceof RulesTargetUnavailable) {
    const { reason, message, auditId } = cause;
    return { reason, message, auditId, cause };
  }
  if (cause instanceof RulesTargetMoved) return { reason: 'moved', message: cause.message, auditId: null, cause };
  if (cause instanceof PreparationExceeded) {
    const { reason, message } = cause;
    return { reason, message, auditId: null, cause };
  }
  if (cause instanceof LeaseLost) return { reason: 'lease-lost', message: cause.message, auditId: null, cause };
  return {
    reason: 'internal',
    message: 'the run ended with an error of its own; the log has it',
    auditId: null,
    cause,
  };
}

/** The reasons of a run that did not publish, as findings. */
export function reasonsOf(outcome: RunOutcome): Finding[] {
  switch (outcome.kind) {
    case 'applied':
    case 'no_change':
      return [];
    case 'refused':
      return outcome.reasons;
    case 'failed':
      return [{ code: `run-${outcome.failure.reason}`, severity: 'error', message: outcome.failure.message }];
  }
}
