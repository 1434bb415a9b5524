import { versionTag } from '../../kernel/entity-tag.js';
import type { FieldError } from '../../kernel/errors.js';
import { type Node, mapPrincipal } from '../../trino-rules/model/node.js';
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

/** The greatest length of an expression in UTF-16 units, and the most exceptions of a policy. */
export const MAX_EXPRESSION = 10_000;
export const MAX_EXCEPTIONS = 1000;

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

/** A policy in a request or a row of the table, with the fields of all kinds of policies. */
export interface PolicyDraft {
  kind: PolicyKind;
  resource: Node & { column?: string };
  expression?: string | null | undefined;
  privileges?: readonly Privilege[] | null | undefined;
}

export function parsePolicyRule(draft: PolicyDraft): PolicyRule | FieldError[] {
  const { kind, resource, expression, privileges } = draft;
  const errors: FieldError[] = [];
  const addError = (field: string, message: string): void => void errors.push({ field, message });
  const { column, ...node } = resource;
  const needsColumn = kind === 'column_mask' || kind === 'hidden_column';
  const needsExpression = kind === 'row_filter' || kind === 'column_mask';

  if (needsColumn && column === undefined) addError('resource.column', `is required for a ${kind}`);
  if (!needsColumn && column !== undefined) addError('resource.column', `does not belong to a ${kind}`);
  if (needsExpression && expression === undefined) addError('expression', `is required for a ${kind}`);
  if (!needsExpression && expression !== undefined) addError('expression', `does not belong to a ${kind}`);
  if (kind !== 'deny' && privileges !== undefined) addError('privileges', `do not belong to a ${kind}`);
  const problem = needsExpression && typeof expression === 'string' ? policyExpressionProblem(expression) : null;
  if (problem !== null) addError('expression', problem);
  const nodeProblem = kind === 'deny' ? null : restrictionProblem(node);
  if (nodeProblem !== null) addError('resource', nodeProblem);
  const privilegeProblem = privilegesProblem(privileges ?? [], node);
  if (privilegeProblem !== null) addError('privileges', privilegeProblem);
  if (errors.length > 0) return errors;

  return policyRule({ ...draft, privileges: privilegesOn(node).filter((one) => privileges?.includes(one) ?? true) });
}

/** The rule of a draft of a policy. The fields of the draft must match its kind. */
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

/** The entity tag of a policy. Every change of the policy changes the tag; a new name of a principal does not. */
export function policyVersion({ id, rule, principal, except, description, changedAt }: Policy): string {
  return versionTag([
    id,
    { ...rule, resource: mapPrincipal(rule.resource, principalText) },
    [principal, ...except].map(principalText),
    description,
    changedAt,
  ]);
}
