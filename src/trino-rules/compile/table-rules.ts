import type { TableRule } from '../document/rules-document.js';
import type { RuleEffect } from './access-state.js';
import { Bitset } from './bitset.js';
import { getOrInsert } from './get-or-insert.js';
import type { IntentSets, NamedNode } from './intent-sets.js';
import { literal } from './name-pattern.js';
import { NodeAccess } from './node-access.js';
import type { PrincipalIndex } from './principal-index.js';
import { interleaved, type Block } from './table-rule-order.js';
import { type Level, pathText, type Scope } from './resource-tree.js';
import {
  ANY_COMPANION,
  closingSiblings,
  companionsOf,
  joinedDenials,
  NOTHING,
  type WideSibling,
} from './companion-rules.js';
import type { SiblingRule, SiblingRules } from './sibling-rules.js';
import { type ParentSize, TextSize } from './text-size.js';

/** Nodes with entries under one parent, or the root alone. */
export interface SiblingNodes {
  scope: Scope;
  /** The name of the parent; empty above catalogs, and for the root. */
  above: string;
  /** With the names above it: `sales.eu`. */
  path: string;
  /** The patterns of the levels above. */
  where: SiblingRule;
  siblings: WideSibling[];
}

/** The rules of all principals but the service accounts. */
export function tableRules(intent: IntentSets, write: SiblingRules, size: TextSize): TableRule[] {
  const schemas: Block<TableRule>[] = [];
  const catalogs: Block<TableRule>[] = [];
  let rules: TableRule[] = [];
  for (const { above, path, siblings, scope, where } of siblingNodes(intent, size)) {
    const rectangles = write.rectanglesOf(siblings, scope, where);
    const written =
      scope === 'table'
        ? write.written(joinedDenials(rectangles, siblings), scope, where)
        : [
            ...write.about(closingSiblings(rectangles, siblings), scope, { ...where, table: ANY_COMPANION }),
            ...write.written(rectangles, scope, where),
          ];
    size.settle(
      scope,
      written.map(({ rule }) => rule),
      path,
    );
    if (scope === 'table') schemas.push({ name: above, rules: written.map(({ rule }) => rule) });
    else if (scope === 'schema') catalogs.push({ name: above, rules: interleaved(schemas.splice(0), written) });
    else if (scope === 'catalog') rules = interleaved(catalogs, written);
    else rules.push(...written.map(({ rule }) => rule));
  }
  return rules;
}

/**
 * What table rules have to say, one parent at a time and behind all below it: at a node only those must be written of who get
 * something else there than the next broader rule gives them.
 */
export function* siblingNodes(
  { root, principals }: IntentSets,
  size = new TextSize(Infinity),
): Generator<SiblingNodes> {
  yield* below(root, 'catalog', {});
  const least = size.parent('everything', {}, '');
  const siblings = [sibling(root, NodeAccess.ofNobody(principals.subjects.length, true), principals, least)];
  least.addNames(nameOf);
  yield { scope: 'everything', above: '', path: '', where: {}, siblings };

  function* below(parent: NamedNode, level: Level, where: SiblingRule): Generator<SiblingNodes> {
    const siblings: WideSibling[] = [];
    const path = pathText(parent.resource);
    const least = size.parent(level, where, path);
    const deeper = BELOW[level];
    for (const node of parent.children()) {
      if (deeper !== null) yield* below(node, deeper, { ...where, [level]: literal(node.name) });
      siblings.push(sibling(node, parent.access, principals, least));
      if (deeper === null) siblings.push(...companions(node, parent.access, principals));
    }
    least.addNames(nameOf);
    yield { scope: level, above: parent.name, path, where, siblings };
  }

  function nameOf(position: number): string {
    return principals.subjects[position]?.name ?? '';
  }
}

const BELOW: Record<Level, Level | null> = { catalog: 'schema', schema: 'table', table: null };

function sibling(
  { name, access }: NamedNode,
  above: NodeAccess,
  { none, serviceAccounts, setOf }: PrincipalIndex,
  least: ParentSize,
): WideSibling {
  const { changes } = access;
  const byEffect = new Map<RuleEffect, number[]>();
  const closed: number[] = [];
  const closedHere: number[] = [];
  for (const { position, from, to } of changes) {
    const isSame = from.effect === to.effect;
    const isClosedHere = to.closesCompanions && !from.closesCompanions;
    if (isClosedHere && isSame && to.effect.privileges.length > 0) closedHere.push(position);
    // The rule about the base table's companions decides.
    if (to.isClosedCompanion) closed.push(position);
    if (to.isClosedCompanion || isSame || serviceAccounts.has(position)) continue;
    getOrInsert(byEffect, to.effect, () => []).push(position);
  }
  for (const [effect, people] of byEffect) least.meet(effect, people, name);
  const changed = [...byEffect].map(([effect, people]) => ({ effect, must: setOf(people) }));
  const moved = Bitset.of(none.size, [...closed, ...[...byEffect.values()].flat()]);
  const stayed = (people: Bitset): Bitset => people.minus(moved).minus(serviceAccounts);
  const parts = changed.map(({ effect, must }) => {
    const rank = effect.privileges.length;
    const may = rank === 0 ? must : must.or(stayed(above.effects.get(effect) ?? none));
    return { effect, rank, must, may };
  });
  const reached = [...byEffect].flatMap(([{ privileges }, people]) => (privileges.length > 0 ? people : []));
  const holders = stayed(above.reached).or(setOf(reached));
  return {
    name,
    parts,
    holders,
    closed: () => access.closed.minus(serviceAccounts),
    closedHere: setOf(closedHere).minus(serviceAccounts),
  };
}

/** The companions of a restricted table: those who would have them by what is said above lose them. */
function companions(
  { name, access: { changes } }: NamedNode,
  above: NodeAccess,
  { none, serviceAccounts }: PrincipalIndex,
): WideSibling[] {
  const losing = changes.filter(
    ({ from, to }) => to.closesCompanions && !from.closesCompanions && !to.isClosedCompanion,
  );
  const positions = losing.map(({ position }) => position);
  const closed = Bitset.of(none.size, positions);
  const must = closed.and(above.reached).minus(serviceAccounts);
  if (must.isEmpty()) return [];
  const holders = above.reached.minus(above.closed).minus(closed).minus(serviceAccounts);
  return [
    {
      name: companionsOf(name),
      parts: [{ effect: NOTHING, rank: 0, must, may: must }],
      holders,
      closed: () => none,
      closedHere: none,
    },
  ];
}
