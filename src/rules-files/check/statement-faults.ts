import { columnsIn } from '../../trino-rules/document/expression-warnings.js';
import { foreignSyntaxProblem } from './foreign-expression.js';
import { type Door, sqlFor } from './door-search.js';
import { anyName } from './foreign-language.js';
import type { ForeignColumn, ForeignExpression, ForeignRule } from './foreign-rules.js';

/** Why the engine refuses statements that a table rule seems to allow; it reads filters and masks only then (seen on 483). */
export interface StatementFault {
  code: 'expression-syntax' | 'expression-hidden-column' | 'expression-write';
  /** `has a filter that …` */
  problem: string;
}

/** Of every statement that reads or changes rows; null: none is known. */
export function expressionFault({ filter, columns }: ForeignRule): StatementFault | null {
  const masks = columns.filter(isMasked).map(({ name, mask }) => ({ ...mask, what: `mask of ${name}` }));
  const expressions = [...(filter === null ? [] : [{ ...filter, what: 'filter' }]), ...masks];
  for (const { what, text } of expressions) {
    // Empty ones are reported as such.
    const problem = /\S/.test(text) ? foreignSyntaxProblem(text) : null;
    if (problem !== null)
      return { code: 'expression-syntax', problem: `has a ${what} that is no expression of SQL: ${problem}` };
  }
  const hidden = columns.filter(({ allow }) => !allow).map(({ name }) => name);
  for (const { what, text, runsAs } of expressions) {
    // Columns are read as another identity, if one is given.
    const named = runsAs === null && hidden.length > 0 ? columnsIn(text) : null;
    const column = hidden.find((name) => named?.has(name));
    if (column !== undefined)
      return { code: 'expression-hidden-column', problem: `has a ${what} that reads ${column}, which it hides` };
  }
  return null;
}

/** Those of a rule's privileges that change rows and have no effect beside its filter or masks. */
export function refusedWrites({ filter, columns, gives }: ForeignRule): string[] {
  const refused = columns.some(isMasked) ? ['INSERT', 'UPDATE', 'DELETE'] : filter === null ? [] : ['UPDATE'];
  return gives.filter((right) => refused.includes(right));
}

/** Of the statement that a privilege is for. */
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

/** The engine's column names are lower-case: other names restrict nothing. */
export function isColumn(name: string): boolean {
  return name !== '' && name === name.toLowerCase();
}

/** GRANT_SELECT contains SELECT. */
export function reads({ gives }: ForeignRule): boolean {
  return gives.includes('SELECT') || gives.includes('GRANT_SELECT');
}

/** Filters and masks with which the engine refuses what the rule seems to give, as findings with a person and a table. */
export const FAULTY_EXPRESSIONS: readonly Door[] = [
  faulty('expression-syntax'),
  faulty('expression-hidden-column'),
  {
    code: 'expression-write',
    mode: 'all',
    // What DELETE alone does is told by door-truncate.
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
