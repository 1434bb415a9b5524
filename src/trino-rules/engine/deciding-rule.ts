import { ruleText, type RulesDocument } from '../document/rules-document.js';
import type { AccessFact } from './access-fact.js';
import { type Evaluator, routineAt, tableAt } from './evaluator.js';

/** A rule and its position. */
export interface RuleAt {
  section: keyof RulesDocument;
  index: number;
}

/** The rule that decides an access fact for a user; null: none matches. Catalog rules come first. */
export function decidingRule(evaluator: Evaluator, fact: AccessFact, user: string): RuleAt | null {
  const at = (section: keyof RulesDocument, index: number | null): RuleAt | null =>
    index === null ? null : { section, index };
  const { first, rules } = evaluator;
  const gate = (catalog: string): RuleAt | null => at('catalogs', first.index(rules.catalogs, { catalog, user }));
  switch (fact.about) {
    case 'catalog-mode':
      return gate(fact.resource.catalog);
    case 'schema-ownership': {
      const { catalog, schema } = tableAt(fact.resource);
      if (!evaluator.mayWrite(user, catalog)) return gate(catalog);
      return at('schemas', first.index(rules.schemas, { catalog, schema, user }));
    }
    case 'privilege': {
      const table = tableAt(fact.resource);
      const passes =
        fact.privilege === 'SELECT' ? evaluator.mayRead(user, table.catalog) : evaluator.mayWrite(user, table.catalog);
      return passes ? at('tables', evaluator.tableRule(user, table)) : gate(table.catalog);
    }
    case 'table-procedures': {
      const table = tableAt(fact.resource);
      return evaluator.mayRead(user, table.catalog)
        ? at('tables', evaluator.tableRule(user, table))
        : gate(table.catalog);
    }
    case 'row-filter':
    case 'hidden-column':
    case 'column-mask':
      return at('tables', evaluator.tableRule(user, tableAt(fact.resource)));
    case 'queries':
      return at('queries', evaluator.queryRule(user, fact.right, fact.owner));
    case 'impersonation':
      return at('impersonation', first.index(rules.impersonation, { original_user: user, new_user: fact.newUser }));
    case 'routine': {
      const { catalog, schema, routine } = routineAt(fact.resource);
      if (!evaluator.mayRead(user, catalog)) return gate(catalog);
      return fact.kind === 'function'
        ? at('functions', first.index(rules.functions, { user, catalog, schema, function: routine }))
        : at('procedures', first.index(rules.procedures, { user, catalog, schema, procedure: routine }));
    }
    case 'system-information':
      return at('system_information', first.index(rules.system_information, { user }));
    case 'session-property': {
      const { catalog, property } = fact;
      if (catalog !== null && !evaluator.mayRead(user, catalog)) return gate(catalog);
      return catalog === null
        ? at('system_session_properties', first.index(rules.system_session_properties, { user, property }))
        : at('catalog_session_properties', first.index(rules.catalog_session_properties, { user, catalog, property }));
    }
  }
}

/** `tables[12]` */
export function nameOfRule({ section, index }: { section: string; index: number }): string {
  return `${section}[${index}]`;
}

/** The rule itself, as people read it. */
export function textOfRule(rules: RulesDocument, { section, index }: RuleAt): string {
  return ruleText(rules[section][index] ?? {});
}
