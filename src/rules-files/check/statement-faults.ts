import { columnsIn } from '../../trino-rules/document/expression-warnings.js';
import {
  type ForeignColumn,
  type ForeignExpression,
  type ForeignRule,
  foreignSyntaxProblem,
  isColumn,
} from './foreign-rules.js';
import { type Door, sqlFor } from './door-search.js';
import { anyName } from './foreign-language.js';

/** Why the engine refuses statements that a table rule allows: it reads filters and masks only with the statement (seen on 483). */
export interface StatementFault {
  code: 'expression-syntax' | 'expression-hidden-column' | 'expression-write';
  /** `has a filter that …` */
  problem: string;
}

/** A fault of every statement that reads or changes rows; null: none is known. */
export function expressionFault({ filter, columns }: ForeignRule): StatementFault | null {
  const masks = columns.filter(isMasked).map(({ name, mask }) => ({ ...mask, what: `mask of ${name}` }));
  const expressions = [...(filter === null ? [] : [{ ...filter, what: 'filter' }]), ...masks];
  for (const { what, text } of expressions) {
    const problem = /\S/.test(text) ? foreignSyntaxProblem(text) : null;
    if (problem !== null)
      return { code: 'expression-syntax', problem: `has a ${what} that is no expression of SQL: ${problem}` };
  }
  const hidden = columns.filter(({ allow }) => !allow).map(({ name }) => name);
  for (const { what, text, runsAs } of expressions) {
    // An expression with an identity of its own reads columns as that identity.
    const named = runsAs === null && hidden.length > 0 ? columnsIn(text) : null;
    const column = hidden.find((name) => named?.has(name));
    if (column !== undefined)
      return { code: 'expression-hidden-column', problem: `has a ${what} that reads ${column}, which it hides` };
  }
  return null;
}

/** Privileges of a rule that its filter or masks disable. */
export function refusedWrites({ filter, columns, gives }: ForeignRule): string[] {
  const refused = columns.some(isMasked) ? ['INSERT', 'UPDATE', 'DELETE'] : filter === null ? [] : ['UPDATE'];
  return gives.filter((right) => refused.includes(right));
}

export function statementFault(rule: ForeignRule, privilege: string): StatementFault | null {
  if (privilege === 'OWNERSHIP') return null;
  const fault = expressionFault(rule);
  return fault ?? (refusedWrites(rule).includes(privilege) ? writeFault(rule, [privilege]) : null);
}

function writeFault({ columns }: ForeignRule, privileges: readonly string[]): StatementFault {
  const beside = columns.some(isMasked) ? 'a mask' : 'a filter';
  return {
    code: 'expression-write',
    problem: `has ${beside}, beside which the engine refuses ${privileges.join(', ')}`,
  };
}

export function isMasked(column: ForeignColumn): column is ForeignColumn & { mask: ForeignExpression } {
  return column.allow && column.mask !== null && isColumn(column.name);
}

/** GRANT_SELECT contains SELECT. */
export function reads({ gives }: ForeignRule): boolean {
  return gives.includes('SELECT') || gives.includes('GRANT_SELECT');
}

export const FAULTY_EXPRESSIONS: readonly Door[] = [
  faulty('expression-syntax'),
  faulty('expression-hidden-column'),
  {
    code: 'expression-write',
    mode: 'all',
    // DELETE alone is a finding of door-truncate.
    isIn: (rule) => refusedWrites(rule).some((right) => right !== 'DELETE'),
    through(rule, path) {
      const writes = refusedWrites(rule);
      return { ...writeFault(rule, writes), statement: `${sqlFor(writes[0] ?? '', path)} fails` };
    },
  },
  {
    code: 'expression-every-table',
    isIn: (rule) =>
      reads(rule) &&
      rule.filter !== null &&
      ['schema', 'table'].every((key) => anyName(key, rule.patterns.get(key)?.text) === undefined) &&
      expressionFault(rule) === null &&
      columnsIn(rule.filter.text).size > 0,
    through({ filter }, path) {
      const columns = [...columnsIn(filter?.text ?? '')].join(', ');
      const problem = `filters every table of a catalog by ${columns}: tables without that cannot be read`;
      return { problem, statement: `${sqlFor('SELECT', path)} fails where ${columns} is missing` };
    },
  },
];

function faulty(code: StatementFault['code']): Door {
  return {
    code,
    isIn: (rule) => rule.gives.some((right) => right !== 'OWNERSHIP') && expressionFault(rule)?.code === code,
    through(rule, path) {
      const fault = expressionFault(rule);
      const privilege = rule.gives.find((right) => right !== 'OWNERSHIP') ?? '';
      return fault && { ...fault, statement: `${sqlFor(privilege, path)} fails` };
    },
  };
}
