import type { SchemaRule } from '../document/rules-document.js';
import type { AccessState } from './access-state.js';
import { Bitset } from './bitset.js';
import type { DataRight, RoutineKind, RoutineRight } from './engine-terms.js';
import type { IntentSets, NamedNode } from './intent-sets.js';
import { literalPattern } from './name-pattern.js';
import type { PrincipalIndex } from './principal-index.js';
import { denialUsers, type Sibling } from './rectangles.js';
import type { SiblingRule, SiblingRuleWriter } from './sibling-rules.js';

/** Rules for owners of schemas. Users with a restricted table in the schema are not owners, because owners could drop the table. */
export function schemaRules(intent: IntentSets, writer: SiblingRuleWriter): (SiblingRule & OwnerEffect)[] {
  return rightRules(SCHEMA_OWNER_RIGHTS, intent, writer, null);
}

type OwnerEffect = Pick<SchemaRule, 'owner'>;

const SCHEMA_OWNER_RIGHTS: NestedRights<OwnerEffect> = {
  emptyEffect: { owner: false },
  rights: [{ right: 'owner', effect: { owner: true } }],
};

/** Rights in ascending order, such as EXECUTE and GRANT_EXECUTE: each right includes those before it. `effect`: what a rule for `right` allows. */
export interface NestedRights<Effect> {
  emptyEffect: Effect;
  rights: readonly { right: DataRight | RoutineRight; effect: Effect }[];
}

export interface NestedRightsSibling<Effect> extends Sibling<Effect> {
  /** For each right in `NestedRights.rights`, at the same index: the users who have this right, but none of the later ones. */
  holdersByRight: readonly Bitset[];
}

/**
 * Finds the users who have more or fewer rights at a node than at its parent. Leaves out service accounts.
 * @param parentHolders the users with each right at the parent (`holdersByRight` of the parent)
 * @param excludedUsers users who cannot have a right at the node
 */
export function nestedRightsSibling<Effect>(
  { emptyEffect, rights }: NestedRights<Effect>,
  { name, access: { changes } }: NamedNode,
  parentHolders: readonly Bitset[],
  { emptySet, serviceAccounts }: PrincipalIndex,
  excludedUsers: Bitset,
): NestedRightsSibling<Effect> {
  const rightIndexOf = (state: AccessState): number => rights.findLastIndex(({ right }) => state.has(right));
  const rightChanges = changes
    .map(({ position, parentState, nodeState }) => ({
      position,
      from: rightIndexOf(parentState),
      to: rightIndexOf(nodeState),
    }))
    .filter(({ from, to }) => from !== to);
  const usersMovedTo = (rightIndex: number): Bitset => {
    const positions = rightChanges.flatMap(({ position, to }) => (to === rightIndex ? [position] : []));
    return Bitset.of(emptySet.size, positions).minus(serviceAccounts);
  };
  const gainedHolders = rights.map((_, rightIndex) => usersMovedTo(rightIndex).minus(excludedUsers));
  const excludedHolders = parentHolders.reduce((all, users) => all.or(users), emptySet).and(excludedUsers);
  const losingUsers = usersMovedTo(-1).or(excludedHolders);
  const movedUsers = gainedHolders.reduce((all, users) => all.or(users), losingUsers);
  const keptHolders = rights.map((_, rightIndex) => parentHolders[rightIndex]?.minus(movedUsers) ?? emptySet);
  const holdersByRight = gainedHolders.map(
    (newHolders, rightIndex) => keptHolders[rightIndex]?.or(newHolders) ?? newHolders,
  );
  const usersOfRights = rights.map(({ effect }, rightIndex) => {
    const [requiredUsers = emptySet, allowedUsers = emptySet] = [gainedHolders[rightIndex], holdersByRight[rightIndex]];
    return { effect, rank: rightIndex + 1, requiredUsers, allowedUsers };
  });
  return {
    name,
    effectUsers: [...usersOfRights.reverse(), denialUsers(emptyEffect, losingUsers)],
    holdersByRight,
    holders: holdersByRight.reduce((all, users) => all.or(users), emptySet),
  };
}

/** Rules for functions (EXECUTE and GRANT_EXECUTE), or for procedures (EXECUTE). No rule gives OWNERSHIP. */
export function routineRules(
  kind: RoutineKind,
  intent: IntentSets,
  writer: SiblingRuleWriter,
): (SiblingRule & RoutinePrivileges)[] {
  return intent.hasRoutineGrants ? rightRules(ROUTINE_RIGHTS[kind], intent, writer, kind) : [];
}

interface RoutinePrivileges {
  privileges: ('EXECUTE' | 'GRANT_EXECUTE')[];
}

/** The rights in rules for functions and for procedures. In the engine, GRANT_EXECUTE on a function includes EXECUTE. */
const ROUTINE_RIGHTS: Readonly<Record<RoutineKind, NestedRights<RoutinePrivileges>>> = {
  function: {
    emptyEffect: { privileges: [] },
    rights: [
      { right: 'function', effect: { privileges: ['EXECUTE'] } },
      { right: 'passing-function', effect: { privileges: ['GRANT_EXECUTE'] } },
    ],
  },
  procedure: { emptyEffect: { privileges: [] }, rights: [{ right: 'procedure', effect: { privileges: ['EXECUTE'] } }] },
};

/** Rules for single schemas, then for single catalogs, then for everything. If `kind` is not null, rules for single routines come first. */
function rightRules<Effect extends object>(
  rights: NestedRights<Effect>,
  { principals, root }: IntentSets,
  writer: SiblingRuleWriter,
  kind: RoutineKind | null,
): (SiblingRule & Effect)[] {
  const rulesOfRoutines: (SiblingRule & Effect)[] = [];
  const rulesOfSchemas: (SiblingRule & Effect)[] = [];
  const siblingOf = (node: NamedNode, parentHolders: readonly Bitset[]): NestedRightsSibling<Effect> =>
    nestedRightsSibling(
      rights,
      node,
      parentHolders,
      principals,
      kind === null ? node.usersRestrictedInTables : principals.emptySet,
    );
  const rootSibling = siblingOf(root, []);
  const catalogSiblings = [...root.children()].map((catalog) => {
    const catalogSibling = siblingOf(catalog, rootSibling.holdersByRight);
    const schemaSiblings = [...catalog.children()].map((schema) => {
      const schemaSibling = siblingOf(schema, catalogSibling.holdersByRight);
      if (kind === null) return schemaSibling;
      const routineSiblings = [...schema.routines()].map((routine) => siblingOf(routine, schemaSibling.holdersByRight));
      const parentPatterns = { catalog: literalPattern(catalog.name), schema: literalPattern(schema.name) };
      rulesOfRoutines.push(...writer.rules(routineSiblings, kind, parentPatterns));
      return schemaSibling;
    });
    rulesOfSchemas.push(...writer.rules(schemaSiblings, 'schema', { catalog: literalPattern(catalog.name) }));
    return catalogSibling;
  });
  return [
    ...rulesOfRoutines,
    ...rulesOfSchemas,
    ...writer.rules(catalogSiblings, 'catalog', {}),
    ...writer.rules([rootSibling], 'everything', {}),
  ];
}
