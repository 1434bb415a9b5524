import type { Bits } from '../../grants/domain/bits.js';
import type { IntentSets, NamedNode } from '../../grants/domain/intent-sets.js';
import { audience } from './audience.js';
import { literal } from './name-pattern.js';
import type { SchemaRule } from './rules-document.js';

/** Who owns a schema: whoever has OWNERSHIP on it or on its catalog. Schemas first, then catalogs. */
export function schemaRules(intent: IntentSets): SchemaRule[] {
  return [...intent.catalogs()].flatMap((catalog) => {
    const everywhere = owners(catalog);
    const schemas = [...catalog.children()].flatMap((schema) => {
      const here = owners(schema);
      return [...rule(schema, here.minus(everywhere), true), ...rule(schema, everywhere.minus(here), false)];
    });
    return [...schemas, ...rule(catalog, everywhere, true)];
  });

  function owners({ sets }: NamedNode): Bits {
    return sets.privileges.OWNERSHIP.minus(intent.subjects.serviceAccounts);
  }

  function rule({ resource: { catalog, schema } }: NamedNode, people: Bits, owner: boolean): SchemaRule[] {
    if (people.isEmpty()) return [];
    const where = { catalog: literal(catalog), ...(schema !== undefined && { schema: literal(schema) }) };
    return [{ user: audience(people, intent.subjects.list), ...where, owner }];
  }
}
