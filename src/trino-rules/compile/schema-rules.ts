import type { SchemaRule } from '../document/rules-document.js';
import { Bitset } from './bitset.js';
import type { IntentSets, NamedNode } from './intent-sets.js';
import { literal } from './name-pattern.js';
import type { Sibling } from './rectangles.js';
import type { SiblingRules } from './sibling-rules.js';

/** Owners of schemas: users with ownership of the schema or its catalog. Schemas first, then catalogs. */
export function schemaRules({ principals, ...intent }: IntentSets, write: SiblingRules): SchemaRule[] {
  const { none, serviceAccounts } = principals;
  const narrow: SchemaRule[] = [];
  const wide: Sibling<Owner>[] = [];
  for (const catalog of intent.root.children()) {
    const above = sibling(catalog, none);
    const schemas = [...catalog.children()].map((schema) => sibling(schema, above.holders));
    narrow.push(...write.of(schemas, 'schema', { catalog: literal(catalog.name) }));
    wide.push(above);
  }
  return [...narrow, ...write.of(wide, 'catalog', {})];

  /** @param owners of the node above. */
  function sibling({ name, access: { changes } }: NamedNode, owners: Bitset): Sibling<Owner> {
    const changed = (owns: boolean): Bitset => {
      const those = changes.filter(({ from, to }) => from.has('owner') !== owns && to.has('owner') === owns);
      return Bitset.of(
        none.size,
        those.map(({ position }) => position),
      ).minus(serviceAccounts);
    };
    const [gained, lost] = [changed(true), changed(false)];
    const holders = owners.minus(lost).or(gained);
    const parts = [
      { effect: { owner: true }, rank: 1, must: gained, may: holders },
      { effect: { owner: false }, rank: 0, must: lost, may: lost },
    ];
    return { name, parts, holders };
  }
}

type Owner = Pick<SchemaRule, 'owner'>;
