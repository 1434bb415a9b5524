import { FRESH_PREFIX } from '../document/open-names.js';
import type { RulesDocument } from '../document/rules-document.js';
import type { AccessFact } from '../engine/access-fact.js';
import { decidingRule, type RuleAt } from '../engine/deciding-rule.js';
import { type Evaluator, INFORMATION_SCHEMA } from '../engine/evaluator.js';
import type { Patterned } from '../engine/first-match.js';
import type { Question } from './question.js';

/** How the engine comes to its answer by a document. */
export interface RuleTrace {
  allowed: boolean;
  /** The rule that decides; null: none matches, which denies. */
  rule: RuleAt | null;
  /**
   * The rules about this node that the engine tries before, in its order: rules for other users, and the catalog rule that lets
   * this user in. Rules about other nodes are left out.
   */
  considered: RuleAt[];
}

/** Asks a document as the engine would. An unnamed level of the node stands for any name without a rule of its own. */
export function traceRules(evaluator: Evaluator, user: string, question: Question): RuleTrace {
  const fact = factOf(question);
  const rule = decidingRule(evaluator, fact, user);
  return {
    allowed: isAllowed(evaluator, user, question),
    rule,
    considered: triedBefore(evaluator, user, question, fact, rule),
  };
}

function factOf({ resource, privilege }: Question): AccessFact {
  const { catalog, schema, table } = resource;
  // Once the catalog may be entered, the engine filters this schema itself.
  if (schema === INFORMATION_SCHEMA) return { about: 'catalog-mode', resource: { catalog }, mode: 'read-only' };
  return privilege === 'OWNERSHIP' && table === undefined
    ? { about: 'schema-ownership', resource }
    : { about: 'privilege', resource, privilege };
}

function isAllowed(evaluator: Evaluator, user: string, { resource, column, privilege }: Question): boolean {
  const { catalog, schema = FRESH_PREFIX, table = FRESH_PREFIX } = resource;
  const columns = column === undefined ? [] : [column];
  return privilege === 'OWNERSHIP' && resource.table === undefined
    ? evaluator.ownsSchema(user, { catalog, schema })
    : evaluator.mayUse(user, privilege, { catalog, schema, table }, columns);
}

/** Of the sections that the engine asks in turn: catalogs, which gate everything below, then tables or schemas. */
function triedBefore(
  { first, rules }: Evaluator,
  user: string,
  { resource }: Question,
  fact: AccessFact,
  decided: RuleAt | null,
): RuleAt[] {
  const { catalog, schema = FRESH_PREFIX, table = FRESH_PREFIX } = resource;
  const before = <Key extends string>(
    section: keyof RulesDocument,
    tried: readonly Patterned<NoInfer<Key>>[],
    names: Readonly<Record<Key, string>>,
  ): RuleAt[] =>
    tried
      .slice(0, decided?.section === section ? decided.index : tried.length)
      .flatMap((rule, index) => (first.matches(rule, names) ? [{ section, index }] : []));
  if (decided?.section === 'catalogs' || fact.about === 'catalog-mode') {
    return before('catalogs', rules.catalogs, { catalog });
  }
  const gate = first.index(rules.catalogs, { catalog, user });
  const gates = before('catalogs', rules.catalogs.slice(0, (gate ?? rules.catalogs.length) + 1), { catalog });
  return fact.about === 'schema-ownership'
    ? [...gates, ...before('schemas', rules.schemas, { catalog, schema })]
    : [...gates, ...before('tables', rules.tables, { catalog, schema, table })];
}
