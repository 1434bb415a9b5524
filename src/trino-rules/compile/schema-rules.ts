import type { SchemaRule } from '../document/rules-document.js';
import type { AccessState } from './access-state.js';
import { Bitset } from './bitset.js';
import type { DataRight, RoutineRight } from './engine-terms.js';
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
  const everything = sibling(intent.root, [principals.none]);
  for (const catalog of intent.root.children()) {
    const above = sibling(catalog, everything.held);
    const schemas = [...catalog.children()].map((schema) => sibling(schema, above.held));
    narrow.push(...write.of(schemas, 'schema', { catalog: literal(catalog.name) }));
    wide.push(above);
  }
  return [...narrow, ...write.of(wide, 'catalog', {}), ...write.of([everything], 'everything', {})];

  function sibling(node: NamedNode, above: readonly Bitset[]): RightSibling<Owner> {
    return withRights(OWNING, node, above, principals, node.restrictedBelow);
  }
}

type Owner = Pick<SchemaRule, 'owner'>;

const OWNING: Steps<Owner> = { none: { owner: false }, steps: [{ right: 'owner', effect: { owner: true } }] };

/** Rights each of which contains the one before, and what rules say of their holders. */
export interface Steps<Effect> {
  none: Effect;
  steps: readonly { right: DataRight | RoutineRight; effect: Effect }[];
}

export interface RightSibling<Effect> extends Sibling<Effect> {
  /** By step, those who have it here and no further one. */
  held: readonly Bitset[];
}

/**
 * Users who gain or lose a right at a node, service accounts left out.
 * @param above `held` of the node above
 * @param without users who cannot have any here
 */
export function withRights<Effect>(
  { none: nothing, steps }: Steps<Effect>,
  { name, access: { changes } }: NamedNode,
  above: readonly Bitset[],
  { none, serviceAccounts }: PrincipalIndex,
  without = none,
): RightSibling<Effect> {
  const stepOf = (state: AccessState): number => steps.findLastIndex(({ right }) => state.has(right));
  const moves = changes
    .map(({ position, from, to }) => ({ position, from: stepOf(from), to: stepOf(to) }))
    .filter(({ from, to }) => from !== to);
  const changed = (step: number): Bitset => {
    const positions = moves.flatMap(({ position, to }) => (to === step ? [position] : []));
    return Bitset.of(none.size, positions).minus(serviceAccounts);
  };
  const gained = steps.map((_, step) => changed(step).minus(without));
  const lost = changed(-1).or(above.reduce((all, some) => all.or(some), none).and(without));
  const left = gained.reduce((all, some) => all.or(some), lost);
  const held = gained.map((those, step) => (above[step] ?? none).minus(left).or(those));
  const parts = steps.map(({ effect }, step) => ({
    ...{ effect, rank: step + 1, must: gained[step] ?? none, may: held[step] ?? none },
  }));
  const losing = { effect: nothing, rank: 0, must: lost, may: lost };
  return { name, parts: [...parts.reverse(), losing], held, holders: held.reduce((all, some) => all.or(some), none) };
}
