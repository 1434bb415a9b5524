import { READERS_FILTER, type RulesDocument } from '../../trino-rules/document/rules-document.js';
import { conjuncts } from '../../trino-rules/engine/schema-tables.js';
import { expressionProblem } from '../../trino-rules/model/sql-expression.js';

/** `(a)` as `a`: rules are compiled with parentheses around each filter. */
export function withoutParentheses(conjunct: string): string {
  const inner = conjunct.slice(1, -1);
  const isWrapped = conjunct.startsWith('(') && conjunct.endsWith(')') && expressionProblem(inner) === null;
  return isWrapped ? inner : conjunct;
}

/** The document with parentheses around each conjunct of a row filter, so that equal ones are equal texts, in any order. */
export function withComparableFilters(document: RulesDocument): RulesDocument {
  const tables = document.tables.map((rule) => {
    // The filter of those who only read restricts no rows.
    if (rule.filter === undefined || rule.filter === READERS_FILTER) return rule;
    const filter = conjuncts(rule.filter).map((conjunct) => `(${withoutParentheses(conjunct)})`);
    return { ...rule, filter: filter.join(' AND ') };
  });
  return { ...document, tables };
}

/** A conjunct of a comparable filter as it was written. */
export function shownFilter(conjunct: string): string {
  return conjunct === READERS_FILTER ? conjunct : conjunct.slice(1, -1);
}
