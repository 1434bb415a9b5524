import type { SchemaRule } from '../document/rules-document.js';
import type { AccessState } from './access-state.js';
import { Bitset } from './bitset.js';
import type { DataRight, RoutineKind, RoutineRight } from './engine-terms.js';
import type { IntentSets, NamedNode } from './intent-sets.js';
import { literal } from './name-pattern.js';
import type { PrincipalIndex } from './principal-index.js';
import type { Sibling } from './rectangles.js';
import type { SiblingRule, SiblingRules } from './sibling-rules.js';

/** Rules for owners of schemas. Users to whom a table of the schema is restricted are not owners: they could drop it with the schema. */
export function schemaRules(intent: IntentSets, write: SiblingRules): (SiblingRule & Owner)[] {
  return rightRules(OWNING, intent, write, null);
}

type Owner = Pick<SchemaRule, 'owner'>;

const OWNING: Steps<Owner> = { none: { owner: false }, steps: [{ right: 'owner', effect: { owner: true } }] };

/** Rights of which each contains the previous one, and the effects of their rules. */
export interface Steps<Effect> {
  none: Effect;
  steps: readonly { right: DataRight | RoutineRight; effect: Effect }[];
}

export interface RightSibling<Effect> extends Sibling<Effect> {
  /** For each step, the users who have it and no further step. */
  held: readonly Bitset[];
}

/**
 * Users who gain or lose a right at a node, without service accounts.
 * @param above `held` at the node above
 * @param without users who can have no right here
 */
export function withRights<Effect>(
  { none: nothing, steps }: Steps<Effect>,
  { name, access: { changes } }: NamedNode,
  above: readonly Bitset[],
  { none, serviceAccounts }: PrincipalIndex,
  without: Bitset,
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

/** Rules for functions that users may run and pass on, or for procedures that they may call. No rule gives OWNERSHIP. */
export function routineRules(kind: RoutineKind, intent: IntentSets, write: SiblingRules): (SiblingRule & Runs)[] {
  return intent.hasRoutines ? rightRules(STEPS[kind], intent, write, kind) : [];
}

interface Runs {
  privileges: ('EXECUTE' | 'GRANT_EXECUTE')[];
}

/** In the engine, the right to pass a function on includes executing it. */
const STEPS: Readonly<Record<RoutineKind, Steps<Runs>>> = {
  function: {
    none: { privileges: [] },
    steps: [
      { right: 'function', effect: { privileges: ['EXECUTE'] } },
      { right: 'passing-function', effect: { privileges: ['GRANT_EXECUTE'] } },
    ],
  },
  procedure: { none: { privileges: [] }, steps: [{ right: 'procedure', effect: { privileges: ['EXECUTE'] } }] },
};

/** The narrowest rules first. @param kind routines below schemas that can be named; null: none */
function rightRules<Effect extends object>(
  steps: Steps<Effect>,
  { principals, root }: IntentSets,
  write: SiblingRules,
  kind: RoutineKind | null,
): (SiblingRule & Effect)[] {
  const routines: (SiblingRule & Effect)[] = [];
  const schemas: (SiblingRule & Effect)[] = [];
  const siblingOf = (node: NamedNode, above: readonly Bitset[]): RightSibling<Effect> =>
    withRights(steps, node, above, principals, kind === null ? node.restrictedBelow : principals.none);
  const everything = siblingOf(root, []);
  const wide = [...root.children()].map((catalog) => {
    const here = siblingOf(catalog, everything.held);
    const below = [...catalog.children()].map((schema) => {
      const inSchema = siblingOf(schema, here.held);
      if (kind === null) return inSchema;
      const ofSchema = [...schema.routines()].map((routine) => siblingOf(routine, inSchema.held));
      const where = { catalog: literal(catalog.name), schema: literal(schema.name) };
      routines.push(...write.of(ofSchema, kind, where));
      return inSchema;
    });
    schemas.push(...write.of(below, 'schema', { catalog: literal(catalog.name) }));
    return here;
  });
  return [...routines, ...schemas, ...write.of(wide, 'catalog', {}), ...write.of([everything], 'everything', {})];
}
