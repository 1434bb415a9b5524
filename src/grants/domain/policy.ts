import type { FieldError } from '../../kernel/errors.js';
import type { Page, PageRequest } from '../../kernel/page.js';
import type {
  NamedPrincipal,
  NamedPolicyPrincipal,
  PolicyPrincipal,
  Principal,
} from '../../trino-rules/model/principal.js';
import { type Privilege, privilegesOn } from '../../trino-rules/model/privilege.js';
import type { Node } from '../../trino-rules/model/node.js';
import { privilegesProblem, restrictionProblem, type ColumnResource } from '../../trino-rules/model/resource.js';
import { policyExpressionProblem } from '../../trino-rules/model/sql-expression.js';
import type { EntryFilter } from './entry-filter.js';

export type PolicyKind = PolicyRule['kind'];

/** UTF-16 units of an expression, and exceptions of a policy. */
export const EXPRESSION_MOST = 10_000;
export const EXCEPTIONS_MOST = 1000;

/** The rule of a policy, by kind. */
export type PolicyRule =
  | { kind: 'row_filter'; resource: Node; expression: string }
  | { kind: 'column_mask'; resource: ColumnResource; expression: string }
  | { kind: 'hidden_column'; resource: ColumnResource }
  | { kind: 'deny'; resource: Node; privileges: Privilege[] };

export interface NewPolicy {
  rule: PolicyRule;
  principal: PolicyPrincipal;
  except: Principal[];
  description: string | null;
}

export interface Policy {
  id: number;
  rule: PolicyRule;
  principal: NamedPolicyPrincipal;
  except: NamedPrincipal[];
  description: string | null;
  createdAt: Date;
  changedAt: Date;
}

/** A policy as a request has it, before its fields are checked against its kind. */
export interface PolicyDraft {
  kind: PolicyKind;
  resource: Node & { column?: string };
  expression?: string;
  privileges?: readonly Privilege[];
}

/** Policies. */
export abstract class PolicyStore {
  abstract create(policy: NewPolicy, at: Date): Promise<Policy>;
  /** In one step, so that no access is open in between. Null: no such policy. */
  abstract replace(id: number, policy: NewPolicy, at: Date): Promise<{ former: Policy; policy: Policy } | null>;
  /** The policy as it was; `gone`: it was removed before. */
  abstract remove(id: number, at: Date): Promise<Policy | 'gone' | 'missing'>;
  abstract find(id: number): Promise<Policy | null>;
  /** By id. */
  abstract list(filter: EntryFilter, page: PageRequest): Promise<Page<Policy>>;
}

/** The rule of a draft, or all of its errors. */
export function parsePolicyRule({ kind, resource, expression, privileges }: PolicyDraft): PolicyRule | FieldError[] {
  const errors: FieldError[] = [];
  const wrong = (field: string, message: string): void => void errors.push({ field, message });
  const { column, ...node } = resource;
  const onColumn = kind === 'column_mask' || kind === 'hidden_column';
  const hasExpression = kind === 'row_filter' || kind === 'column_mask';

  if (onColumn && column === undefined) wrong('resource.column', `is required for a ${kind}`);
  if (!onColumn && column !== undefined) wrong('resource.column', `does not belong to a ${kind}`);
  if (hasExpression && expression === undefined) wrong('expression', `is required for a ${kind}`);
  if (!hasExpression && expression !== undefined) wrong('expression', `does not belong to a ${kind}`);
  if (kind !== 'deny' && privileges !== undefined) wrong('privileges', `do not belong to a ${kind}`);
  const problem = hasExpression && expression !== undefined ? policyExpressionProblem(expression) : null;
  if (problem !== null) wrong('expression', problem);
  const restriction = kind === 'deny' ? null : restrictionProblem(node);
  if (restriction !== null) wrong('resource', restriction);
  const misplaced = privilegesProblem(privileges ?? [], node);
  if (misplaced !== null) wrong('privileges', misplaced);
  if (errors.length > 0) return errors;

  switch (kind) {
    case 'row_filter':
      return { kind, resource: node, expression: expression ?? '' };
    case 'column_mask':
      return { kind, resource: { ...node, column: column ?? '' }, expression: expression ?? '' };
    case 'hidden_column':
      return { kind, resource: { ...node, column: column ?? '' } };
    case 'deny':
      return {
        kind,
        resource: node,
        privileges: privilegesOn(node).filter((one) => privileges?.includes(one) ?? true),
      };
  }
}
