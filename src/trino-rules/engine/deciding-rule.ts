import { FRESH_PREFIX } from '../document/open-names.js';
import { patternOf, ruleText, type RulesDocument } from '../document/rules-document.js';
import type { AccessFact } from './access-fact.js';
import { type Evaluator, routineAt, tableAt } from './evaluator.js';

export interface RuleLocation {
  section: keyof RulesDocument;
  index: number;
}

/** The arguments of a search for the first rule that matches a user and these names. */
export interface RuleLookup {
  section: keyof RulesDocument;
  names: Readonly<Record<string, string>>;
  /** The catalog to which the user also needs access. `isForWriting`: the catalog's mode must be `all`, not `read-only`. */
  requiredCatalog?: { catalog: string; isForWriting: boolean };
}

/** The search for the rule that decides a permission or restriction. */
export function lookupOf(fact: AccessFact): RuleLookup {
  const requiresCatalog = (catalog: string, isForWriting = false) => ({ requiredCatalog: { catalog, isForWriting } });
  switch (fact.about) {
    case 'catalog-mode':
      return lookupOfCatalog(fact.resource.catalog);
    case 'schema-ownership': {
      const { catalog, schema } = tableAt(fact.resource);
      return { section: 'schemas', names: { catalog, schema }, ...requiresCatalog(catalog, true) };
    }
    case 'privilege':
    case 'table-procedures': {
      const { catalog, schema, table } = tableAt(fact.resource);
      const isForWriting = fact.about === 'privilege' && fact.privilege !== 'SELECT';
      return { section: 'tables', names: { catalog, schema, table }, ...requiresCatalog(catalog, isForWriting) };
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
      const names = { catalog, schema, [fact.kind]: routine };
      return { section: `${fact.kind}s`, names, ...requiresCatalog(catalog) };
    }
    case 'system-information':
      return { section: 'system_information', names: {} };
    case 'session-property': {
      const { catalog, property } = fact;
      return catalog === null
        ? { section: 'system_session_properties', names: { property } }
        : { section: 'catalog_session_properties', names: { catalog, property }, ...requiresCatalog(catalog) };
    }
  }
}

export function lookupOfCatalog(catalog: string): RuleLookup {
  return { section: 'catalogs', names: { catalog } };
}

/** Whether a rule matches the names of a lookup, and the user if one is given. */
export function matchesLookup(
  { firstMatch }: Evaluator,
  { section, names }: RuleLookup,
  rule: object,
  user?: string,
): boolean {
  // A rule with `queryOwner` does not decide about executing queries.
  if (section === 'queries' && !('queryOwner' in names) && patternOf(rule, 'queryOwner') !== undefined) return false;
  const key = section === 'impersonation' ? 'original_user' : 'user';
  return firstMatch.matches(rule, user === undefined ? names : { ...names, [key]: user });
}

/** The rule that decides a fact for a user. If the user lacks access to the catalog, this is the catalog rule. Null: no rule matches. */
export function decidingRule(evaluator: Evaluator, fact: AccessFact, user: string): RuleLocation | null {
  const lookup = lookupOf(fact);
  const { requiredCatalog } = lookup;
  const mayEnter =
    requiredCatalog === undefined ||
    (requiredCatalog.isForWriting
      ? evaluator.mayWriteCatalog(user, requiredCatalog.catalog)
      : evaluator.mayReadCatalog(user, requiredCatalog.catalog));
  const decidingLookup = mayEnter ? lookup : lookupOfCatalog(requiredCatalog.catalog);
  const rules: readonly object[] = evaluator.rules[decidingLookup.section];
  const index = rules.findIndex((rule) => matchesLookup(evaluator, decidingLookup, rule, user));
  return index < 0 ? null : { section: decidingLookup.section, index };
}

/** The section and the index of a rule as text: `tables[12]`. */
export function nameOfRule({ section, index }: { section: string; index: number }): string {
  return `${section}[${index}]`;
}

export function textOfRule(rules: RulesDocument, { section, index }: RuleLocation): string {
  return ruleText(rules[section][index] ?? {});
}
