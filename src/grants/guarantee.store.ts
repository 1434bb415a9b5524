import { Injectable } from '@nestjs/common';
import { AuditService } from '../audit/audit.service.js';
import type { AuditContext } from '../audit/domain/audit-event.js';
import { type Page, type PageRequest, pageOf } from '../kernel/page.js';
import { Refused } from '../kernel/errors.js';
import { DatabaseSession, LOCK_NOT_AVAILABLE, sqlState } from '../platform/database/database-session.js';
import { Transaction } from '../platform/database/transaction.js';
import {
  type GuaranteeVerdict,
  type GuaranteeVerdictForm,
  verdictForm,
} from '../trino-rules/answers/guarantee-verdicts.js';
import type { Guarantee } from '../trino-rules/model/guarantee.js';
import type { Node } from '../trino-rules/model/node.js';
import { guaranteeEvent, verdictEvent } from './domain/audit-details.js';
import { isTouched, type RecordedGuarantee } from './domain/guarantee.js';
import type { Touched } from './domain/snapshot-store.js';
import { resourceForm } from './infrastructure/principal-columns.js';

/** A guarantee as JSON; `definition` has its kind, principals and scopes. */
export const GUARANTEE_FORM = `definition || jsonb_build_object('id', id, 'name', name, 'mode', mode)`;

/** Ids of users and groups in a definition. */
const IDS = `SELECT id::integer FROM jsonb_path_query(definition, '$.**.id') AS id`;

const NAMES = `(SELECT json_object_agg(named.key, named.name) FROM (
    SELECT 'user:' || id AS key, username AS name FROM users WHERE id IN (${IDS})
    UNION ALL SELECT 'group:' || id, name FROM groups WHERE id IN (${IDS})) AS named)`;

const selectWith = (names: string): string => `
  SELECT ${GUARANTEE_FORM} AS guarantee, description, created_at AS "createdAt", changed_at AS "changedAt",
         judged_at AS "judgedAt", broken_since AS "brokenSince", verdict AS judgement, ${names} AS names,
         (SELECT json_build_object('id', u.id, 'name', u.username) FROM users u WHERE u.id = written_by) AS "writtenBy"
    FROM guarantees WHERE removed_at IS NULL`;
const SELECT = selectWith(NAMES);

const COLUMNS = 'name, description, mode, definition, written_by, changed_at';
const INSERT = `INSERT INTO guarantees (${COLUMNS}, created_at) VALUES ($1, $2, $3, $4, $5, $6, $6) RETURNING id`;
const UPDATE = `UPDATE guarantees SET (${COLUMNS}) = ($1, $2, $3, $4, $5, $6) WHERE id = $7 AND removed_at IS NULL RETURNING id`;

/** Key of the advisory lock that writers of guarantees hold alone, and writers of access together. Runs take no part in it. */
export const GUARANTEES_LOCK = 7_471_021;
/** The first column is evaluated first. A lock timeout of the role itself takes precedence. */
const LOCK_TOGETHER = `SELECT
  set_config('lock_timeout', CASE current_setting('lock_timeout') WHEN '0' THEN '10s' ELSE current_setting('lock_timeout') END, true),
  pg_advisory_xact_lock_shared($1)`;

const NODES_OF_GRANTS = `
  SELECT ${resourceForm('g', 'unnamed')} AS node FROM grants g
   WHERE (g.group_id = ANY ($1) OR g.as_group_id = ANY ($1)) AND g.revoked_at IS NULL
  UNION ALL`;
const NODES_OF_POLICIES = `
  SELECT ${resourceForm('p', 'unnamed')} AS node FROM policies p
   WHERE p.removed_at IS NULL AND (p.group_id = ANY ($1) OR p.as_group_id = ANY ($1)
     OR EXISTS (SELECT FROM policy_exceptions e WHERE e.policy_id = p.id AND e.group_id = ANY ($1)))`;

/** Verdicts that are newer than the recorded ones. A write that is being judged records its own: nothing waits for it. $1: as JSON; $2: the moment of their snapshot. */
const RECORD = `
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

const BY_SERVICE: AuditContext = { actor: null, origin: null };

/** Guarantees, and which of them hold. Removed ones count as missing. */
@Injectable()
export class GuaranteeStore {
  constructor(
    private readonly session: DatabaseSession,
    private readonly audit: AuditService,
    private readonly transaction: Transaction,
  ) {}

  /**
   * Inserts a guarantee (id 0), or replaces another one. Writers that call `lockNear` wait until the transaction ends.
   * @returns what it replaced, and the new one; null: no such guarantee, or another one has that name
   */
  async write(
    { id, name, mode, ...definition }: Guarantee,
    description: string | null,
    by: AuditContext,
    at: Date,
  ): Promise<{ former: RecordedGuarantee | null; recorded: RecordedGuarantee } | null> {
    await this.lock();
    const former = id === 0 ? null : await this.find(id);
    const values = [name, description, mode, JSON.stringify(definition), by.actor?.id ?? null, at];
    const statement = id === 0 ? INSERT : UPDATE;
    const parameters = id === 0 ? values : [...values, id];
    const written = await this.session.queryUnlessTaken('guarantees_name_in_any_case', statement, parameters);
    const [row] = (written ?? []) as { id: number }[];
    const recorded = row === undefined ? null : await this.find(row.id);
    if (recorded === null) return null;
    await this.audit.record(guaranteeEvent(former, recorded, by));
    return { former, recorded };
  }

  /** @returns what it removed, null if that was removed before; null: no guarantee ever had that id */
  async remove(id: number, by: AuditContext, at: Date): Promise<{ former: RecordedGuarantee | null } | null> {
    await this.lock();
    const former = await this.find(id);
    const statement = 'UPDATE guarantees SET removed_at = coalesce(removed_at, $2) WHERE id = $1';
    const isKnown = (await this.session.execute(statement, [id, at])) > 0;
    if (former !== null) await this.audit.record(guaranteeEvent(former, null, by));
    return isKnown ? { former } : null;
  }

  find(id: number): Promise<RecordedGuarantee | null> {
    return this.session.firstRow<RecordedGuarantee>(`${SELECT} AND id = $1`, [id]);
  }

  async list({ limit, after }: PageRequest): Promise<Page<RecordedGuarantee>> {
    const rows = await this.session.query<RecordedGuarantee>(`${SELECT} AND id > $1 ORDER BY id LIMIT $2`, [
      after ?? 0,
      limit + 1,
    ]);
    return pageOf(rows, limit, ({ guarantee }) => guarantee.id);
  }

  /** Without the names of their principals, which gauges and verdicts do not show. */
  listAll(): Promise<RecordedGuarantee[]> {
    return this.session.query(`${selectWith('NULL')} ORDER BY id`);
  }

  /**
   * Guarantees that the transaction's changes can break. Other writers that lock one of them wait until it ends.
   * @throws Refused `busy` where others are judged for long
   */
  async lockNear(touched: Touched): Promise<Guarantee[]> {
    try {
      await this.session.query(LOCK_TOGETHER, [GUARANTEES_LOCK]);
      const near = await this.findNear(touched);
      const ids = near.map(({ id }) => id);
      if (ids.length > 0)
        await this.session.query('SELECT FROM guarantees WHERE id = ANY ($1) ORDER BY id FOR NO KEY UPDATE', [ids]);
      return near;
    } catch (error) {
      if (sqlState(error) !== LOCK_NOT_AVAILABLE) throw error;
      throw new Refused('busy', { retryAfter: 5, cause: error });
    }
  }

  private async findNear({ nodes, groups, isLeaving = false, ...touched }: Touched): Promise<Guarantee[]> {
    const all = await this.session.query<{ guarantee: Guarantee }>(
      `SELECT ${GUARANTEE_FORM} AS guarantee FROM guarantees WHERE removed_at IS NULL ORDER BY id`,
    );
    if (all.length === 0) return [];
    const statement = isLeaving ? NODES_OF_POLICIES : NODES_OF_GRANTS + NODES_OF_POLICIES;
    const ofGroups = groups.length === 0 ? [] : await this.session.query<{ node: Node }>(statement, [groups]);
    const wide = { ...touched, groups, nodes: [...nodes, ...ofGroups.map(({ node }) => node)] };
    return all.map(({ guarantee }) => guarantee).filter((each) => isTouched(each, wide));
  }

  /** Records verdicts by a snapshot of that moment, and audits guarantees whose state changed. */
  async record(verdicts: readonly GuaranteeVerdict[], at: Date, by = BY_SERVICE): Promise<void> {
    if (verdicts.length === 0) return;
    const given = verdicts.map(({ id, isBroken, brokenBy, witnesses, checked }) => ({
      ...{ id, isBroken },
      judgement: { brokenBy, witnesses, checked },
    }));
    await this.transaction.run(async () => {
      const rows = await this.session.query<{ id: number }>(RECORD, [JSON.stringify(given), at]);
      const turned = verdicts.filter((verdict) => rows.some(({ id }) => id === verdict.id));
      await this.audit.recordAll(turned.map((verdict) => verdictEvent(verdict, by)));
    });
  }

  /** Of verdicts on a draft: guarantees that it breaks, and now broken ones that it mends. */
  async changedBy(verdicts: readonly GuaranteeVerdict[]): Promise<GuaranteeVerdictForm[]> {
    const recorded = await this.listAll();
    const broken = recorded.flatMap(({ guarantee: { id }, brokenSince }) => (brokenSince === null ? [] : [id]));
    return verdicts
      .filter(({ id, isBroken, witnesses }) => (isBroken ? witnesses.length > 0 : broken.includes(id)))
      .map(verdictForm);
  }

  private async lock(): Promise<void> {
    await this.session.query('SELECT pg_advisory_xact_lock($1)', [GUARANTEES_LOCK]);
  }
}
