import type { Bits } from './bits.js';
import type { IntentSets, NamedNode } from './intent-sets.js';
import { literal } from './name-pattern.js';
import type { Part } from './rectangles.js';
import type { SchemaRule } from '../rules/rules-document.js';
import { SiblingRules } from './sibling-rules.js';

/** Who owns a schema: whoever has OWNERSHIP on it or on its catalog. Schemas first, then catalogs. */
export function schemaRules(intent: IntentSets): SchemaRule[] {
  const { none, serviceAccounts } = intent.subjects;
  const write = new SiblingRules(intent);
  const catalogs = [...intent.catalogs()];
  const narrow = catalogs.flatMap((catalog) => {
    const siblings = [...catalog.children()].map((schema) => ({
      name: schema.resource.schema ?? '',
      parts: parts(owners(schema), owners(catalog)),
    }));
    return write.of(siblings, 'schema', { catalog: literal(catalog.resource.catalog) });
  });
  const wide = catalogs.map((catalog) => ({ name: catalog.resource.catalog, parts: parts(owners(catalog), none) }));
  return [...narrow, ...write.of(wide, 'catalog', {})];

  function owners({ sets }: NamedNode): Bits {
    return sets.privileges.OWNERSHIP.minus(serviceAccounts);
  }

  function parts(here: Bits, above: Bits): Part<Pick<SchemaRule, 'owner'>>[] {
    const lost = above.minus(here);
    return [
      { outcome: { owner: true }, rank: 1, must: here.minus(above), may: here },
      { outcome: { owner: false }, rank: 0, must: lost, may: lost },
    ];
  }
}
