import { columnsIn } from '../../trino-rules/document/expression-warnings.js';
import {
  type ForeignColumn,
  type ForeignExpression,
  type ForeignRule,
  foreignSyntaxProblem,
  isColumnName,
} from './foreign-rules.js';
import { type Loophole, sqlFor } from './loophole-search.js';
import { selectivePattern } from './foreign-language.js';

/** A fault in a filter or mask. The engine notices it only when a statement uses the expression (seen on 483). */
export interface StatementFault {
  code: 'expression-syntax' | 'expression-hidden-column' | 'expression-write';
  /** Continues a sentence about the rule: `has a filter that …`. */
  problem: string;
}

/** The reason why every statement that reads or changes rows under a rule fails; null: none is known. */
export function expressionFault({ filter, columns }: ForeignRule): StatementFault | null {
  // The engine evaluates no mask of a hidden column (seen on 483).
  const visibleMasks = columns.filter(isMasked).filter(({ allow }) => allow);
  const masks = visibleMasks.map(({ name, mask }) => ({ ...mask, subject: `mask of ${name}` }));
  const expressions = [...(filter === null ? [] : [{ ...filter, subject: 'filter' }]), ...masks];
  for (const { subject, text } of expressions) {
    const problem = /\S/.test(text) ? foreignSyntaxProblem(text) : null;
    if (problem !== null)
      return { code: 'expression-syntax', problem: `has a ${subject} that is no expression of SQL: ${problem}` };
  }
  const hiddenNames = columns.filter(({ allow }) => !allow).map(({ name }) => name);
  for (const { subject, text, runsAs } of expressions) {
    // An expression with a fixed identity (`runsAs`) is not checked: it is evaluated as that user, who may read hidden columns.
    const usedColumns = runsAs === null && hiddenNames.length > 0 ? columnsIn(text) : null;
    const column = hiddenNames.find((name) => usedColumns?.has(name));
    if (column !== undefined)
      return { code: 'expression-hidden-column', problem: `has a ${subject} that reads ${column}, which it hides` };
  }
  return null;
}

/** Privileges of a rule that have no effect because of its filter or masks. */
export function refusedWrites({ filter, columns, rights }: ForeignRule): string[] {
  const refusedPrivileges = columns.some(isMasked) ? ['INSERT', 'UPDATE', 'DELETE'] : filter === null ? [] : ['UPDATE'];
  return rights.filter((right) => refusedPrivileges.includes(right));
}

export function statementFault(rule: ForeignRule, privilege: string): StatementFault | null {
  if (privilege === 'OWNERSHIP') return null;
  const fault = expressionFault(rule);
  return fault ?? (refusedWrites(rule).includes(privilege) ? writeFault(rule, [privilege]) : null);
}

function writeFault({ columns }: ForeignRule, privileges: readonly string[]): StatementFault {
  const restriction = columns.some(isMasked) ? 'a mask' : 'a filter';
  return {
    code: 'expression-write',
    problem: `has ${restriction}, beside which the engine refuses ${privileges.join(', ')}`,
  };
}

/** Whether the engine masks a column. It refuses writing beside a mask of a hidden column, too (seen on 483). */
export function isMasked(column: ForeignColumn): column is ForeignColumn & { mask: ForeignExpression } {
  return column.mask !== null && isColumnName(column.name);
}

/** Whether a rule gives SELECT, which GRANT_SELECT contains. */
export function givesReading({ rights }: ForeignRule): boolean {
  return rights.includes('SELECT') || rights.includes('GRANT_SELECT');
}

export const EXPRESSION_LOOPHOLES: readonly Loophole[] = [
  expressionLoophole('expression-syntax'),
  expressionLoophole('expression-hidden-column'),
  {
    code: 'expression-write',
    mode: 'all',
    // If only DELETE fails under a rule, the finding `door-truncate` already says so.
    mayApplyTo: (rule) => refusedWrites(rule).some((right) => right !== 'DELETE'),
    example(rule, path) {
      const refusedRights = refusedWrites(rule);
      return { ...writeFault(rule, refusedRights), statement: `${sqlFor(refusedRights[0] ?? '', path)} fails` };
    },
  },
  {
    code: 'expression-every-table',
    mayApplyTo: (rule) =>
      givesReading(rule) &&
      rule.filter !== null &&
      ['schema', 'table'].every((key) => selectivePattern(key, rule.patterns.get(key)?.text) === undefined) &&
      expressionFault(rule) === null &&
      columnsIn(rule.filter.text).size > 0,
    example({ filter }, path) {
      const columns = [...columnsIn(filter?.text ?? '')].join(', ');
      const problem = `filters every table of a catalog by ${columns}: tables without that cannot be read`;
      return { problem, statement: `${sqlFor('SELECT', path)} fails where ${columns} is missing` };
    },
  },
];

function expressionLoophole(code: StatementFault['code']): Loophole {
  return {
    code,
    mayApplyTo: (rule) => rule.rights.some((right) => right !== 'OWNERSHIP') && expressionFault(rule)?.code === code,
    example(rule, path) {
      const fault = expressionFault(rule);
      const privilege = rule.rights.find((right) => right !== 'OWNERSHIP') ?? '';
      return fault && { ...fault, statement: `${sqlFor(privilege, path)} fails` };
    },
  };
}
