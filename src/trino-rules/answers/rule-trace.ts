import { READERS_FILTER } from '../document/rules-document.js';
import { conjuncts } from '../engine/schema-tables.js';
import {
  decidingRule,
  isMatched,
  lookupOf,
  lookupOfCatalog,
  type RuleAt,
  type RuleLookup,
} from '../engine/deciding-rule.js';
import { type Evaluator, INFORMATION_SCHEMA, tableAt } from '../engine/evaluator.js';
import type { Access } from '../model/intent.js';
import { type DataQuestion, isAboutData, type Question } from '../model/question.js';

/** How the engine comes to its answer by the rules of a document. */
export interface RuleTrace {
  allowed: boolean;
  /** The deciding rule; null: none matches, which denies. */
  rule: RuleAt | null;
  /** Rules about this node that the engine tries before `rule`, in order: those for other users, and the catalog rule that admits this one. */
  considered: RuleAt[];
}

/** Asks a document as the engine would. An unnamed level of the node represents any name without a rule of its own. */
export function traceRules(evaluator: Evaluator, user: string, question: Question): RuleTrace {
  const asked = askedFirst(question);
  const rule = decidingRule(evaluator, asked, user);
  return {
    allowed: evaluator.allows(user, question),
    rule,
    considered: triedBefore(evaluator, user, asked, rule),
  };
}

/** Whether the rules restrict a user at a node by exactly these filters, masks and hidden columns. */
export function hasTheseLimits(
  evaluator: Evaluator,
  user: string,
  { resource, column }: Pick<DataQuestion, 'resource' | 'column'>,
  { filters, hidden, masks }: Pick<Access, 'filters' | 'hidden' | 'masks'>,
): boolean {
  const rule = evaluator.rules.tables[evaluator.tableRule(user, tableAt(resource)) ?? -1];
  const columns = (rule?.columns ?? []).filter(({ name }) => column === undefined || name === column);
  const expected = [
    ...filters.map((expression) => [`(${expression})`]),
    ...hidden.map((name) => [name, null]),
    ...masks.map(({ column: name, expression }) => [name, expression]),
  ];
  const actual = [
    ...(rule?.filter === undefined || rule.filter === READERS_FILTER
      ? []
      : conjuncts(rule.filter).map((conjunct) => [conjunct])),
    ...columns.flatMap(({ name, allow, mask }) =>
      allow === false ? [[name, null]] : mask === undefined ? [] : [[name, mask]],
    ),
  ];
  const texts = (limits: unknown[][]): string[] => [...new Set(limits.map((limit) => JSON.stringify(limit)))].sort();
  return JSON.stringify(texts(expected)) === JSON.stringify(texts(actual));
}

/** The engine filters `information_schema` itself, for users who may enter the catalog. */
function askedFirst(question: Question): Question {
  if (!isAboutData(question) || question.resource.schema !== INFORMATION_SCHEMA) return question;
  return { about: 'catalog-mode', resource: { catalog: tableAt(question.resource).catalog }, mode: 'read-only' };
}

/** The rules that are tried: first those about entering the catalog, then those of the section that decides. */
function triedBefore(evaluator: Evaluator, user: string, asked: Question, decided: RuleAt | null): RuleAt[] {
  const { first, rules } = evaluator;
  const tried = (lookup: RuleLookup, end?: number): RuleAt[] => {
    const { section } = lookup;
    const list: readonly object[] = rules[section];
    return list
      .slice(0, end)
      .flatMap((rule, index) => (isMatched(evaluator, lookup, rule) ? [{ section, index }] : []));
  };
  const lookup = lookupOf(asked);
  if (lookup.gate === undefined) return tried(lookup, decided?.index);
  const { catalog } = lookup.gate;
  if (decided?.section === 'catalogs') return tried(lookupOfCatalog(catalog), decided.index);
  const gate = first.index(rules.catalogs, { catalog, user }) ?? rules.catalogs.length;
  const gates = tried(lookupOfCatalog(catalog), gate + 1);
  return evaluator.mayRead(user, catalog) ? [...gates, ...tried(lookup, decided?.index)] : gates;
}
