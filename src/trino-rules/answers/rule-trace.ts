import { FRESH_PREFIX } from '../document/open-names.js';
import { READERS_FILTER, type RulesDocument } from '../document/rules-document.js';
import { conjuncts } from '../engine/actual-access.js';
import { decidingRule, type RuleAt } from '../engine/deciding-rule.js';
import { type Evaluator, INFORMATION_SCHEMA, routineAt, tableAt } from '../engine/evaluator.js';
import type { Patterned } from '../engine/first-match.js';
import type { Access } from '../model/intent.js';
import { type DataQuestion, isAboutData, type Question } from '../model/question.js';

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
  const asked = askedFirst(question);
  const rule = decidingRule(evaluator, asked, user);
  return {
    allowed: evaluator.allows(user, question),
    rule,
    considered: triedBefore(evaluator, user, asked, rule),
  };
}

/** Whether a user reads at a node by the rules under these filters, masks and hidden columns. */
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

/** Once the catalog may be entered, the engine filters `information_schema` itself. */
function askedFirst(question: Question): Question {
  if (!isAboutData(question) || question.resource.schema !== INFORMATION_SCHEMA) return question;
  return { about: 'catalog-mode', resource: { catalog: tableAt(question.resource).catalog }, mode: 'read-only' };
}

/** Of the sections that the engine asks in turn: catalogs, which gate everything below, then that of the rule that decides. */
function triedBefore(evaluator: Evaluator, user: string, asked: Question, decided: RuleAt | null): RuleAt[] {
  const { first, rules } = evaluator;
  const before = <Key extends string>(
    section: keyof RulesDocument,
    tried: readonly Patterned<NoInfer<Key>>[],
    names: Readonly<Record<Key, string>>,
  ): RuleAt[] =>
    tried
      .slice(0, decided?.section === section ? decided.index : tried.length)
      .flatMap((rule, index) => (first.matches(rule, names) ? [{ section, index }] : []));
  const gates = (catalog: string): RuleAt[] => {
    if (decided?.section === 'catalogs') return before('catalogs', rules.catalogs, { catalog });
    const gate = first.index(rules.catalogs, { catalog, user }) ?? rules.catalogs.length;
    return before('catalogs', rules.catalogs.slice(0, gate + 1), { catalog });
  };
  const isShut = (catalog: string): boolean => decided?.section === 'catalogs' || !evaluator.mayRead(user, catalog);
  switch (asked.about) {
    case 'catalog-mode':
      return before('catalogs', rules.catalogs, { catalog: asked.resource.catalog });
    case 'schema-ownership':
    case 'table-procedures':
    case 'privilege': {
      const { catalog, schema, table } = tableAt(asked.resource);
      if (isShut(catalog)) return gates(catalog);
      return asked.about !== 'schema-ownership'
        ? [...gates(catalog), ...before('tables', rules.tables, { catalog, schema, table })]
        : [...gates(catalog), ...before('schemas', rules.schemas, { catalog, schema })];
    }
    case 'routine': {
      const { catalog, schema, routine } = routineAt(asked.resource);
      if (isShut(catalog)) return gates(catalog);
      return asked.kind === 'function'
        ? [...gates(catalog), ...before('functions', rules.functions, { catalog, schema, function: routine })]
        : [...gates(catalog), ...before('procedures', rules.procedures, { catalog, schema, procedure: routine })];
    }
    case 'queries': {
      const { right, owner = FRESH_PREFIX } = asked;
      const tried = before('queries', rules.queries, { queryOwner: owner });
      // A rule about the queries of some users is none about executing.
      return right === 'execute' ? tried.filter(({ index }) => rules.queries[index]?.queryOwner === undefined) : tried;
    }
    case 'impersonation':
      return before('impersonation', rules.impersonation, { new_user: asked.newUser });
    case 'system-information':
      return before('system_information', rules.system_information, {});
    case 'session-property': {
      const { catalog, property } = asked;
      if (catalog !== null && isShut(catalog)) return gates(catalog);
      return catalog === null
        ? before('system_session_properties', rules.system_session_properties, { property })
        : [
            ...gates(catalog),
            ...before('catalog_session_properties', rules.catalog_session_properties, { catalog, property }),
          ];
    }
  }
}
