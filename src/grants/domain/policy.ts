import type { FieldError } from '../../kernel/errors.js';
import type { Page, PageRequest } from '../../kernel/page.js';
import type { NamedPrincipal, NamedSubject, PolicySubject, Principal } from '../../trino-rules/model/principal.js';
import { PRIVILEGES, type Privilege } from '../../trino-rules/model/privilege.js';
import type { ColumnResource, Resource } from '../../trino-rules/model/resource.js';
import { expressionProblem } from '../../trino-rules/model/sql-expression.js';

export const POLICY_KINDS = ['row_filter', 'column_mask', 'hidden_column', 'deny'] as const;
export type PolicyKind = (typeof POLICY_KINDS)[number];

/** What a policy of each kind says. */
export type PolicyRule =
  | { kind: 'row_filter'; resource: Resource; expression: string }
  | { kind: 'column_mask'; resource: ColumnResource; expression: string }
  | { kind: 'hidden_column'; resource: ColumnResource }
  | { kind: 'deny'; resource: Resource; privileges: Privilege[] };

export interface NewPolicy {
  rule: PolicyRule;
  principal: PolicySubject;
  except: Principal[];
  description: string | null;
}

export interface Policy {
  id: number;
  rule: PolicyRule;
  principal: NamedSubject;
  except: NamedPrincipal[];
  description: string | null;
  createdAt: Date;
  changedAt: Date;
}

/** A policy as somebody wrote it down, before it is known whether its parts go with its kind. */
export interface PolicyDraft {
  kind: PolicyKind;
  resource: Resource & { column?: string };
  expression?: string;
  privileges?: readonly Privilege[];
}

/** Where policies are kept. */
export abstract class PolicyStore {
  abstract create(policy: NewPolicy, at: Date): Promise<Policy>;
  /** In one step, so that nothing is open in between. Null: no such policy. */
  abstract replace(id: number, policy: NewPolicy, at: Date): Promise<Policy | null>;
  abstract remove(id: number, at: Date): Promise<'removed' | 'gone' | 'missing'>;
  abstract find(id: number): Promise<Policy | null>;
  /** By id. */
  abstract list(page: PageRequest): Promise<Page<Policy>>;
}

/** The rule that a draft means, or everything that is wrong with it. */
export function parsePolicyRule({ kind, resource, expression, privileges }: PolicyDraft): PolicyRule | FieldError[] {
  const errors: FieldError[] = [];
  const wrong = (field: string, message: string): void => void errors.push({ field, message });
  const { column, ...node } = resource;
  const onColumn = kind === 'column_mask' || kind === 'hidden_column';
  const hasExpression = kind === 'row_filter' || kind === 'column_mask';

  if (onColumn && column === undefined) wrong('resource.column', `is what a ${kind} names`);
  if (!onColumn && column !== undefined) wrong('resource.column', `does not belong to a ${kind}`);
  if (hasExpression && expression === undefined) wrong('expression', `is what a ${kind} consists of`);
  if (!hasExpression && expression !== undefined) wrong('expression', `does not belong to a ${kind}`);
  if (kind !== 'deny' && privileges !== undefined) wrong('privileges', `do not belong to a ${kind}`);
  const problem = hasExpression && expression !== undefined ? expressionProblem(expression) : null;
  if (problem !== null) wrong('expression', problem);
  if (errors.length > 0) return errors;

  switch (kind) {
    case 'row_filter':
      return { kind, resource: node, expression: expression ?? '' };
    case 'column_mask':
      return { kind, resource: { ...node, column: column ?? '' }, expression: expression ?? '' };
    case 'hidden_column':
      return { kind, resource: { ...node, column: column ?? '' } };
    case 'deny':
      return { kind, resource: node, privileges: PRIVILEGES.filter((one) => privileges?.includes(one) ?? true) };
  }
}
