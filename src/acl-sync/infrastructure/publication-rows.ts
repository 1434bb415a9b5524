import type { AccessChange } from '../../trino-rules/diff/access-change.js';
import type { RulesDiff } from '../../trino-rules/diff/rules-diff.js';
import type { Finding } from '../../trino-rules/document/finding.js';
import type { PublicationDraft } from '../domain/publication-history.js';
import type { Publication, PublicationSummary, Run, RunOutcome, Trigger } from '../domain/publication.js';
import type { RestoreEnd } from '../domain/restore.js';

export interface SummaryRow {
  version: number;
  hash: string;
  rules: number;
  bytes: number;
  checks: Finding[];
  trigger: Trigger;
  triggered_by: number | null;
  username: string | null;
  snapshot_hash: string;
  snapshot_at: Date;
  compiler: string;
  is_withdrawal: boolean;
  is_found: boolean;
  restored_version: number | null;
  restored_until: Date | null;
  restore_reason: string | null;
  restore_ended: RestoreEnd | null;
  edit: { text_hash: string | null } | null;
  changed_at: Date | null;
  published_at: Date;
  live_at: Date | null;
  broken_at: Date | null;
}

export interface PublicationRow extends SummaryRow {
  text: string;
  diff: RulesDiff;
  access: AccessChange | null;
}

export interface UnreportedRow extends PublicationRow {
  is_written: boolean;
  /** The published version before. */
  former: number | null;
}

export interface RunRow {
  at: Date;
  trigger: Trigger;
  outcome: RunOutcome['kind'];
  is_restore: boolean;
  reasons: Finding[];
  /** Rows of earlier builds have neither `overwritten` nor `reasons`. */
  drift: { found_at: string; text_hash: string | null; overwritten?: boolean } | null;
  waiting: { hash: string; since: string; reasons?: Finding[] } | null;
}

export const SUMMARY = `p.version, p.hash, p.rules, p.bytes, p.checks, p.trigger, p.triggered_by, u.username, p.snapshot_hash,
  p.snapshot_at, p.compiler, p.is_withdrawal, p.is_found, p.restored_version, p.restored_until, p.restore_reason, p.restore_ended,
  p.edit, p.changed_at, p.published_at, p.live_at, p.broken_at`;

/** Where `SUMMARY` is read from. */
export const PUBLISHED = `FROM acl_publications p LEFT JOIN users u ON u.id = p.triggered_by WHERE p.state = 'published'`;

/** The columns of a version that begins. */
export function draftRow(draft: PublicationDraft): Record<string, unknown> {
  const json = (value: unknown) => (value === null ? null : JSON.stringify(value));
  return {
    text: draft.text,
    hash: draft.hash,
    rules: draft.rules,
    bytes: draft.bytes,
    diff: json(draft.diff),
    access: json(draft.access),
    is_withdrawal: draft.isWithdrawal,
    is_found: draft.isFound,
    checks: json(draft.checks),
    trigger: draft.trigger,
    triggered_by: draft.triggeredBy,
    snapshot: draft.snapshot,
    snapshot_hash: draft.snapshotHash,
    snapshot_at: draft.snapshotAt,
    trail_position: draft.position,
    compiler: draft.compiler,
    changed_at: draft.changedAt,
    begun_at: draft.begunAt,
    restored_version: draft.restored?.version ?? null,
    restored_until: draft.restored?.until ?? null,
    restore_reason: draft.restored?.reason ?? null,
    edit: json(draft.edit && { text_hash: draft.edit.textHash }),
    is_written: draft.isWritten,
  };
}

export function toPublication(row: PublicationRow): Publication {
  return { ...toSummary(row), text: row.text, diff: row.diff, access: row.access };
}

export function toSummary(row: SummaryRow): PublicationSummary {
  return {
    version: row.version,
    hash: row.hash,
    rules: row.rules,
    bytes: row.bytes,
    checks: row.checks,
    trigger: row.trigger,
    triggeredBy: row.triggered_by === null ? null : { id: row.triggered_by, name: row.username ?? '' },
    snapshotHash: row.snapshot_hash,
    snapshotAt: row.snapshot_at,
    compiler: row.compiler,
    isWithdrawal: row.is_withdrawal,
    isFound: row.is_found,
    restored: toRestored(row),
    edit: row.edit && { textHash: row.edit.text_hash },
    changedAt: row.changed_at,
    publishedAt: row.published_at,
    liveAt: row.live_at,
    brokenAt: row.broken_at,
  };
}

function toRestored(row: SummaryRow): PublicationSummary['restored'] {
  const { restored_version: version, restored_until: until, restore_reason: reason, restore_ended: ended } = row;
  return version === null || until === null || reason === null ? null : { version, until, reason, ended };
}

export function toRun({ at, trigger, outcome, is_restore: isRestore, reasons, drift, waiting }: RunRow): Run {
  return {
    at,
    trigger,
    outcome,
    isRestore,
    reasons,
    drift: drift && {
      foundAt: new Date(drift.found_at),
      textHash: drift.text_hash,
      overwritten: drift.overwritten ?? outcome === 'applied',
    },
    waiting: waiting && { hash: waiting.hash, since: new Date(waiting.since), reasons: waiting.reasons ?? reasons },
  };
}
