import { FRESH_PREFIX } from '../document/open-names.js';
import { patternOf, ruleText, type RulesDocument } from '../document/rules-document.js';
import type { AccessFact } from './access-fact.js';
import { type Evaluator, routineAt, tableAt } from './evaluator.js';

/** A rule and its position. */
export interface RuleAt {
  section: keyof RulesDocument;
  index: number;
}

/** The search for the first rule of a section that matches a user and these names. */
export interface RuleLookup {
  section: keyof RulesDocument;
  names: Readonly<Record<string, string>>;
  /** The catalog that the user must be allowed to enter first, and whether in the mode `all`. */
  gate?: { catalog: string; isForWriting: boolean };
}

/** The lookup that answers a fact. An unnamed level has a fresh name. */
export function lookupOf(fact: AccessFact): RuleLookup {
  const behind = (catalog: string, isForWriting = false) => ({ gate: { catalog, isForWriting } });
  switch (fact.about) {
    case 'catalog-mode':
      return lookupOfCatalog(fact.resource.catalog);
    case 'schema-ownership': {
      const { catalog, schema } = tableAt(fact.resource);
      return { section: 'schemas', names: { catalog, schema }, ...behind(catalog, true) };
    }
    case 'privilege':
    case 'table-procedures': {
      const { catalog, schema, table } = tableAt(fact.resource);
      const isForWriting = fact.about === 'privilege' && fact.privilege !== 'SELECT';
      return { section: 'tables', names: { catalog, schema, table }, ...behind(catalog, isForWriting) };
    }
    case 'row-filter':
    case 'hidden-column':
    case 'column-mask': {
      const { catalog, schema, table } = tableAt(fact.resource);
      return { section: 'tables', names: { catalog, schema, table } };
    }
    case 'queries':
      return { section: 'queries', names: fact.right === 'execute' ? {} : { queryOwner: fact.owner ?? FRESH_PREFIX } };
    case 'impersonation':
      return { section: 'impersonation', names: { new_user: fact.newUser } };
    case 'routine': {
      const { catalog, schema, routine } = routineAt(fact.resource);
      return { section: `${fact.kind}s`, names: { catalog, schema, [fact.kind]: routine }, ...behind(catalog) };
    }
    case 'system-information':
      return { section: 'system_information', names: {} };
    case 'session-property': {
      const { catalog, property } = fact;
      return catalog === null
        ? { section: 'system_session_properties', names: { property } }
        : { section: 'catalog_session_properties', names: { catalog, property }, ...behind(catalog) };
    }
  }
}

export function lookupOfCatalog(catalog: string): RuleLookup {
  return { section: 'catalogs', names: { catalog } };
}

/** Whether a rule matches the names of a lookup, and the user where one is given. */
export function isMatched({ first }: Evaluator, { section, names }: RuleLookup, rule: object, user?: string): boolean {
  // A rule about the queries of some users is none about executing.
  if (section === 'queries' && !('queryOwner' in names) && patternOf(rule, 'queryOwner') !== undefined) return false;
  const key = section === 'impersonation' ? 'original_user' : 'user';
  return first.matches(rule, user === undefined ? names : { ...names, [key]: user });
}

/** The rule that decides an access fact for a user: a catalog rule if it keeps the user out. Null: no rule matches. */
export function decidingRule(evaluator: Evaluator, fact: AccessFact, user: string): RuleAt | null {
  const lookup = lookupOf(fact);
  const { gate } = lookup;
  const mayEnter =
    gate === undefined ||
    (gate.isForWriting ? evaluator.mayWrite(user, gate.catalog) : evaluator.mayRead(user, gate.catalog));
  const asked = mayEnter ? lookup : lookupOfCatalog(gate.catalog);
  const rules: readonly object[] = evaluator.rules[asked.section];
  const index = rules.findIndex((rule) => isMatched(evaluator, asked, rule, user));
  return index < 0 ? null : { section: asked.section, index };
}

/** `tables[12]` */
export function nameOfRule({ section, index }: { section: string; index: number }): string {
  return `${section}[${index}]`;
}

/** The rule itself, as a text for people. */
export function textOfRule(rules: RulesDocument, { section, index }: RuleAt): string {
  return ruleText(rules[section][index] ?? {});
}
