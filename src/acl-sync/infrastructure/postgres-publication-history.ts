import { Injectable } from '@nestjs/common';
import { type Page, pageOf } from '../../kernel/page.js';
import { DatabaseSession } from '../../platform/database/database-session.js';
import type { Finding } from '../../trino-rules/document/finding.js';
import {
  compareHistory,
  type HistoryPage,
  type HistoryPosition,
  type KnownAccess,
  keyOfEntry,
  type MadeFrom,
  type PublicationDraft,
  PublicationHistory,
  type RecentVersion,
  type RunSummary,
  type UnreportedPublication,
} from '../domain/publication-history.js';
import type { PastRun, Publication, PublicationSummary, Run } from '../domain/publication.js';
import type { RecordedRestore, RestoreEnd } from '../domain/restore.js';
import type { LiveRules } from '../domain/rules-target.js';
import type { Baseline } from '../domain/unexplained-change.js';

type DbRow<T extends Pick<Publication, 'restored'>> = Omit<T, 'restored'> & {
  restored: (Omit<RecordedRestore, 'until'> & { until: string }) | null;
};

/** A published version that was not reported yet. `former`: the number of the published version before it. */
type UnreportedRow = DbRow<Publication> & { isWritten: boolean; former: number | null };

interface RunRow extends Omit<Run, 'drift' | 'waiting'> {
  drift: { found_at: string; text_hash: string | null; overwritten: boolean } | null;
  waiting: { hash: string; since: string; reasons: Finding[] } | null;
}

/** The account `u` that caused a version or a run `p`, as JSON. */
const CAUSING_ACCOUNT = `CASE WHEN p.triggered_by IS NOT NULL
    THEN json_build_object('id', p.triggered_by, 'name', coalesce(u.username, '')) END`;

const SUMMARY_COLUMNS = `p.version, p.hash, p.rules, p.bytes, p.checks, p.trigger, p.compiler, p.snapshot_hash AS "snapshotHash",
  p.snapshot_at AS "snapshotAt", p.is_withdrawal AS "isWithdrawal", p.is_found AS "isFound", p.first_step_of AS "firstStepOf", p.changed_at AS "changedAt",
  p.published_at AS "publishedAt", p.live_at AS "liveAt", p.broken_at AS "brokenAt",
  ${CAUSING_ACCOUNT} AS "triggeredBy",
  CASE WHEN p.edit IS NOT NULL THEN json_build_object('textHash', p.edit->>'text_hash') END AS edit,
  CASE WHEN p.restored_version IS NOT NULL THEN json_build_object('version', p.restored_version, 'until', p.restored_until,
    'reason', p.restore_reason, 'ended', p.restore_ended) END AS restored`;

const SUMMARY_WITH_COUNTS = `${SUMMARY_COLUMNS}, CASE WHEN p.access IS NOT NULL
  THEN json_build_object('gainedInAll', p.access->'gainedInAll', 'lostInAll', p.access->'lostInAll',
    'peopleGaining', p.access->'peopleGaining', 'peopleLosing', p.access->'peopleLosing', 'changedPairs', p.access->'changedPairs')
  END AS access`;

const COLUMNS = `${SUMMARY_COLUMNS}, p.text, p.diff, p.access`;

const FROM_PUBLISHED = `FROM acl_publications p LEFT JOIN users u ON u.id = p.triggered_by WHERE p.state = 'published'`;

const LAST_RUN = `SELECT p.at, p.trigger, ${CAUSING_ACCOUNT} AS "triggeredBy", p.outcome, p.is_restore AS "isRestore", p.reasons, p.drift, p.waiting, p.targets
  FROM acl_runs p LEFT JOIN users u ON u.id = p.triggered_by ORDER BY p.id DESC LIMIT 1`;

/** Refused and failed runs below the position $1, $2; of consecutive runs with equal reasons only the first. $3: limit. */
const PAST_RUNS = `SELECT p.id::float AS id, p.after_version AS "afterVersion", p.at, p.trigger,
    ${CAUSING_ACCOUNT} AS "triggeredBy", p.outcome, p.reasons
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
    diff: jsonText(draft.diff),
    access: jsonText(draft.access),
    is_withdrawal: draft.isWithdrawal,
    is_found: draft.isFound,
    first_step_of: draft.firstStepOf,
    checks: jsonText(draft.checks),
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
    edit: jsonText(draft.edit && { text_hash: draft.edit.textHash }),
    is_written: draft.isWritten,
  };
}

function runRow({ at, trigger, triggeredBy, outcome, isRestore, reasons, drift, waiting, targets }: Run) {
  return {
    at,
    trigger,
    triggered_by: triggeredBy?.id ?? null,
    outcome,
    is_restore: isRestore,
    reasons: JSON.stringify(reasons),
    drift: jsonText(drift && { found_at: drift.foundAt, text_hash: drift.textHash, overwritten: drift.overwritten }),
    waiting: jsonText(waiting),
    targets: JSON.stringify(targets),
  };
}

function insertClauses(row: object): [names: string, parameters: string, values: unknown[]] {
  const names = Object.keys(row);
  return [names.join(', '), names.map((_, index) => `$${index + 1}`).join(', '), Object.values(row)];
}

function withRestoreDate<T extends DbRow<Pick<Publication, 'restored'>>>({ restored, ...row }: T) {
  return { ...row, restored: restored && { ...restored, until: new Date(restored.until) } };
}

function toRun({ drift, waiting, ...run }: RunRow): Run {
  return {
    ...run,
    drift: drift && { foundAt: new Date(drift.found_at), textHash: drift.text_hash, overwritten: drift.overwritten },
    waiting: waiting && { ...waiting, since: new Date(waiting.since) },
  };
}

function jsonText(value: unknown): string | null {
  return value === null ? null : JSON.stringify(value);
}

const NEWEST_PUBLISHED = `(SELECT coalesce(max(version), 0) FROM acl_publications WHERE state = 'published')`;

const BASELINE_VERSION = `SELECT max(version) FROM acl_publications
  WHERE state = 'published' AND NOT is_withdrawal AND restored_version IS NULL AND first_step_of IS NULL
    AND (is_found OR (broken_at IS NULL AND (live_at IS NOT NULL
         OR version > (SELECT coalesce(max(version), 0) FROM acl_publications WHERE broken_at IS NOT NULL))))`;

/** The version whose snapshot gives the access of version `p`: the first version in the chain of restores that ends with `p`. */
const GIVING_ACCESS = `(WITH RECURSIVE giving AS (
    SELECT p.version, p.restored_version
    UNION ALL SELECT o.version, o.restored_version FROM giving g JOIN acl_publications o ON o.version = g.restored_version)
  SELECT min(version) FROM giving)`;

/** The most versions removed at a time, because each may have two mebibytes. */
const MAX_REMOVED_VERSIONS = 500;

/** Versions to remove: older than the version in force at time $1, and older than the newest $2 versions. Versions that later runs still read are kept. */
const PAST_VERSIONS = `SELECT p.version FROM acl_publications p
  WHERE p.version < least(
          (SELECT coalesce(max(version), 0) FROM acl_publications WHERE state = 'published' AND published_at <= $1),
          coalesce((SELECT version FROM acl_publications WHERE state = 'published'
                     ORDER BY version DESC OFFSET $2::integer - 1 LIMIT 1), 0))
    AND p.broken_at IS NULL AND (p.is_reported OR p.state <> 'published')
    AND p.version NOT IN (SELECT coalesce((${BASELINE_VERSION}), 0)
      UNION ALL SELECT coalesce(max(version), 0) FROM acl_publications WHERE live_at IS NOT NULL
      UNION ALL SELECT coalesce(max(version), 0) FROM acl_publications
                 WHERE live_at IS NOT NULL AND NOT is_withdrawal AND restored_version IS NULL
                   AND first_step_of IS NULL AND broken_at IS NULL)
    AND NOT EXISTS (SELECT FROM acl_publications r WHERE r.restored_version = p.version)
  ORDER BY p.version LIMIT ${MAX_REMOVED_VERSIONS}`;

/** Removes runs before $1, but keeps the newest runs, which the status needs. */
const REMOVE_PAST_RUNS = `DELETE FROM acl_runs WHERE at < $1
  AND id < (SELECT max(id) FROM acl_runs WHERE outcome IN ('applied', 'no_change') AND NOT is_restore)`;

@Injectable()
export class PostgresPublicationHistory extends PublicationHistory {
  constructor(private readonly session: DatabaseSession) {
    super();
  }

  override async settleBegun(liveRules: readonly Pick<LiveRules, 'text' | 'namedVersion'>[], at: Date): Promise<void> {
    // PostgreSQL cannot store NUL, so a text with NUL is no recorded version.
    const texts = liveRules.flatMap(({ text }) => (text === null || text.includes('\0') ? [] : [text]));
    const namedVersions = liveRules.flatMap((each) => each.namedVersion ?? []);
    await this.session.run(async () => {
      await this.session.query(
        `UPDATE acl_publications SET state = 'published', published_at = $2
          WHERE version = (SELECT max(version) FROM acl_publications WHERE state <> 'published' AND version > ${NEWEST_PUBLISHED}
                            AND (text = ANY ($1) OR (version, hash) IN (SELECT * FROM unnest($3::integer[], $4::text[]))))`,
        [texts, at, namedVersions.map(({ generation }) => generation), namedVersions.map(({ hash }) => hash)],
      );
      await this.session.query(`UPDATE acl_publications SET state = 'abandoned' WHERE state = 'begun'`);
    });
  }

  override async beginVersion(draft: PublicationDraft): Promise<number> {
    await this.session.query(
      `SELECT setval('acl_publications_version_seq', $1) FROM acl_publications_version_seq
        WHERE $1 > 0 AND (last_value < $1 OR NOT is_called)`,
      [draft.highestNamed],
    );
    const [names, parameters, values] = insertClauses(draftRow(draft));
    const insert = `INSERT INTO acl_publications (state, is_reported, ${names}) VALUES ('begun', false, ${parameters}) RETURNING version`;
    return (await this.session.oneRow<{ version: number }>(insert, values)).version;
  }

  override async highestVersion(): Promise<number> {
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
    return this.findFullVersion('ORDER BY p.version DESC LIMIT 1');
  }

  override baseline(): Promise<Baseline | null> {
    return this.session.firstRow<Baseline>(
      `SELECT p.text, p.hash, coalesce(p.later_snapshot, p.snapshot) AS snapshot, coalesce(p.later_snapshot_at, p.snapshot_at) AS at,
              coalesce(p.later_trail_position, p.trail_position) AS position, coalesce(p.later_compiler, p.compiler) AS compiler,
              p.is_found AS "isFound",
              array(SELECT a.hash FROM acl_approvals a WHERE a.after_version = p.version) AS approved
         FROM acl_publications p WHERE p.version = (${BASELINE_VERSION})`,
    );
  }

  override async approve(hash: string, approverId: number | null, at: Date): Promise<void> {
    await this.session.query(
      `INSERT INTO acl_approvals (after_version, hash, approved_by, approved_at)
       SELECT version, $1, $2, $3 FROM (${BASELINE_VERSION}) AS baseline(version) WHERE version IS NOT NULL ON CONFLICT DO NOTHING`,
      [hash, approverId, at],
    );
  }

  override async addLaterSnapshot(version: number, made: MadeFrom): Promise<void> {
    const { snapshot, snapshotHash, at, position, compiler } = made;
    await this.session.query(
      `UPDATE acl_publications SET later_snapshot = $2, later_snapshot_hash = $3, later_snapshot_at = $4,
              later_trail_position = $5, later_compiler = $6
        WHERE version = $1 AND (coalesce(later_snapshot_hash, snapshot_hash), coalesce(later_compiler, compiler)) <> ($3, $6)`,
      [version, snapshot, snapshotHash, at, position, compiler],
    );
  }

  override publishedSince(time: Date): Promise<RecentVersion[]> {
    return this.session.query<RecentVersion>(
      `SELECT text, published_at AS "publishedAt", live_at AS "liveAt" FROM acl_publications
        WHERE state = 'published' AND version >= (SELECT coalesce(max(version), 0) FROM acl_publications
                                                   WHERE state = 'published' AND published_at <= $1)
        ORDER BY version`,
      [time],
    );
  }

  override async find(version: number): Promise<Publication | null> {
    return this.findFullVersion('AND p.version = $1', [version]);
  }

  override async hashOf(version: number): Promise<string | null> {
    const select = 'SELECT hash FROM acl_publications WHERE version = $1';
    return (await this.session.firstRow<{ hash: string }>(select, [version]))?.hash ?? null;
  }

  override newestAccess(): Promise<KnownAccess | null> {
    return this.session.firstRow<KnownAccess>(
      `SELECT p.version, s.snapshot_hash AS "snapshotHash" FROM acl_publications p
         JOIN acl_publications s ON s.version = ${GIVING_ACCESS}
        WHERE p.version = (SELECT max(version) FROM acl_publications WHERE state = 'published')
          AND NOT EXISTS (SELECT FROM acl_publications f WHERE f.is_found AND f.version = (${BASELINE_VERSION}))`,
    );
  }

  override async isContradicted({ version, snapshotHash }: KnownAccess): Promise<boolean> {
    const otherVersion = await this.session.firstRow(
      `SELECT FROM acl_publications p JOIN acl_publications s ON s.version = ${GIVING_ACCESS}
        WHERE p.version = $1 AND left(s.snapshot_hash, 12) <> $2
          AND p.version > (SELECT coalesce(max(version), 0) FROM acl_publications WHERE is_found)`,
      [version, snapshotHash],
    );
    return otherVersion !== null;
  }

  override async accessSnapshot(version: number): Promise<string | null> {
    const row = await this.session.firstRow<{ snapshot: string }>(
      `SELECT s.snapshot FROM acl_publications p JOIN acl_publications s ON s.version = ${GIVING_ACCESS} AND NOT s.is_found
        WHERE p.version = $1`,
      [version],
    );
    return row?.snapshot ?? null;
  }

  private async findFullVersion(where: string, values?: number[]): Promise<Publication | null> {
    const row = await this.session.firstRow<DbRow<Publication>>(`SELECT ${COLUMNS} ${FROM_PUBLISHED} ${where}`, values);
    return row && withRestoreDate(row);
  }

  override async list({ limit, after }: HistoryPage): Promise<Page<PublicationSummary>> {
    return pageOf(await this.listVersions(after, limit), limit, keyOfEntry);
  }

  override async listWithRuns({ limit, after }: HistoryPage): Promise<Page<PublicationSummary | PastRun>> {
    const position = [after?.version ?? null, after?.run ?? null];
    const runs = await this.session.query<PastRun>(PAST_RUNS, [...position, limit + 1]);
    const entries = [...(await this.listVersions(after, limit)), ...runs].sort(compareHistory);
    return pageOf(entries, limit, keyOfEntry);
  }

  /** Versions below a position. Reads one more than the page holds, to show whether another page follows. */
  private async listVersions(belowPosition: HistoryPosition | null, limit: number): Promise<PublicationSummary[]> {
    const rows = await this.session.query<DbRow<PublicationSummary>>(
      `SELECT ${SUMMARY_WITH_COUNTS} ${FROM_PUBLISHED} AND ($1::integer IS NULL OR (p.version, 0) < ($1, $2::bigint)) ORDER BY p.version DESC LIMIT $3`,
      [belowPosition?.version ?? null, belowPosition?.run ?? null, limit + 1],
    );
    return rows.map(withRestoreDate);
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
    const select = 'SELECT FROM acl_publications WHERE hash = $1 AND broken_at IS NOT NULL LIMIT 1';
    return (await this.session.firstRow(select, [hash])) !== null;
  }

  override async endRestore(version: number, restoreEnd: RestoreEnd): Promise<void> {
    await this.session.query(
      `UPDATE acl_publications SET restore_ended = $2
        WHERE version = $1 AND restored_version IS NOT NULL AND restore_ended IS NULL`,
      [version, restoreEnd],
    );
  }

  override async record(run: Run): Promise<void> {
    const [names, parameters, values] = insertClauses(runRow(run));
    await this.session.query(
      `INSERT INTO acl_runs (after_version, ${names}) VALUES (${NEWEST_PUBLISHED}, ${parameters})`,
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
       SELECT ${COLUMNS}, p.is_written AS "isWritten",
              (SELECT max(f.version) FROM acl_publications f WHERE f.state = 'published' AND f.version < p.version) AS former
         FROM taken t JOIN acl_publications p ON p.version = t.version LEFT JOIN users u ON u.id = p.triggered_by
        ORDER BY p.version`,
    );
    const unreportedVersions: UnreportedPublication[] = [];
    for (const { former, isWritten, ...row } of rows) {
      const restored = former === null ? null : ((await this.find(former))?.restored ?? null);
      const formerRestore = restored && former !== null ? { ...restored, publication: former } : null;
      unreportedVersions.push({ publication: withRestoreDate(row), isWritten, formerRestore });
    }
    return unreportedVersions;
  }

  override async removePast(beforeDate: Date, keptCount: number): Promise<number> {
    await this.session.query(REMOVE_PAST_RUNS, [beforeDate]);
    const removeStatement = `SELECT remove_past_publications(array(${PAST_VERSIONS})) AS removed`;
    return (await this.session.oneRow<{ removed: number }>(removeStatement, [beforeDate, keptCount])).removed;
  }

  override async summary(): Promise<RunSummary> {
    const lastRun = await this.session.firstRow<RunRow>(LAST_RUN);
    const sinceTimes = await this.session.oneRow<Pick<RunSummary, 'lastSuccessAt' | 'refusedSince' | 'failedSince'>>(
      `WITH success AS NOT MATERIALIZED (SELECT id, at, is_restore FROM acl_runs WHERE outcome IN ('applied', 'no_change'))
       SELECT (SELECT at FROM success ORDER BY id DESC LIMIT 1) AS "lastSuccessAt",
              (SELECT min(at) FROM acl_runs WHERE outcome = 'refused' AND NOT is_restore
                 AND id > coalesce((SELECT id FROM success WHERE NOT is_restore ORDER BY id DESC LIMIT 1), 0)) AS "refusedSince",
              (SELECT min(at) FROM acl_runs WHERE outcome = 'failed'
                 AND id > coalesce((SELECT max(id) FROM acl_runs WHERE outcome <> 'failed'), 0)) AS "failedSince"`,
    );
    const liveVersion = await this.session.firstRow<NonNullable<RunSummary['live']>>(
      `SELECT version, snapshot_hash AS "snapshotHash", hash, live_at AS "confirmedAt" FROM acl_publications WHERE live_at IS NOT NULL ORDER BY version DESC LIMIT 1`,
    );
    const databaseBehind = await this.session.firstRow<NonNullable<RunSummary['databaseBehind']>>(
      `SELECT version, hash, published_at AS "foundAt" FROM acl_publications
        WHERE version = (SELECT max(version) FROM acl_publications WHERE is_found) AND version = (${BASELINE_VERSION})`,
    );
    return { lastRun: lastRun && toRun(lastRun), ...sinceTimes, databaseBehind, live: liveVersion };
  }
}
