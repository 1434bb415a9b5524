import { Injectable } from '@nestjs/common';
import { type Page, type PageRequest, pageOf } from '../../kernel/page.js';
import { DatabaseSession } from '../../platform/database/database-session.js';
import { compareHistory, cursorAfter, type HistoryPage, type HistoryPosition } from '../domain/history-position.js';
import {
  type PublicationDraft,
  PublicationHistory,
  type RunSummary,
  type UnreportedPublication,
} from '../domain/publication-history.js';
import type { PastRun, Publication, PublicationSummary, Run } from '../domain/publication.js';
import type { RestoreEnd } from '../domain/restore.js';
import type { LiveRules } from '../domain/rules-target.js';
import type { Baseline } from '../domain/unexplained-change.js';
import {
  draftRow,
  ENTRIES,
  insertion,
  LAST_RUN,
  PAST_RUNS,
  type PublicationRow,
  PUBLISHED,
  restorable,
  runRow,
  type RunRow,
  LISTED,
  type SummaryRow,
  toRun,
  type UnreportedRow,
  WHOLE,
} from './publication-rows.js';

const NEWEST = `(SELECT coalesce(max(version), 0) FROM acl_publications WHERE state = 'published')`;

const BASELINE = `SELECT max(version) FROM acl_publications
  WHERE state = 'published' AND NOT is_withdrawal AND restored_version IS NULL
    AND (is_found OR (broken_at IS NULL AND (live_at IS NOT NULL
         OR version > (SELECT coalesce(max(version), 0) FROM acl_publications WHERE broken_at IS NOT NULL))))`;

/** So many at a time: each may hold two mebibytes. */
const BATCH = 500;

/** Versions that nothing needs any more. $1: the time from which on versions are kept; $2: how many of the newest are. */
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

/** The status needs the last run that went well, and all since. */
const REMOVE_PAST_RUNS = `DELETE FROM acl_runs WHERE at < $1
  AND id < (SELECT max(id) FROM acl_runs WHERE outcome IN ('applied', 'no_change') AND NOT is_restore)`;

@Injectable()
export class PostgresPublicationHistory extends PublicationHistory {
  constructor(private readonly session: DatabaseSession) {
    super();
  }

  override async settle({ text, written }: Pick<LiveRules, 'text' | 'written'>, at: Date): Promise<void> {
    await this.session.run(async () => {
      await this.session.manager.query(
        `UPDATE acl_publications SET state = 'published', published_at = $2
          WHERE version = (SELECT max(version) FROM acl_publications WHERE state <> 'published' AND version > ${NEWEST}
                            AND (text = $1 OR (version = $3 AND hash = $4)))`,
        [text?.includes('\0') ? null : text, at, written?.generation, written?.hash], // NUL is in no version, nor in any value of PostgreSQL
      );
      await this.session.manager.query(`UPDATE acl_publications SET state = 'abandoned' WHERE state = 'begun'`);
    });
  }

  override async begin(draft: PublicationDraft): Promise<number> {
    await this.session.manager.query(
      `SELECT setval('acl_publications_version_seq', $1) FROM acl_publications_version_seq
        WHERE $1 > 0 AND (last_value < $1 OR NOT is_called)`,
      [draft.after],
    );
    const row = draftRow(draft);
    const { names, values } = insertion(row);
    const [{ version }] = await this.session.manager.query<[{ version: number }]>(
      `INSERT INTO acl_publications (state, is_reported, ${names}) VALUES ('begun', false, ${values}) RETURNING version`,
      Object.values(row),
    );
    return version;
  }

  override async newest(): Promise<number> {
    const [{ newest }] = await this.session.manager.query<[{ newest: number }]>(
      'SELECT coalesce(max(version), 0) AS newest FROM acl_publications',
    );
    return newest;
  }

  override async confirm(version: number, at: Date): Promise<Publication> {
    await this.session.manager.query(
      `UPDATE acl_publications SET state = 'published', published_at = $2 WHERE version = $1 AND state = 'begun'`,
      [version, at],
    );
    const publication = await this.find(version);
    if (publication === null) throw new Error(`publication ${version} was not begun`);
    return publication;
  }

  override async latest(): Promise<Publication | null> {
    const [row] = await this.session.manager.query<PublicationRow[]>(
      `SELECT ${WHOLE} ${PUBLISHED} ORDER BY p.version DESC LIMIT 1`,
    );
    return row === undefined ? null : restorable(row);
  }

  override async baseline(): Promise<Baseline | null> {
    const [baseline = null] = await this.session.manager.query<Baseline[]>(
      `SELECT p.text, p.hash, p.snapshot, p.snapshot_at AS at, p.trail_position AS position, p.compiler,
              p.is_found AS "isFound",
              array(SELECT a.hash FROM acl_approvals a WHERE a.after_version = p.version) AS approved
         FROM acl_publications p WHERE p.version = (${BASELINE})`,
    );
    return baseline;
  }

  override async approve(hash: string, by: number | null, at: Date): Promise<void> {
    await this.session.manager.query(
      `INSERT INTO acl_approvals (after_version, hash, approved_by, approved_at)
       SELECT version, $1, $2, $3 FROM (${BASELINE}) AS baseline(version) WHERE version IS NOT NULL ON CONFLICT DO NOTHING`,
      [hash, by, at],
    );
  }

  override async find(version: number): Promise<Publication | null> {
    const [row] = await this.session.manager.query<PublicationRow[]>(
      `SELECT ${WHOLE} ${PUBLISHED} AND p.version = $1`,
      [version],
    );
    return row === undefined ? null : restorable(row);
  }

  override async list({ limit, after }: PageRequest): Promise<Page<PublicationSummary>> {
    const rows = await this.session.manager.query<SummaryRow[]>(
      `SELECT ${LISTED} ${PUBLISHED} AND ($1::integer IS NULL OR p.version < $1) ORDER BY p.version DESC LIMIT $2`,
      [after, limit + 1],
    );
    return pageOf(rows.map(restorable), limit, ({ version }) => version);
  }

  override async listWithRuns(page: HistoryPage): Promise<Page<PublicationSummary | PastRun>> {
    const { manager } = this.session;
    const terms = [page.after?.version ?? null, page.after?.run ?? null, page.limit + 1];
    const places = await manager.query<HistoryPosition[]>(ENTRIES, terms);
    const versions = places.filter(({ run }) => run === 0).map(({ version }) => version);
    const runs = places.filter(({ run }) => run > 0).map(({ run }) => run);
    const summaries = await manager.query<SummaryRow[]>(`SELECT ${LISTED} ${PUBLISHED} AND p.version = ANY($1)`, [
      versions,
    ]);
    const past = await manager.query<PastRun[]>(PAST_RUNS, [runs]);
    const entries = [...summaries.map(restorable), ...past].sort(compareHistory);
    return pageOf(entries, page.limit, cursorAfter);
  }

  override async markLive(version: number, at: Date): Promise<void> {
    await this.session.manager.query(
      'UPDATE acl_publications SET live_at = coalesce(live_at, $2), broken_at = NULL WHERE version = $1',
      [version, at],
    );
  }

  override async markBroken(version: number, at: Date): Promise<void> {
    await this.session.manager.query(
      `UPDATE acl_publications p SET broken_at = $2
        WHERE p.version = $1 AND p.broken_at IS NULL
          AND NOT EXISTS (SELECT FROM acl_publications o WHERE o.hash = p.hash AND o.live_at IS NOT NULL)`,
      [version, at],
    );
  }

  override async isBroken(hash: string): Promise<boolean> {
    const rows = await this.session.manager.query<unknown[]>(
      'SELECT FROM acl_publications WHERE hash = $1 AND broken_at IS NOT NULL LIMIT 1',
      [hash],
    );
    return rows.length > 0;
  }

  override async endRestore(version: number, how: RestoreEnd): Promise<void> {
    await this.session.manager.query(
      `UPDATE acl_publications SET restore_ended = $2
        WHERE version = $1 AND restored_version IS NOT NULL AND restore_ended IS NULL`,
      [version, how],
    );
  }

  override async record(run: Run): Promise<void> {
    const row = runRow(run);
    const { names, values } = insertion(row);
    await this.session.manager.query(
      `INSERT INTO acl_runs (after_version, ${names}) VALUES (${NEWEST}, ${values})`,
      Object.values(row),
    );
    await this.session.manager.query(
      `DELETE FROM acl_runs WHERE outcome = 'no_change' AND at < $1::timestamptz - interval '7 days'`,
      [run.at],
    );
  }

  override async takeUnreported(): Promise<UnreportedPublication[]> {
    const rows = await this.session.manager.query<UnreportedRow[]>(
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
      unreported.push({ publication: restorable(row), isWritten, formerRestore });
    }
    return unreported;
  }

  override async removePast(before: Date, versions: number): Promise<number> {
    await this.session.manager.query(REMOVE_PAST_RUNS, [before]);
    const [{ removed }] = await this.session.manager.query<[{ removed: number }]>(
      `SELECT remove_past_publications(array(${PAST_VERSIONS})) AS removed`,
      [before, versions],
    );
    return removed;
  }

  override async summary(): Promise<RunSummary> {
    const [last] = await this.session.manager.query<RunRow[]>(LAST_RUN);
    const [since] = await this.session.manager.query<
      [Pick<RunSummary, 'lastSuccessAt' | 'refusedSince' | 'failedSince'>]
    >(
      `WITH success AS NOT MATERIALIZED (SELECT id, at, is_restore FROM acl_runs WHERE outcome IN ('applied', 'no_change'))
       SELECT (SELECT at FROM success ORDER BY id DESC LIMIT 1) AS "lastSuccessAt",
              (SELECT min(at) FROM acl_runs WHERE outcome = 'refused' AND NOT is_restore
                 AND id > coalesce((SELECT id FROM success WHERE NOT is_restore ORDER BY id DESC LIMIT 1), 0)) AS "refusedSince",
              (SELECT min(at) FROM acl_runs WHERE outcome = 'failed'
                 AND id > coalesce((SELECT max(id) FROM acl_runs WHERE outcome <> 'failed'), 0)) AS "failedSince"`,
    );
    const [live = null] = await this.session.manager.query<NonNullable<RunSummary['live']>[]>(
      `SELECT hash, live_at AS "confirmedAt" FROM acl_publications WHERE live_at IS NOT NULL ORDER BY version DESC LIMIT 1`,
    );
    const [databaseBehind = null] = await this.session.manager.query<NonNullable<RunSummary['databaseBehind']>[]>(
      `SELECT version, hash, published_at AS "foundAt" FROM acl_publications
        WHERE version = (SELECT max(version) FROM acl_publications WHERE is_found) AND version = (${BASELINE})`,
    );
    return { last: last === undefined ? null : toRun(last), ...since, databaseBehind, live };
  }
}
