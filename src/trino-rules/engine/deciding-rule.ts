import { FRESH_PREFIX } from '../document/pattern-cache.js';
import { ruleText, type RulesDocument } from '../document/rules-document.js';
import type { Resource } from '../model/resource.js';
import type { AccessFact } from './access-fact.js';
import type { Evaluator } from './evaluator.js';

/** A rule and where it stands. */
export interface RuleAt {
  section: keyof RulesDocument;
  index: number;
}

/** The rule by which the engine decides an fact for somebody; null where none matches. The catalog's gate comes first. */
export function decidingRule(evaluator: Evaluator, fact: AccessFact, user: string): RuleAt | null {
  const at = (section: keyof RulesDocument, index: number | null): RuleAt | null =>
    index === null ? null : { section, index };
  const gate = (catalog: string): RuleAt | null => at('catalogs', evaluator.catalogRule(user, catalog));
  switch (fact.about) {
    case 'catalog-mode':
      return gate(fact.resource.catalog);
    case 'schema-ownership':
      return evaluator.mayWrite(user, fact.resource.catalog)
        ? at('schemas', evaluator.schemaRule(user, whole(fact.resource)))
        : gate(fact.resource.catalog);
    case 'privilege': {
      const { resource, privilege } = fact;
      const passes =
        privilege === 'SELECT' ? evaluator.mayRead(user, resource.catalog) : evaluator.mayWrite(user, resource.catalog);
      return passes ? at('tables', evaluator.tableRule(user, whole(resource))) : gate(resource.catalog);
    }
    case 'row-filter':
    case 'hidden-column':
    case 'column-mask':
      return at('tables', evaluator.tableRule(user, whole(fact.resource)));
    case 'queries':
      return at('queries', evaluator.queryRule(user));
    case 'impersonation':
      return at('impersonation', evaluator.impersonationRule(user, fact.newUser));
    case 'routine': {
      const { kind, resource, name } = fact;
      return kind === 'function'
        ? at('functions', evaluator.functionRule(user, { ...whole(resource), function: name }))
        : at('procedures', evaluator.procedureRule(user, { ...whole(resource), procedure: name }));
    }
    case 'session-property': {
      const { catalog, property } = fact;
      return catalog === null
        ? at('system_session_properties', evaluator.systemPropertyRule(user, property))
        : at('catalog_session_properties', evaluator.catalogPropertyRule(user, catalog, property));
    }
  }
}

/** `tables[12]` */
export function nameOfRule({ section, index }: RuleAt): string {
  return `${section}[${index}]`;
}

/** The rule itself, as people read it. */
export function textOfRule(rules: RulesDocument, { section, index }: RuleAt): string {
  return ruleText(rules[section][index] ?? {});
}

function whole({ catalog, schema = FRESH_PREFIX, table = FRESH_PREFIX }: Resource): Required<Resource> {
  return { catalog, schema, table };
}
