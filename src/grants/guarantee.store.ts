import { Injectable } from '@nestjs/common';
import { AuditService } from '../audit/audit.service.js';
import type { AuditContext } from '../audit/domain/audit-event.js';
import { type Page, type PageRequest, pageOf } from '../kernel/page.js';
import { Refused } from '../kernel/errors.js';
import { DatabaseSession, LOCK_NOT_AVAILABLE, sqlState } from '../platform/database/database-session.js';
import { Transaction } from '../platform/database/transaction.js';
import { Settings } from '../platform/settings/settings.js';
import {
  type GuaranteeVerdict,
  type GuaranteeVerdictForm,
  verdictForm,
} from '../trino-rules/answers/guarantee-verdicts.js';
import type { Guarantee } from '../trino-rules/model/guarantee.js';
import type { Node } from '../trino-rules/model/node.js';
import { guaranteeEvent, verdictEvent } from './domain/audit-details.js';
import { isAffected, type RecordedGuarantee } from './domain/guarantee.js';
import type { TouchedScope } from './domain/snapshot-store.js';
import { resourceJson } from './infrastructure/principal-columns.js';

/** SQL for a guarantee as JSON. The column `definition` contains its kind, principals and scopes. */
export const GUARANTEE_JSON = `definition || jsonb_build_object('id', id, 'name', name, 'mode', mode)`;

const SELECT_IDS = `SELECT id::integer FROM jsonb_path_query(definition, '$.**.id') AS id`;

const SELECT_NAMES = `(SELECT json_object_agg(named.key, named.name) FROM (
    SELECT 'user:' || id AS key, username AS name FROM users WHERE id IN (${SELECT_IDS})
    UNION ALL SELECT 'group:' || id, name FROM groups WHERE id IN (${SELECT_IDS})) AS named)`;

const selectGuarantees = (names: string): string => `
  SELECT ${GUARANTEE_JSON} AS guarantee, description, created_at AS "createdAt", changed_at AS "changedAt",
         judged_at AS "judgedAt", broken_since AS "brokenSince", verdict AS judgement, ${names} AS names,
         (SELECT json_build_object('id', u.id, 'name', u.username) FROM users u WHERE u.id = written_by) AS "writtenBy"
    FROM guarantees WHERE removed_at IS NULL`;
const SELECT_GUARANTEES = selectGuarantees(SELECT_NAMES);

const COLUMNS = 'name, description, mode, definition, written_by, changed_at';
const INSERT_ROW = `INSERT INTO guarantees (${COLUMNS}, created_at) VALUES ($1, $2, $3, $4, $5, $6, $6) RETURNING id`;
const UPDATE_ROW = `UPDATE guarantees SET (${COLUMNS}) = ($1, $2, $3, $4, $5, $6) WHERE id = $7 AND removed_at IS NULL RETURNING id`;

/** Key of an advisory lock: writers of guarantees take it exclusively, writers of access take it shared. Publication runs do not take it. */
export const GUARANTEES_LOCK = 7_471_021;
/** PostgreSQL evaluates the columns in order, so the timeout applies to the lock. A timeout of the database role is kept. */
const TAKE_SHARED_LOCK = `SELECT
  set_config('lock_timeout', CASE current_setting('lock_timeout') WHEN '0' THEN '10s' ELSE current_setting('lock_timeout') END, true),
  pg_advisory_xact_lock_shared($1)`;

const NODES_OF_GRANTS = `
  SELECT ${resourceJson('g', 'ids-only')} AS node FROM grants g
   WHERE (g.group_id = ANY ($1) OR g.as_group_id = ANY ($1)) AND g.revoked_at IS NULL
  UNION ALL`;
const NODES_OF_POLICIES = `
  SELECT ${resourceJson('p', 'ids-only')} AS node FROM policies p
   WHERE p.removed_at IS NULL AND (p.group_id = ANY ($1) OR p.as_group_id = ANY ($1)
     OR EXISTS (SELECT FROM policy_exceptions e WHERE e.policy_id = p.id AND e.group_id = ANY ($1)))`;

/** Records newer verdicts. Skips guarantees that another writer has locked, because that writer itself records verdicts. $1: verdicts as JSON; $2: time of their snapshot. */
const RECORD_VERDICTS = `
  WITH given AS (SELECT * FROM jsonb_to_recordset($1) AS v (id integer, "isBroken" boolean, judgement jsonb)),
    former AS (
      SELECT g.id, g.broken_since FROM guarantees g
       WHERE g.id IN (SELECT id FROM given) AND g.removed_at IS NULL AND coalesce(g.judged_at <= $2, true)
       ORDER BY g.id FOR NO KEY UPDATE SKIP LOCKED),
    judged AS (
      UPDATE guarantees g SET judged_at = $2, verdict = given.judgement,
             broken_since = CASE WHEN given."isBroken" THEN coalesce(former.broken_since, $2) END
        FROM given JOIN former USING (id) WHERE g.id = given.id)
  SELECT id FROM former JOIN given USING (id) WHERE "isBroken" <> (broken_since IS NOT NULL)`;

const SERVICE_CONTEXT: AuditContext = { actor: null, origin: null };

/** The table of guarantees and the last verdicts on them. A removed guarantee counts as missing. */
@Injectable()
export class GuaranteeStore {
  constructor(
    private readonly session: DatabaseSession,
    private readonly audit: AuditService,
    private readonly transaction: Transaction,
    private readonly settings: Settings,
  ) {}

  /**
   * Inserts a guarantee (id 0) or replaces the one with the id. Writers that call `lockTouched` wait until the transaction ends.
   * @returns the written guarantee and the replaced one (`former`; null after an insert). Null: no guarantee has the id, or another has the name
   */
  async write(
    { id, name, mode, ...definition }: Guarantee,
    description: string | null,
    context: AuditContext,
    now: Date,
  ): Promise<{ former: RecordedGuarantee | null; recordedGuarantee: RecordedGuarantee } | null> {
    await this.lock();
    const former = id === 0 ? null : await this.find(id);
    const values = [name, description, mode, JSON.stringify(definition), context.actor?.id ?? null, now];
    const statement = id === 0 ? INSERT_ROW : UPDATE_ROW;
    const parameters = id === 0 ? values : [...values, id];
    const writtenRows = await this.session.queryUnlessTaken('guarantees_name_in_any_case', statement, parameters);
    const [row] = (writtenRows ?? []) as { id: number }[];
    const recordedGuarantee = row === undefined ? null : await this.find(row.id);
    if (recordedGuarantee === null) return null;
    await this.audit.record(guaranteeEvent(former, recordedGuarantee, context));
    return { former, recordedGuarantee };
  }

  /** Removes a guarantee. @returns `former`: the guarantee, or null if it was already removed; null: no guarantee ever had the id */
  async remove(id: number, context: AuditContext, now: Date): Promise<{ former: RecordedGuarantee | null } | null> {
    await this.lock();
    const former = await this.find(id);
    const statement = 'UPDATE guarantees SET removed_at = coalesce(removed_at, $2) WHERE id = $1';
    const isFound = (await this.session.execute(statement, [id, now])) > 0;
    if (former !== null) await this.audit.record(guaranteeEvent(former, null, context));
    return isFound ? { former } : null;
  }

  find(id: number): Promise<RecordedGuarantee | null> {
    return this.session.firstRow<RecordedGuarantee>(`${SELECT_GUARANTEES} AND id = $1`, [id]);
  }

  async list({ limit, after }: PageRequest): Promise<Page<RecordedGuarantee>> {
    const rows = await this.session.query<RecordedGuarantee>(`${SELECT_GUARANTEES} AND id > $1 ORDER BY id LIMIT $2`, [
      after ?? 0,
      limit + 1,
    ]);
    return pageOf(rows, limit, ({ guarantee }) => guarantee.id);
  }

  /** All guarantees. Their `names` are null, because metrics and verdicts do not show names of principals. */
  listAll(): Promise<RecordedGuarantee[]> {
    return this.session.query(`${selectGuarantees('NULL')} ORDER BY id`);
  }

  /** Locks and returns the guarantees that a change of `touchedScope` can break. @throws Refused `busy` if a lock is not free in time */
  async lockTouched(touchedScope: TouchedScope): Promise<Guarantee[]> {
    try {
      await this.session.query(TAKE_SHARED_LOCK, [GUARANTEES_LOCK]);
      const touchedGuarantees = await this.findTouched(touchedScope);
      const ids = touchedGuarantees.map(({ id }) => id);
      if (ids.length > 0)
        await this.session.query('SELECT FROM guarantees WHERE id = ANY ($1) ORDER BY id FOR NO KEY UPDATE', [ids]);
      return touchedGuarantees;
    } catch (error) {
      if (sqlState(error) !== LOCK_NOT_AVAILABLE) throw error;
      throw new Refused('busy', { retryAfter: 5, cause: error });
    }
  }

  private async findTouched({ nodes, groups, isLeaving = false, ...touched }: TouchedScope): Promise<Guarantee[]> {
    const guaranteeRows = await this.session.query<{ guarantee: Guarantee }>(
      `SELECT ${GUARANTEE_JSON} AS guarantee FROM guarantees WHERE removed_at IS NULL ORDER BY id`,
    );
    if (guaranteeRows.length === 0) return [];
    const statement = isLeaving ? NODES_OF_POLICIES : NODES_OF_GRANTS + NODES_OF_POLICIES;
    const groupNodes = groups.length === 0 ? [] : await this.session.query<{ node: Node }>(statement, [groups]);
    const scopeWithGroups = { ...touched, groups, nodes: [...nodes, ...groupNodes.map(({ node }) => node)] };
    const guarantees = guaranteeRows.map(({ guarantee }) => guarantee);
    return guarantees.filter((each) => isAffected(each, scopeWithGroups, this.settings.acl));
  }

  /** Records verdicts, and an audit event for each guarantee that has become broken or holds again. @param now the time of the snapshot */
  async record(verdicts: readonly GuaranteeVerdict[], now: Date, context = SERVICE_CONTEXT): Promise<void> {
    if (verdicts.length === 0) return;
    const verdictRows = verdicts.map(({ id, isBroken, brokenBy, witnesses, checked }) => ({
      ...{ id, isBroken },
      judgement: { brokenBy, witnesses, checked },
    }));
    await this.transaction.run(async () => {
      const rows = await this.session.query<{ id: number }>(RECORD_VERDICTS, [JSON.stringify(verdictRows), now]);
      const changedVerdicts = verdicts.filter((verdict) => rows.some(({ id }) => id === verdict.id));
      await this.audit.recordAll(changedVerdicts.map((verdict) => verdictEvent(verdict, context)));
    });
  }

  /** The verdicts on a draft that differ from the recorded state: guarantees that the draft breaks, and broken guarantees that it mends. */
  async changedVerdicts(verdicts: readonly GuaranteeVerdict[]): Promise<GuaranteeVerdictForm[]> {
    const brokenRows = (await this.listAll()).filter(({ brokenSince }) => brokenSince !== null);
    const brokenIds = brokenRows.map(({ guarantee }) => guarantee.id);
    return verdicts
      .filter(({ id, isBroken, witnesses }) => (isBroken ? witnesses.length > 0 : brokenIds.includes(id)))
      .map(verdictForm);
  }

  private async lock(): Promise<void> {
    await this.session.query('SELECT pg_advisory_xact_lock($1)', [GUARANTEES_LOCK]);
  }
}
