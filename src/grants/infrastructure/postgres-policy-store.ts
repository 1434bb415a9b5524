import { Injectable } from '@nestjs/common';
import { type Page, type PageRequest, pageOf } from '../../kernel/page.js';
import { columnArrays } from '../../platform/infrastructure/column-arrays.js';
import { DatabaseSession } from '../../platform/infrastructure/database-session.js';
import type { NamedPrincipal, Principal } from '../../trino-rules/model/principal.js';
import type { Privilege } from '../../trino-rules/model/privilege.js';
import { type NewPolicy, type Policy, type PolicyKind, type PolicyRule, PolicyStore } from '../domain/policy.js';
import {
  type PrincipalColumns,
  principalColumns,
  principalJoins,
  principalOf,
  principalValues,
  subjectOf,
  type ResourceColumns,
  resourceOf,
  resourceValues,
} from './principal-columns.js';

export interface PolicyRuleColumns extends ResourceColumns {
  kind: PolicyKind;
  column_name: string | null;
  expression: string | null;
  privileges: Privilege[] | null;
}

interface PolicyRow extends PrincipalColumns, PolicyRuleColumns {
  id: number;
  description: string | null;
  createdAt: Date;
  changedAt: Date;
}

interface ExceptionRow extends PrincipalColumns {
  policy_id: number;
}

const SELECT_POLICIES = `
  SELECT p.id, p.kind, ${principalColumns('p')}, p.catalog_name, p.schema_name, p.table_name, p.column_name, p.expression,
         p.privileges, p.description, p.created_at AS "createdAt", p.changed_at AS "changedAt"
    FROM policies p ${principalJoins('p')}
   WHERE p.removed_at IS NULL`;

/** Serializes writes of policies: two concurrent masks could conflict with each other. */
const POLICY_WRITERS_LOCK = 7_471_020;

@Injectable()
export class PostgresPolicyStore extends PolicyStore {
  constructor(private readonly session: DatabaseSession) {
    super();
  }

  override create(policy: NewPolicy, at: Date): Promise<Policy> {
    return this.session.run(async () => {
      await this.lock();
      const [made] = await this.session.manager.query<[{ id: number }]>(
        `INSERT INTO policies (kind, is_for_everyone, user_id, group_id, engine_name, catalog_name, schema_name, table_name,
                               column_name, expression, privileges, description, created_at, changed_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $13) RETURNING id`,
        [...columns(policy), at],
      );
      await this.except(made.id, policy.except);
      return this.present(made.id);
    });
  }

  override replace(id: number, policy: NewPolicy, at: Date): Promise<{ former: Policy; policy: Policy } | null> {
    return this.session.run(async () => {
      await this.lock();
      const former = await this.find(id);
      const [rows] = await this.session.manager.query<[unknown[], number]>(
        `UPDATE policies SET kind = $1, is_for_everyone = $2, user_id = $3, group_id = $4, engine_name = $5, catalog_name = $6,
                schema_name = $7, table_name = $8, column_name = $9, expression = $10, privileges = $11, description = $12,
                changed_at = $13
          WHERE id = $14 AND removed_at IS NULL RETURNING id`,
        [...columns(policy), at, id],
      );
      if (rows.length === 0 || former === null) return null;
      await this.session.manager.query('DELETE FROM policy_exceptions WHERE policy_id = $1', [id]);
      await this.except(id, policy.except);
      return { former, policy: await this.present(id) };
    });
  }

  override async remove(id: number, at: Date): Promise<'removed' | 'gone' | 'missing'> {
    const [removed] = await this.session.manager.query<[unknown[], number]>(
      'UPDATE policies SET removed_at = $2 WHERE id = $1 AND removed_at IS NULL RETURNING id',
      [id, at],
    );
    if (removed.length > 0) return 'removed';
    const known = await this.session.manager.query<unknown[]>('SELECT 1 FROM policies WHERE id = $1', [id]);
    return known.length > 0 ? 'gone' : 'missing';
  }

  override async find(id: number): Promise<Policy | null> {
    const [policy] = await this.policies(`${SELECT_POLICIES} AND p.id = $1`, [id]);
    return policy ?? null;
  }

  override async list({ limit, after }: PageRequest): Promise<Page<Policy>> {
    const policies = await this.policies(`${SELECT_POLICIES} AND p.id > $1 ORDER BY p.id LIMIT $2`, [
      after ?? 0,
      limit + 1,
    ]);
    return pageOf(policies, limit, ({ id }) => id);
  }

  private async policies(query: string, parameters: unknown[]): Promise<Policy[]> {
    const rows = await this.session.manager.query<PolicyRow[]>(query, parameters);
    const exceptions = await this.session.manager.query<ExceptionRow[]>(
      `SELECT e.policy_id, ${principalColumns('e')} FROM policy_exceptions e ${principalJoins('e')}
        WHERE e.policy_id = ANY($1) ORDER BY e.user_id, e.group_id, e.engine_name`,
      [rows.map(({ id }) => id)],
    );
    return rows.map((row) => toPolicy(row, exceptions));
  }

  private async present(id: number): Promise<Policy> {
    const policy = await this.find(id);
    if (policy === null) throw new Error(`policy ${id} has vanished in its own transaction`);
    return policy;
  }

  private async except(id: number, principals: readonly Principal[]): Promise<void> {
    if (principals.length === 0) return;
    await this.session.manager.query(
      `INSERT INTO policy_exceptions (policy_id, user_id, group_id, engine_name)
       SELECT $1, * FROM unnest($2::integer[], $3::integer[], $4::text[]) ON CONFLICT DO NOTHING`,
      [id, ...columnArrays(principals.map(principalValues))],
    );
  }

  private async lock(): Promise<void> {
    await this.session.manager.query('SELECT pg_advisory_xact_lock($1)', [POLICY_WRITERS_LOCK]);
  }
}

/** The rule of a row; the table's check constraint ties the columns to the kind. */
export function ruleOf(row: PolicyRuleColumns): PolicyRule {
  const resource = resourceOf(row);
  const onColumn = { ...resource, column: row.column_name ?? '' };
  switch (row.kind) {
    case 'row_filter':
      return { kind: row.kind, resource, expression: row.expression ?? '' };
    case 'column_mask':
      return { kind: row.kind, resource: onColumn, expression: row.expression ?? '' };
    case 'hidden_column':
      return { kind: row.kind, resource: onColumn };
    case 'deny':
      return { kind: row.kind, resource, privileges: row.privileges ?? [] };
  }
}

function columns({ rule, principal, description }: NewPolicy): unknown[] {
  return [
    rule.kind,
    principal.type === 'everyone',
    ...principalValues(principal),
    ...resourceValues(rule.resource),
    'column' in rule.resource ? rule.resource.column : null,
    'expression' in rule ? rule.expression : null,
    'privileges' in rule ? rule.privileges : null,
    description,
  ];
}

function toPolicy(row: PolicyRow, exceptions: readonly ExceptionRow[]): Policy {
  const except = exceptions.filter(({ policy_id: policy }) => policy === row.id).map(principalOf);
  return {
    id: row.id,
    rule: ruleOf(row),
    principal: subjectOf(row),
    except: except.filter((principal): principal is NamedPrincipal => principal !== null),
    description: row.description,
    createdAt: row.createdAt,
    changedAt: row.changedAt,
  };
}
