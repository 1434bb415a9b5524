import type { AccessDiff, AccessDifference } from '../../trino-rules/diff/access-diff.js';
import { READERS_FILTER, type RulesDocument } from '../../trino-rules/document/rules-document.js';
import { conjuncts } from '../../trino-rules/engine/schema-tables.js';
import type { AccessFact } from '../../trino-rules/engine/access-fact.js';
import { expressionProblem } from '../../trino-rules/model/sql-expression.js';

type RowFilter = Extract<AccessFact, { about: 'row-filter' }>;

/** `(a)` as `a`: rules are compiled with parentheses around each filter. */
export function withoutParentheses(conjunct: string): string {
  const inner = conjunct.slice(1, -1);
  const isWrapped = conjunct.startsWith('(') && conjunct.endsWith(')') && expressionProblem(inner) === null;
  return isWrapped ? inner : conjunct;
}

/** Without the filters that are replaced by the same one, or the same ones in another order: nobody gains or loses a row by that. */
export function withoutEqualFilters<Fact extends { about: string }>(access: AccessDiff<Fact>): AccessDiff<Fact> {
  const lost = access.lost.map((difference) => ({ ...difference }));
  const gained = access.gained.map((difference) => {
    const kept = { ...difference };
    const { fact } = difference;
    if (!isRowFilter(fact)) return kept;
    for (const other of lost) {
      if (!isRowFilter(other.fact) || filterKey(other.fact) !== filterKey(fact)) continue;
      for (const users of ['people', 'strangers'] as const) {
        const common = new Set(kept[users].filter((user) => other[users].includes(user)));
        kept[users] = kept[users].filter((user) => !common.has(user));
        other[users] = other[users].filter((user) => !common.has(user));
      }
    }
    return kept;
  });
  return { gained: gained.filter(isSomebodys), lost: lost.filter(isSomebodys) };
}

function isRowFilter(fact: { about: string }): fact is RowFilter {
  return fact.about === 'row-filter';
}

/** Equal for filters of one node that admit the same rows. */
function filterKey({ resource, expression }: RowFilter): string {
  return JSON.stringify([resource, [...new Set(conjuncts(expression).map(withoutParentheses))].sort()]);
}

function isSomebodys({ people, strangers }: Pick<AccessDifference, 'people' | 'strangers'>): boolean {
  return people.length + strangers.length > 0;
}

/** The document with each row filter as a set of bare expressions: a compiled filter has parentheses around each. */
export function withComparableFilters(document: RulesDocument): RulesDocument {
  const tables = document.tables.map((rule) =>
    // The filter of those who only read is none of rows.
    rule.filter === undefined || rule.filter === READERS_FILTER
      ? rule
      : {
          ...rule,
          filter: conjuncts(rule.filter)
            .map((conjunct) => `(${withoutParentheses(conjunct)})`)
            .join(' AND '),
        },
  );
  return { ...document, tables };
}
