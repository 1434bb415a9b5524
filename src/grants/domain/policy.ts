import { versionTag } from '../../kernel/entity-tag.js';
import type { FieldError } from '../../kernel/errors.js';
import { type Node, withNamed } from '../../trino-rules/model/node.js';
import {
  type NamedPolicyPrincipal,
  type NamedPrincipal,
  type PolicyPrincipal,
  type Principal,
  principalText,
} from '../../trino-rules/model/principal.js';
import { type Privilege, privilegesOn } from '../../trino-rules/model/privilege.js';
import { type ColumnResource, privilegesProblem, restrictionProblem } from '../../trino-rules/model/resource.js';
import { policyExpressionProblem } from '../../trino-rules/model/sql-expression.js';

export type PolicyKind = PolicyRule['kind'];

/** Limits: UTF-16 units of an expression, and exceptions of a policy. */
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

/** A policy as in a request or a row, with the fields of all kinds. */
export interface PolicyDraft {
  kind: PolicyKind;
  resource: Node & { column?: string };
  expression?: string | null | undefined;
  privileges?: readonly Privilege[] | null | undefined;
}

/** The rule of a draft, or all of its errors. */
export function parsePolicyRule(draft: PolicyDraft): PolicyRule | FieldError[] {
  const { kind, resource, expression, privileges } = draft;
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
  const problem = hasExpression && typeof expression === 'string' ? policyExpressionProblem(expression) : null;
  if (problem !== null) wrong('expression', problem);
  const restriction = kind === 'deny' ? null : restrictionProblem(node);
  if (restriction !== null) wrong('resource', restriction);
  const misplaced = privilegesProblem(privileges ?? [], node);
  if (misplaced !== null) wrong('privileges', misplaced);
  if (errors.length > 0) return errors;

  return policyRule({ ...draft, privileges: privilegesOn(node).filter((one) => privileges?.includes(one) ?? true) });
}

/** The rule of a draft whose fields match its kind. */
export function policyRule({ kind, resource: { column = '', ...node }, ...fields }: PolicyDraft): PolicyRule {
  const { expression, privileges } = fields;
  switch (kind) {
    case 'row_filter':
      return { kind, resource: node, expression: expression ?? '' };
    case 'column_mask':
      return { kind, resource: { ...node, column }, expression: expression ?? '' };
    case 'hidden_column':
      return { kind, resource: { ...node, column } };
    case 'deny':
      return { kind, resource: node, privileges: [...(privileges ?? [])] };
  }
}

/** The entity tag of a policy. Every change of the policy gives another one; a new name of a principal does not. */
export function policyVersion({ id, rule, principal, except, description, changedAt }: Policy): string {
  return versionTag([
    id,
    { ...rule, resource: withNamed(rule.resource, principalText) },
    [principal, ...except].map(principalText),
    description,
    changedAt,
  ]);
}
