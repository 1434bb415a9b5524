import { Injectable } from '@nestjs/common';
import { type Page, type PageRequest, pageOf } from '../kernel/page.js';
import { columnArrays, DatabaseSession } from '../platform/database/database-session.js';
import { Settings } from '../platform/settings/settings.js';
import type { Principal } from '../trino-rules/model/principal.js';
import type { EntryFilter } from './domain/grant.js';
import { type NewPolicy, type Policy, type PolicyDraft, policyRule } from './domain/policy.js';
import {
  ENTRY_COLUMNS,
  entryColumnValues,
  FILTER_PARAMETERS,
  filterCondition,
  filterValues,
  type NamesInJson,
  principalJson,
  principalValues,
  resourceJson,
} from './infrastructure/principal-columns.js';

export const policyColumns = (names: NamesInJson) => `${principalJson('p.', names)} AS principal,
  (SELECT coalesce(json_agg(${principalJson('e.', names)} ORDER BY e.user_id, e.group_id, e.engine_name), '[]')
     FROM policy_exceptions e WHERE e.policy_id = p.id) AS except,
  p.kind, ${resourceJson('p', names, 'p.column_name')} AS resource, p.expression, p.privileges`;

const SELECT_POLICIES = `
  SELECT p.id, ${policyColumns('with-names')}, p.description, p.created_at AS "createdAt", p.changed_at AS "changedAt"
    FROM policies p WHERE p.removed_at IS NULL`;

const COLUMNS = ['kind', ...ENTRY_COLUMNS, 'column_name', 'expression', 'privileges', 'description', 'changed_at'];
const PLACEHOLDERS = COLUMNS.map((_, i) => `$${i + 1}`).join(', ');

/** Key of the advisory lock that serializes writes of policies, because two concurrent masks could conflict with each other. */
const POLICY_WRITERS_LOCK = 7_471_020;

@Injectable()
export class PolicyStore {
  constructor(
    private readonly session: DatabaseSession,
    private readonly settings: Settings,
  ) {}

  create(policy: NewPolicy, now: Date): Promise<Policy> {
    return this.session.run(async () => {
      await this.lock();
      const insertedRow = await this.session.oneRow<{ id: number }>(
        `INSERT INTO policies (${COLUMNS.join(', ')}, created_at) VALUES (${PLACEHOLDERS}, $${COLUMNS.length}) RETURNING id`,
        policyValues(policy, now),
      );
      await this.writeExceptions(insertedRow.id, policy.except);
      return this.findExisting(insertedRow.id);
    });
  }

  replace(id: number, policy: NewPolicy, now: Date): Promise<{ formerPolicy: Policy; policy: Policy } | null> {
    return this.session.run(async () => {
      await this.lock();
      const formerPolicy = await this.find(id);
      const updatedRow = await this.session.firstRow(
        `UPDATE policies SET (${COLUMNS.join(', ')}) = (${PLACEHOLDERS})
          WHERE id = $${COLUMNS.length + 1} AND removed_at IS NULL RETURNING id`,
        [...policyValues(policy, now), id],
      );
      if (updatedRow === null || formerPolicy === null) return null;
      await this.session.query('DELETE FROM policy_exceptions WHERE policy_id = $1', [id]);
      await this.writeExceptions(id, policy.except);
      return { formerPolicy, policy: await this.findExisting(id) };
    });
  }

  /** Removes a policy. @returns the policy as it was before; `gone`: it was removed earlier; `missing`: it never existed */
  remove(id: number, now: Date): Promise<Policy | 'gone' | 'missing'> {
    return this.session.run(async () => {
      await this.lock();
      const formerPolicy = await this.find(id);
      if (formerPolicy !== null) {
        await this.session.query('UPDATE policies SET removed_at = $2 WHERE id = $1', [id, now]);
        return formerPolicy;
      }
      return (await this.session.firstRow('SELECT FROM policies WHERE id = $1', [id])) === null ? 'missing' : 'gone';
    });
  }

  async find(id: number): Promise<Policy | null> {
    const [policy] = await this.queryPolicies(`${SELECT_POLICIES} AND p.id = $1`, [id]);
    return policy ?? null;
  }

  async list(filter: EntryFilter, { limit, after }: PageRequest): Promise<Page<Policy>> {
    const parameter = (place: number): string => `$${FILTER_PARAMETERS + place}`;
    const policies = await this.queryPolicies(
      `${SELECT_POLICIES} AND ${filterCondition('p', 'p.column_name')} AND p.id > ${parameter(1)} ORDER BY p.id LIMIT ${parameter(2)}`,
      [...filterValues(filter, this.settings.acl.metadataCatalog), after ?? 0, limit + 1],
    );
    return pageOf(policies, limit, ({ id }) => id);
  }

  private async queryPolicies(query: string, parameters: unknown[]): Promise<Policy[]> {
    const rows = await this.session.query<PolicyDraft & Omit<Policy, 'rule'>>(query, parameters);
    return rows.map((row) => {
      const { id, principal, except, description, createdAt, changedAt } = row;
      return { id, rule: policyRule(row), principal, except, description, createdAt, changedAt };
    });
  }

  private async findExisting(id: number): Promise<Policy> {
    const policy = await this.find(id);
    if (policy === null) throw new Error(`policy ${id} has vanished in its own transaction`);
    return policy;
  }

  private async writeExceptions(id: number, principals: readonly Principal[]): Promise<void> {
    if (principals.length === 0) return;
    await this.session.query(
      `INSERT INTO policy_exceptions (policy_id, user_id, group_id, engine_name)
       SELECT $1, * FROM unnest($2::integer[], $3::integer[], $4::text[]) ON CONFLICT DO NOTHING`,
      [id, ...columnArrays(principals.map(principalValues))],
    );
  }

  private async lock(): Promise<void> {
    await this.session.query('SELECT pg_advisory_xact_lock($1)', [POLICY_WRITERS_LOCK]);
  }
}

function policyValues({ rule, principal, description }: NewPolicy, now: Date): unknown[] {
  return [
    rule.kind,
    ...entryColumnValues(principal, rule.resource),
    'column' in rule.resource ? rule.resource.column : null,
    'expression' in rule ? rule.expression : null,
    'privileges' in rule ? rule.privileges : null,
    description,
    now,
  ];
}
