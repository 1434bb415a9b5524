import type { Finding } from '../../trino-rules/document/finding.js';
import type { PublicationDraft } from '../domain/publication-history.js';
import type { Publication, PublicationSummary, Run, RunOutcome, Trigger } from '../domain/publication.js';
import type { RestoreEnd } from '../domain/restore.js';

interface RestoreColumns {
  restored_version: number | null;
  restored_until: Date | null;
  restore_reason: string | null;
  restore_ended: RestoreEnd | null;
}

export type SummaryRow = Omit<PublicationSummary, 'restored'> & RestoreColumns;

export type PublicationRow = Omit<Publication, 'restored'> & RestoreColumns;

/** `former`: the published version before. */
export type UnreportedRow = PublicationRow & { isWritten: boolean; former: number | null };

export interface RunRow {
  at: Date;
  trigger: Trigger;
  triggered_by: Run['triggeredBy'];
  outcome: RunOutcome['kind'];
  is_restore: boolean;
  reasons: Finding[];
  /** Rows of earlier builds have neither `overwritten` nor `reasons`. */
  drift: { found_at: string; text_hash: string | null; overwritten?: boolean } | null;
  waiting: { hash: string; since: string; reasons?: Finding[] } | null;
}

/** Who caused it, of a version `p` or a run `p`, beside their account `u`. */
const CAUSE = `CASE WHEN p.triggered_by IS NOT NULL
    THEN json_build_object('id', p.triggered_by, 'name', coalesce(u.username, '')) END`;

const SUMMARY = `p.version, p.hash, p.rules, p.bytes, p.checks, p.trigger, p.compiler, p.snapshot_hash AS "snapshotHash",
  p.snapshot_at AS "snapshotAt", p.is_withdrawal AS "isWithdrawal", p.is_found AS "isFound", p.changed_at AS "changedAt",
  p.published_at AS "publishedAt", p.live_at AS "liveAt", p.broken_at AS "brokenAt",
  ${CAUSE} AS "triggeredBy",
  CASE WHEN p.edit IS NOT NULL THEN json_build_object('textHash', p.edit->>'text_hash') END AS edit,
  p.restored_version, p.restored_until, p.restore_reason, p.restore_ended`;

/** The columns of a version in a list. */
export const LISTED = `${SUMMARY}, CASE WHEN p.access IS NOT NULL
  THEN json_build_object('gainedInAll', p.access->'gainedInAll', 'lostInAll', p.access->'lostInAll',
    'peopleGaining', p.access->'peopleGaining', 'peopleLosing', p.access->'peopleLosing', 'changedPairs', p.access->'changedPairs')
  END AS access`;

/** The columns of a whole version. */
export const WHOLE = `${SUMMARY}, p.text, p.diff, p.access`;

/** Where these are read from. */
export const PUBLISHED = `FROM acl_publications p LEFT JOIN users u ON u.id = p.triggered_by WHERE p.state = 'published'`;

/** The newest run. */
export const LAST_RUN = `SELECT p.at, p.trigger, ${CAUSE} AS triggered_by, p.outcome, p.is_restore, p.reasons, p.drift, p.waiting
  FROM acl_runs p LEFT JOIN users u ON u.id = p.triggered_by ORDER BY p.id DESC LIMIT 1`;

/** Places of versions and of runs that did not publish, below the place $1, $2; $3: how many. */
export const ENTRIES = `WITH entries AS (
    SELECT version, 0::bigint AS run FROM acl_publications WHERE state = 'published'
    UNION ALL
    SELECT after_version, id FROM acl_runs r
     WHERE outcome IN ('refused', 'failed') AND NOT EXISTS (
       SELECT FROM acl_runs b WHERE b.id = (SELECT max(id) FROM acl_runs WHERE id < r.id)
          AND b.outcome = r.outcome AND b.reasons = r.reasons AND b.after_version = r.after_version))
  SELECT version, run::float AS run FROM entries WHERE $1::integer IS NULL OR (version, run) < ($1, $2::bigint)
   ORDER BY version DESC, run DESC LIMIT $3`;

/** Runs by their ids $1. */
export const PAST_RUNS = `SELECT p.id::float AS id, p.after_version AS "afterVersion", p.at, p.trigger,
    ${CAUSE} AS "triggeredBy", p.outcome, p.reasons
  FROM acl_runs p LEFT JOIN users u ON u.id = p.triggered_by WHERE p.id = ANY($1)`;

/** The columns of a version that begins. */
export function draftRow(draft: PublicationDraft): Record<string, unknown> {
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

/** The columns of a run, which `toRun` reads, but for the version it came after. */
export function runRow({ at, trigger, triggeredBy, outcome, isRestore, reasons, drift, waiting }: Run) {
  return {
    at,
    trigger,
    triggered_by: triggeredBy?.id ?? null,
    outcome,
    is_restore: isRestore,
    reasons: JSON.stringify(reasons),
    drift: json(drift && { found_at: drift.foundAt, text_hash: drift.textHash, overwritten: drift.overwritten }),
    waiting: json(waiting),
  };
}

/** Names and values of an INSERT, in the order of the row. */
export function insertion(row: object): { names: string; values: string } {
  const names = Object.keys(row);
  return { names: names.join(', '), values: names.map((_, at) => `$${at + 1}`).join(', ') };
}

/** The publication of a row, or its summary. */
export function restorable<Row extends RestoreColumns>(row: Row) {
  const {
    restored_version: version,
    restored_until: until,
    restore_reason: reason,
    restore_ended: ended,
    ...rest
  } = row;
  const isNone = version === null || until === null || reason === null;
  return { ...rest, restored: isNone ? null : { version, until, reason, ended } };
}

export function toRun({
  at,
  trigger,
  triggered_by: triggeredBy,
  outcome,
  is_restore: isRestore,
  reasons,
  drift,
  waiting,
}: RunRow): Run {
  return {
    at,
    trigger,
    triggeredBy,
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

function json(value: unknown): string | null {
  return value === null ? null : JSON.stringify(value);
}
