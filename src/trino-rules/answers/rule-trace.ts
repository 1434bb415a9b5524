import { READERS_FILTER } from '../document/rules-document.js';
import { conjuncts } from '../engine/schema-tables.js';
import {
  decidingRule,
  matchesLookup,
  lookupOf,
  lookupOfCatalog,
  type RuleLocation,
  type RuleLookup,
} from '../engine/deciding-rule.js';
import { type Evaluator, INFORMATION_SCHEMA, tableAt } from '../engine/evaluator.js';
import type { Access } from '../model/intent.js';
import { type DataQuestion, isAboutData, type Question } from '../model/question.js';

/** The engine's answer to a question according to a rules document, and the rules that the engine tries for it. */
export interface RuleTrace {
  allowed: boolean;
  /** The deciding rule; null: no rule matches, so that access is denied. */
  rule: RuleLocation | null;
  /** Rules about the node that the engine tries before `rule`. */
  considered: RuleLocation[];
}

/** Finds the rules that lead to an answer. A question about a schema, without a table, is answered for a table that no rule names. */
export function traceRules(evaluator: Evaluator, user: string, question: Question): RuleTrace {
  const engineQuestion = questionForEngine(question);
  const rule = decidingRule(evaluator, engineQuestion, user);
  return {
    allowed: evaluator.allows(user, question),
    rule,
    considered: triedRules(evaluator, user, engineQuestion, rule),
  };
}

/** Whether the rules restrict a user at a node by exactly these filters, masks and hidden columns. */
export function restrictsExactly(
  evaluator: Evaluator,
  user: string,
  { resource, column }: Pick<DataQuestion, 'resource' | 'column'>,
  { filters, hiddenColumns, masks }: Pick<Access, 'filters' | 'hiddenColumns' | 'masks'>,
): boolean {
  const rule = evaluator.rules.tables[evaluator.tableRuleIndex(user, tableAt(resource)) ?? -1];
  const columns = (rule?.columns ?? []).filter(({ name }) => column === undefined || name === column);
  const expectedRestrictions = [
    ...filters.map((expression) => [`(${expression})`]),
    ...hiddenColumns.map((name) => [name, null]),
    ...masks.map(({ column: name, expression }) => [name, expression]),
  ];
  const actualRestrictions = [
    ...(rule?.filter === undefined || rule.filter === READERS_FILTER
      ? []
      : conjuncts(rule.filter).map((conjunct) => [conjunct])),
    ...columns.flatMap(({ name, allow, mask }) =>
      allow === false ? [[name, null]] : mask === undefined ? [] : [[name, mask]],
    ),
  ];
  const sortedTexts = (restrictions: unknown[][]) =>
    [...new Set(restrictions.map((restriction) => JSON.stringify(restriction)))].sort();
  return JSON.stringify(sortedTexts(expectedRestrictions)) === JSON.stringify(sortedTexts(actualRestrictions));
}

/** Replaces a question about `information_schema` by one about the catalog: the engine lets all users with access to the catalog read the schema. */
function questionForEngine(question: Question): Question {
  if (!isAboutData(question) || question.resource.schema !== INFORMATION_SCHEMA) return question;
  return { about: 'catalog-mode', resource: { catalog: tableAt(question.resource).catalog }, mode: 'read-only' };
}

/** The matching rules that the engine tries before `decidingRule`: in `catalogs`, then in the question's own section. */
function triedRules(
  evaluator: Evaluator,
  user: string,
  question: Question,
  decidingRule: RuleLocation | null,
): RuleLocation[] {
  const { firstMatch, rules } = evaluator;
  const matchingRules = (lookup: RuleLookup, endIndex?: number): RuleLocation[] => {
    const { section } = lookup;
    const sectionRules: readonly object[] = rules[section];
    return sectionRules
      .slice(0, endIndex)
      .flatMap((rule, index) => (matchesLookup(evaluator, lookup, rule) ? [{ section, index }] : []));
  };
  const lookup = lookupOf(question);
  if (lookup.requiredCatalog === undefined) return matchingRules(lookup, decidingRule?.index);
  const { catalog } = lookup.requiredCatalog;
  if (decidingRule?.section === 'catalogs') return matchingRules(lookupOfCatalog(catalog), decidingRule.index);
  const matchingRuleIndex = firstMatch.index(rules.catalogs, { catalog, user }) ?? rules.catalogs.length;
  const triedCatalogRules = matchingRules(lookupOfCatalog(catalog), matchingRuleIndex + 1);
  return evaluator.mayReadCatalog(user, catalog)
    ? [...triedCatalogRules, ...matchingRules(lookup, decidingRule?.index)]
    : triedCatalogRules;
}
