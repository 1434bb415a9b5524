import type { SchemaRule } from '../document/rules-document.js';
import { Bitset } from './bitset.js';
import type { RoutineRight } from './engine-terms.js';
import type { IntentSets, NamedNode } from './intent-sets.js';
import { literal } from './name-pattern.js';
import type { PrincipalIndex } from './principal-index.js';
import type { Sibling } from './rectangles.js';
import type { SiblingRules } from './sibling-rules.js';

/**
 * Owners of schemas: users with ownership of the schema or of a node above, unless a table of the schema is restricted to them: they
 * would drop it with the schema. Schemas first, then catalogs, then everything.
 */
export function schemaRules({ principals, ...intent }: IntentSets, write: SiblingRules): SchemaRule[] {
  const narrow: SchemaRule[] = [];
  const wide: Sibling<Owner>[] = [];
  const everything = sibling(intent.root, principals.none);
  for (const catalog of intent.root.children()) {
    const above = sibling(catalog, everything.holders);
    const schemas = [...catalog.children()].map((schema) => sibling(schema, above.holders));
    narrow.push(...write.of(schemas, 'schema', { catalog: literal(catalog.name) }));
    wide.push(above);
  }
  return [...narrow, ...write.of(wide, 'catalog', {}), ...write.of([everything], 'everything', {})];

  function sibling(node: NamedNode, above: Bitset): Sibling<Owner> {
    return withRight('owner', node, above, principals, (owner) => ({ owner }), node.restrictedBelow);
  }
}

type Owner = Pick<SchemaRule, 'owner'>;

/**
 * Users who gain or lose a right at a node, service accounts left out.
 * @param above holders at the node above
 * @param effect of having it
 * @param without users who cannot have it here
 */
export function withRight<Effect>(
  right: 'owner' | RoutineRight,
  { name, access: { changes } }: NamedNode,
  above: Bitset,
  { none, serviceAccounts }: PrincipalIndex,
  effect: (has: boolean) => Effect,
  without = none,
): Sibling<Effect> {
  const changed = (has: boolean): Bitset => {
    const those = changes.filter(({ from, to }) => from.has(right) !== has && to.has(right) === has);
    return Bitset.of(
      none.size,
      those.map(({ position }) => position),
    ).minus(serviceAccounts);
  };
  const [gained, lost] = [changed(true).minus(without), changed(false).or(above.and(without))];
  const holders = above.minus(lost).or(gained);
  const parts = [
    { effect: effect(true), rank: 1, must: gained, may: holders },
    { effect: effect(false), rank: 0, must: lost, may: lost },
  ];
  return { name, parts, holders };
}
