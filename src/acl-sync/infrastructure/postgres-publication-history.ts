import { Injectable } from '@nestjs/common';
import { type Page, pageOf } from '../../kernel/page.js';
import { DatabaseSession } from '../../platform/database/database-session.js';
import type { Finding } from '../../trino-rules/document/finding.js';
import {
  compareHistory,
  type HistoryPage,
  type HistoryPosition,
  keyOfEntry,
  type PublicationDraft,
  PublicationHistory,
  type RunSummary,
  type UnreportedPublication,
} from '../domain/publication-history.js';
import type { PastRun, Publication, PublicationSummary, Run } from '../domain/publication.js';
import type { RecordedRestore, RestoreEnd } from '../domain/restore.js';
import type { LiveRules } from '../domain/rules-target.js';
import type { Baseline } from '../domain/unexplained-change.js';

/** A version whose restore comes from JSON, which has times as text. */
type Row<T extends Pick<Publication, 'restored'>> = Omit<T, 'restored'> & {
  restored: (Omit<RecordedRestore, 'until'> & { until: string }) | null;
};

/** `former`: the published version before. */
type UnreportedRow = Row<Publication> & { isWritten: boolean; former: number | null };

interface RunRow extends Omit<Run, 'drift' | 'waiting'> {
  drift: { found_at: string; text_hash: string | null; overwritten: boolean } | null;
  waiting: { hash: string; since: string; reasons: Finding[] } | null;
}

/** The account `u` that caused a version or a run `p`, as JSON. */
const CAUSE = `CASE WHEN p.triggered_by IS NOT NULL
    THEN json_build_object('id', p.triggered_by, 'name', coalesce(u.username, '')) END`;

const SUMMARY = `p.version, p.hash, p.rules, p.bytes, p.checks, p.trigger, p.compiler, p.snapshot_hash AS "snapshotHash",
  p.snapshot_at AS "snapshotAt", p.is_withdrawal AS "isWithdrawal", p.is_found AS "isFound", p.changed_at AS "changedAt",
  p.published_at AS "publishedAt", p.live_at AS "liveAt", p.broken_at AS "brokenAt",
  ${CAUSE} AS "triggeredBy",
  CASE WHEN p.edit IS NOT NULL THEN json_build_object('textHash', p.edit->>'text_hash') END AS edit,
  CASE WHEN p.restored_version IS NOT NULL THEN json_build_object('version', p.restored_version, 'until', p.restored_until,
    'reason', p.restore_reason, 'ended', p.restore_ended) END AS restored`;

const LISTED = `${SUMMARY}, CASE WHEN p.access IS NOT NULL
  THEN json_build_object('gainedInAll', p.access->'gainedInAll', 'lostInAll', p.access->'lostInAll',
    'peopleGaining', p.access->'peopleGaining', 'peopleLosing', p.access->'peopleLosing', 'changedPairs', p.access->'changedPairs')
  END AS access`;

const WHOLE = `${SUMMARY}, p.text, p.diff, p.access`;

const PUBLISHED = `FROM acl_publications p LEFT JOIN users u ON u.id = p.triggered_by WHERE p.state = 'published'`;

const LAST_RUN = `SELECT p.at, p.trigger, ${CAUSE} AS "triggeredBy", p.outcome, p.is_restore AS "isRestore", p.reasons, p.drift, p.waiting
  FROM acl_runs p LEFT JOIN users u ON u.id = p.triggered_by ORDER BY p.id DESC LIMIT 1`;

/** Refused and failed runs below the position $1, $2; of consecutive equal ones only the first. $3: limit. */
const PAST_RUNS = `SELECT p.id::float AS id, p.after_version AS "afterVersion", p.at, p.trigger,
    ${CAUSE} AS "triggeredBy", p.outcome, p.reasons
  FROM acl_runs p LEFT JOIN users u ON u.id = p.triggered_by
 WHERE p.outcome IN ('refused', 'failed') AND ($1::integer IS NULL OR (p.after_version, p.id) < ($1, $2::bigint))
   AND NOT EXISTS (SELECT FROM acl_runs b WHERE b.id = (SELECT max(id) FROM acl_runs WHERE id < p.id)
     AND b.outcome = p.outcome AND b.reasons = p.reasons AND b.after_version = p.after_version)
 ORDER BY p.after_version DESC, p.id DESC LIMIT $3`;

function draftRow(draft: PublicationDraft): Record<string, unknown> {
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

function runRow({ at, trigger, triggeredBy, outcome, isRestore, reasons, drift, waiting }: Run) {
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

/** Names and parameters of an INSERT. */
function insertion(row: object): [names: string, parameters: string, values: unknown[]] {
  const names = Object.keys(row);
  return [names.join(', '), names.map((_, at) => `$${at + 1}`).join(', '), Object.values(row)];
}

function withMoment<T extends Row<Pick<Publication, 'restored'>>>({ restored, ...row }: T) {
  return { ...row, restored: restored && { ...restored, until: new Date(restored.until) } };
}

function toRun({ drift, waiting, ...run }: RunRow): Run {
  return {
    ...run,
    drift: drift && {
      foundAt: new Date(drift.found_at),
      textHash: drift.text_hash,
      overwritten: drift.overwritten,
    },
    waiting: waiting && { ...waiting, since: new Date(waiting.since) },
  };
}

function json(value: unknown): string | null {
  return value === null ? null : JSON.stringify(value);
}

const NEWEST = `(SELECT coalesce(max(version), 0) FROM acl_publications WHERE state = 'published')`;

const BASELINE = `SELECT max(version) FROM acl_publications
  WHERE state = 'published' AND NOT is_withdrawal AND restored_version IS NULL
    AND (is_found OR (broken_at IS NULL AND (live_at IS NOT NULL
         OR version > (SELECT coalesce(max(version), 0) FROM acl_publications WHERE broken_at IS NOT NULL))))`;

/** Versions removed at a time: each may have two mebibytes. */
const BATCH = 500;

/** Versions that are no longer needed. $1: versions after this time are kept; $2: the number of newest ones to keep. */
const PAST_VERSIONS = `SELECT p.version FROM acl_publications p
  WHERE p.version < least(
          (SELECT coalesce(max(version), 0) FROM acl_publications WHERE state = 'published' AND published_at <= $1),
          coalesce((SELECT version FROM acl_publications WHERE state = 'published'
                     ORDER BY version DESC OFFSET $2::integer - 1 LIMIT 1), 0))
    AND p.broken_at IS NULL AND (p.is_reported OR p.state <> 'published')
    AND p.version NOT IN (SELECT coalesce((${BASELINE}), 0)
      UNION ALL SELECT coalesce(max(version), 0) FROM acl_publications WHERE live_at IS NOT NULL
      UNION ALL SELECT coalesce(max(version), 0) FROM acl_publications
                 WHERE live_at IS NOT NULL AND NOT is_withdrawal AND restored_version IS NULL AND broken_at IS NULL)
    AND NOT EXISTS (SELECT FROM acl_publications r WHERE r.restored_version = p.version)
  ORDER BY p.version LIMIT ${BATCH}`;

/** Removes past runs, except the last successful one and all since, which the status needs. */
const REMOVE_PAST_RUNS = `DELETE FROM acl_runs WHERE at < $1
  AND id < (SELECT max(id) FROM acl_runs WHERE outcome IN ('applied', 'no_change') AND NOT is_restore)`;

@Injectable()
export class PostgresPublicationHistory extends PublicationHistory {
  constructor(private readonly session: DatabaseSession) {
    super();
  }

  override async settle({ text, written }: Pick<LiveRules, 'text' | 'written'>, at: Date): Promise<void> {
    await this.session.run(async () => {
      await this.session.query(
        `UPDATE acl_publications SET state = 'published', published_at = $2
          WHERE version = (SELECT max(version) FROM acl_publications WHERE state <> 'published' AND version > ${NEWEST}
                            AND (text = $1 OR (version = $3 AND hash = $4)))`,
        [text?.includes('\0') ? null : text, at, written?.generation, written?.hash], // NUL is in no version, nor in any value of PostgreSQL
      );
      await this.session.query(`UPDATE acl_publications SET state = 'abandoned' WHERE state = 'begun'`);
    });
  }

  override async begin(draft: PublicationDraft): Promise<number> {
    await this.session.query(
      `SELECT setval('acl_publications_version_seq', $1) FROM acl_publications_version_seq
        WHERE $1 > 0 AND (last_value < $1 OR NOT is_called)`,
      [draft.after],
    );
    const [names, parameters, values] = insertion(draftRow(draft));
    const insert = `INSERT INTO acl_publications (state, is_reported, ${names}) VALUES ('begun', false, ${parameters}) RETURNING version`;
    return (await this.session.oneRow<{ version: number }>(insert, values)).version;
  }

  override async newest(): Promise<number> {
    const select = 'SELECT coalesce(max(version), 0) AS newest FROM acl_publications';
    return (await this.session.oneRow<{ newest: number }>(select)).newest;
  }

  override async confirm(version: number, at: Date): Promise<Publication> {
    const update = `UPDATE acl_publications SET state = 'published', published_at = $2 WHERE version = $1 AND state = 'begun'`;
    await this.session.query(update, [version, at]);
    const publication = await this.find(version);
    if (publication === null) throw new Error(`publication ${version} was not begun`);
    return publication;
  }

  override async latest(): Promise<Publication | null> {
    return this.findWhole('ORDER BY p.version DESC LIMIT 1');
  }

  override baseline(): Promise<Baseline | null> {
    return this.session.firstRow<Baseline>(
      `SELECT p.text, p.hash, p.snapshot, p.snapshot_at AS at, p.trail_position AS position, p.compiler,
              p.is_found AS "isFound",
              array(SELECT a.hash FROM acl_approvals a WHERE a.after_version = p.version) AS approved
         FROM acl_publications p WHERE p.version = (${BASELINE})`,
    );
  }

  override async approve(hash: string, by: number | null, at: Date): Promise<void> {
    await this.session.query(
      `INSERT INTO acl_approvals (after_version, hash, approved_by, approved_at)
       SELECT version, $1, $2, $3 FROM (${BASELINE}) AS baseline(version) WHERE version IS NOT NULL ON CONFLICT DO NOTHING`,
      [hash, by, at],
    );
  }

  override async find(version: number): Promise<Publication | null> {
    return this.findWhole('AND p.version = $1', [version]);
  }

  private async findWhole(which: string, values?: number[]): Promise<Publication | null> {
    const row = await this.session.firstRow<Row<Publication>>(`SELECT ${WHOLE} ${PUBLISHED} ${which}`, values);
    return row && withMoment(row);
  }

  override async list({ limit, after }: HistoryPage): Promise<Page<PublicationSummary>> {
    return pageOf(await this.listVersions(after, limit), limit, keyOfEntry);
  }

  override async listWithRuns({ limit, after }: HistoryPage): Promise<Page<PublicationSummary | PastRun>> {
    const place = [after?.version ?? null, after?.run ?? null];
    const runs = await this.session.query<PastRun>(PAST_RUNS, [...place, limit + 1]);
    const entries = [...(await this.listVersions(after, limit)), ...runs].sort(compareHistory);
    return pageOf(entries, limit, keyOfEntry);
  }

  /** Versions below a position, one more than the page holds. */
  private async listVersions(below: HistoryPosition | null, limit: number): Promise<PublicationSummary[]> {
    const rows = await this.session.query<Row<PublicationSummary>>(
      `SELECT ${LISTED} ${PUBLISHED} AND ($1::integer IS NULL OR (p.version, 0) < ($1, $2::bigint)) ORDER BY p.version DESC LIMIT $3`,
      [below?.version ?? null, below?.run ?? null, limit + 1],
    );
    return rows.map(withMoment);
  }

  override async markLive(version: number, at: Date): Promise<void> {
    const update = 'UPDATE acl_publications SET live_at = coalesce(live_at, $2), broken_at = NULL WHERE version = $1';
    await this.session.query(update, [version, at]);
  }

  override async markBroken(version: number, at: Date): Promise<void> {
    await this.session.query(
      `UPDATE acl_publications p SET broken_at = $2
        WHERE p.version = $1 AND p.broken_at IS NULL
          AND NOT EXISTS (SELECT FROM acl_publications o WHERE o.hash = p.hash AND o.live_at IS NOT NULL)`,
      [version, at],
    );
  }

  override async isBroken(hash: string): Promise<boolean> {
    const broken = 'SELECT FROM acl_publications WHERE hash = $1 AND broken_at IS NOT NULL LIMIT 1';
    return (await this.session.firstRow(broken, [hash])) !== null;
  }

  override async endRestore(version: number, how: RestoreEnd): Promise<void> {
    await this.session.query(
      `UPDATE acl_publications SET restore_ended = $2
        WHERE version = $1 AND restored_version IS NOT NULL AND restore_ended IS NULL`,
      [version, how],
    );
  }

  override async record(run: Run): Promise<void> {
    const [names, parameters, values] = insertion(runRow(run));
    await this.session.query(
      `INSERT INTO acl_runs (after_version, ${names}) VALUES (${NEWEST}, ${parameters})`,
      values,
    );
    await this.session.query(
      `DELETE FROM acl_runs WHERE outcome = 'no_change' AND at < $1::timestamptz - interval '7 days'`,
      [run.at],
    );
  }

  override async takeUnreported(): Promise<UnreportedPublication[]> {
    const rows = await this.session.query<UnreportedRow>(
      `WITH taken AS (UPDATE acl_publications SET is_reported = true WHERE state = 'published' AND NOT is_reported RETURNING version)
       SELECT ${WHOLE}, p.is_written AS "isWritten",
              (SELECT max(f.version) FROM acl_publications f WHERE f.state = 'published' AND f.version < p.version) AS former
         FROM taken t JOIN acl_publications p ON p.version = t.version LEFT JOIN users u ON u.id = p.triggered_by
        ORDER BY p.version`,
    );
    const unreported: UnreportedPublication[] = [];
    for (const { former, isWritten, ...row } of rows) {
      const restored = former === null ? null : ((await this.find(former))?.restored ?? null);
      const formerRestore = restored && former !== null ? { ...restored, publication: former } : null;
      unreported.push({ publication: withMoment(row), isWritten, formerRestore });
    }
    return unreported;
  }

  override async removePast(before: Date, versions: number): Promise<number> {
    await this.session.query(REMOVE_PAST_RUNS, [before]);
    const remove = `SELECT remove_past_publications(array(${PAST_VERSIONS})) AS removed`;
    return (await this.session.oneRow<{ removed: number }>(remove, [before, versions])).removed;
  }

  override async summary(): Promise<RunSummary> {
    const last = await this.session.firstRow<RunRow>(LAST_RUN);
    const since = await this.session.oneRow<Pick<RunSummary, 'lastSuccessAt' | 'refusedSince' | 'failedSince'>>(
      `WITH success AS NOT MATERIALIZED (SELECT id, at, is_restore FROM acl_runs WHERE outcome IN ('applied', 'no_change'))
       SELECT (SELECT at FROM success ORDER BY id DESC LIMIT 1) AS "lastSuccessAt",
              (SELECT min(at) FROM acl_runs WHERE outcome = 'refused' AND NOT is_restore
                 AND id > coalesce((SELECT id FROM success WHERE NOT is_restore ORDER BY id DESC LIMIT 1), 0)) AS "refusedSince",
              (SELECT min(at) FROM acl_runs WHERE outcome = 'failed'
                 AND id > coalesce((SELECT max(id) FROM acl_runs WHERE outcome <> 'failed'), 0)) AS "failedSince"`,
    );
    const live = await this.session.firstRow<NonNullable<RunSummary['live']>>(
      `SELECT hash, live_at AS "confirmedAt" FROM acl_publications WHERE live_at IS NOT NULL ORDER BY version DESC LIMIT 1`,
    );
    const databaseBehind = await this.session.firstRow<NonNullable<RunSummary['databaseBehind']>>(
      `SELECT version, hash, published_at AS "foundAt" FROM acl_publications
        WHERE version = (SELECT max(version) FROM acl_publications WHERE is_found) AND version = (${BASELINE})`,
    );
    return { last: last && toRun(last), ...since, databaseBehind, live };
  }
}
