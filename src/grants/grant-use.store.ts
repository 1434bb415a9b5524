import { Injectable } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import { Clock } from '../kernel/clock.js';
import { Refused } from '../kernel/errors.js';
import { type Page, pageOf, type PageRequest } from '../kernel/page.js';
import { columnArrays, DatabaseSession } from '../platform/database/database-session.js';
import { Log } from '../platform/log/log.js';
import { Settings } from '../platform/settings/settings.js';
import type { Grant } from './domain/grant.js';
import type { NodeUse } from './domain/grant-use.js';
import { SELECT_GRANTS } from './grant.store.js';

/** SQL for the day in UTC of a moment. Decisions are counted by these days. */
const dayOf = (moment: string): string => `(${moment}::timestamptz AT TIME ZONE 'UTC')::date`;

/**
 * Adds decisions to the counts of the grants that allowed them. Names that nobody holds are left out, so that invented names do not fill the
 * table. Rows are written in one order, so that two replicas do not deadlock.
 */
const INSERT_USES = `
  WITH asked AS (
    SELECT * FROM unnest($1::text[], $2::timestamptz[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::bigint[])
      AS row (person, at, kind, catalog, schema, name, other, privileges, decisions)
  ), known AS (
    SELECT n.name, u.id, ARRAY (SELECT group_id FROM group_members WHERE user_id = u.id OR engine_name = n.name) AS groups
      FROM principal_names n LEFT JOIN users u ON u.username = n.name
     WHERE n.name IN (SELECT person FROM asked UNION SELECT other FROM asked) AND (u.id IS NOT NULL OR n.holder = 'engine')
  )
  INSERT INTO grant_uses (grant_id, day, person, privilege, decisions)
  SELECT g.id, ${dayOf('asked.at')}, asked.person, given.privilege, sum(asked.decisions)
    FROM asked JOIN known ON known.name = asked.person LEFT JOIN known other ON other.name = asked.other
    JOIN grants g ON g.node_kind = asked.kind AND coalesce(g.catalog_name, '') = asked.catalog
     AND coalesce(g.schema_name, '') = asked.schema AND coalesce(g.table_name, '') = asked.name
   CROSS JOIN LATERAL unnest(g.privileges) AS given (privilege)
   WHERE g.revoked_at IS NULL AND g.granted_at <= asked.at AND (g.expires_at IS NULL OR g.expires_at > asked.at)
     AND (g.is_for_everyone OR g.user_id = known.id OR g.group_id = ANY (known.groups) OR g.engine_name = known.name)
     AND (asked.other = '' OR g.is_as_everyone OR g.as_user_id = other.id OR g.as_group_id = ANY (other.groups) OR g.as_engine_name = other.name)
     AND given.privilege = ANY (asked.privileges::text[])
   GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
  ON CONFLICT (grant_id, day, person, privilege) DO UPDATE SET decisions = grant_uses.decisions + excluded.decisions`;

/** The days on which grants were used, counted from the decision logs of OPA if these are on. */
@Injectable()
export class GrantUseStore {
  constructor(
    private readonly session: DatabaseSession,
    private readonly clock: Clock,
    private readonly settings: Settings,
    private readonly log: Log,
  ) {}

  async record(uses: readonly NodeUse[]): Promise<void> {
    const logStartInsert = `INSERT INTO decision_logs (since) VALUES (${dayOf('$1')}) ON CONFLICT (only_row) DO NOTHING`;
    await this.session.query(logStartInsert, [this.clock.now()]);
    const rows = uses.map(({ userName, lastDecisionAt, node, privileges, decisions }) => [
      userName,
      lastDecisionAt,
      ...node,
      `{${privileges.join(',')}}`,
      decisions,
    ]);
    if (rows.length > 0) await this.session.query(INSERT_USES, columnArrays(rows));
  }

  /**
   * Live grants that were not used on the last `days` days, including today; ordered by id. `lastUsedOn` is null if no day of use is known.
   * @throws Refused `decision_logs_off`; `validation_failed` if `days` exceeds the number of days for which counts are kept
   */
  async findUnused(days: number, { limit, after }: PageRequest): Promise<Page<Grant & { lastUsedOn: string | null }>> {
    const { enabled, retentionDays } = this.settings.acl.decisionLogs;
    if (!enabled) throw new Refused('decision_logs_off', { detail: 'Turn OPA_DECISION_LOGS_ENABLED on.' });
    const message = `must be at most ${retentionDays} (OPA_DECISION_RETENTION_DAYS)`;
    if (days > retentionDays) throw new Refused('validation_failed', { errors: [{ field: 'days', message }] });
    const rows = await this.session.query<Grant & { lastUsedOn: string | null }>(
      `SELECT unused.*, (SELECT max(day)::text FROM grant_uses WHERE grant_id = unused.id) AS "lastUsedOn"
         FROM (${SELECT_GRANTS}
                WHERE g.id > $1 AND g.revoked_at IS NULL AND (g.expires_at IS NULL OR g.expires_at > $2)
                  AND NOT EXISTS (SELECT FROM grant_uses WHERE grant_id = g.id AND day > ${dayOf('$2')} - $3::integer)
                ORDER BY g.id LIMIT $4) AS unused
        ORDER BY unused.id`,
      [after ?? 0, this.clock.now(), days, limit + 1],
    );
    return pageOf(rows, limit, ({ id }) => id);
  }

  /**
   * For each id of a grant, the day since which the grant is known to be unused. Null: the grant was used today, or no decision log has
   * arrived yet. The map is empty while decision logs are off.
   */
  async unusedSince(grants: readonly Grant[]): Promise<ReadonlyMap<number, string | null>> {
    const { enabled, retentionDays } = this.settings.acl.decisionLogs;
    if (!enabled) return new Map();
    const rows = await this.session.query<{ id: number; since: string | null }>(
      `SELECT id, CASE WHEN since <= ${dayOf('$2')} THEN since::text END AS since
         FROM (SELECT g.id, greatest(l.since, ${dayOf('g.granted_at')}, ${dayOf('$2')} - $3::integer + 1,
                        (SELECT max(day) + 1 FROM grant_uses WHERE grant_id = g.id)) AS since
                 FROM grants g CROSS JOIN decision_logs l WHERE g.id = ANY ($1)) AS known`,
      [grants.map(({ id }) => id), this.clock.now(), retentionDays],
    );
    const sinceById = new Map(rows.map(({ id, since }) => [id, since]));
    return new Map(grants.map(({ id }) => [id, sinceById.get(id) ?? null]));
  }

  /** Removes counts older than OPA_DECISION_RETENTION_DAYS. While decision logs are off, forgets the day on which counting began. */
  @Cron('47 3 * * *', { name: 'grant-use-retention', waitForCompletion: true })
  async removePastCounts(): Promise<void> {
    const { enabled, retentionDays } = this.settings.acl.decisionLogs;
    if (!enabled) await this.session.execute('DELETE FROM decision_logs', []);
    const deleteStatement = `DELETE FROM grant_uses WHERE day <= ${dayOf('$1')} - $2::integer`;
    const removedCount = await this.session.execute(deleteStatement, [this.clock.now(), retentionDays]);
    this.log.info('removed past counts of decisions', { removed: removedCount, retention_days: retentionDays });
  }
}
