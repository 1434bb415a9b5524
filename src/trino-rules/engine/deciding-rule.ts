import { FRESH_PREFIX } from '../document/pattern-cache.js';
import { ruleText } from '../document/rule-text.js';
import type { RulesDocument } from '../document/rules-document.js';
import type { AccessFact, Place } from './access-fact.js';
import type { Evaluator } from './evaluator.js';

/** A rule and where it stands. */
export interface RuleAt {
  section: keyof RulesDocument;
  index: number;
}

/** The rule by which the engine decides an aspect for somebody; null where none matches. The catalog's gate comes first. */
export function decidingRule(evaluator: Evaluator, aspect: AccessFact, user: string): RuleAt | null {
  const at = (section: keyof RulesDocument, index: number | null): RuleAt | null =>
    index === null ? null : { section, index };
  const gate = (catalog: string): RuleAt | null => at('catalogs', evaluator.catalogRule(user, catalog));
  switch (aspect.about) {
    case 'catalog-mode':
      return gate(aspect.place.catalog);
    case 'schema-ownership':
      return evaluator.mayWrite(user, aspect.place.catalog)
        ? at('schemas', evaluator.schemaRule(user, whole(aspect.place)))
        : gate(aspect.place.catalog);
    case 'privilege': {
      const { place, privilege } = aspect;
      const passes =
        privilege === 'SELECT' ? evaluator.mayRead(user, place.catalog) : evaluator.mayWrite(user, place.catalog);
      return passes ? at('tables', evaluator.tableRule(user, whole(place))) : gate(place.catalog);
    }
    case 'row-filter':
    case 'hidden-column':
    case 'column-mask':
      return at('tables', evaluator.tableRule(user, whole(aspect.place)));
    case 'queries':
      return at('queries', evaluator.queryRule(user));
    case 'impersonation':
      return at('impersonation', evaluator.impersonationRule(user, aspect.newUser));
    case 'routine': {
      const { kind, place, name } = aspect;
      return kind === 'function'
        ? at('functions', evaluator.functionRule(user, { ...whole(place), function: name }))
        : at('procedures', evaluator.procedureRule(user, { ...whole(place), procedure: name }));
    }
    case 'session-property': {
      const { catalog, property } = aspect;
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

function whole({ catalog, schema = FRESH_PREFIX, table = FRESH_PREFIX }: Place): Required<Place> {
  return { catalog, schema, table };
}
