import type { TableRule } from '../document/rules-document.js';
import type { RuleEffect } from './access-state.js';
import { Bitset } from './bitset.js';
import { getOrInsert } from './get-or-insert.js';
import type { IntentSets, NamedNode } from './intent-sets.js';
import { literal } from './name-pattern.js';
import { NodeAccess } from './node-access.js';
import type { PrincipalIndex } from './principal-index.js';
import { type Level, pathText, type Scope } from './resource-tree.js';
import {
  ANY_COMPANION,
  closingSiblings,
  companionsOf,
  joinedDenials,
  NOTHING,
  type WideSibling,
} from './companion-rules.js';
import type { SiblingRule, SiblingRules, WideRule } from './sibling-rules.js';

/** Nodes with entries under one parent, or the root alone. */
export interface SiblingNodes {
  scope: Scope;
  /** Name of the parent; empty above catalogs, and for the root. */
  above: string;
  /** Path of the parent: `sales.eu`. */
  path: string;
  /** The patterns of the levels above. */
  where: SiblingRule;
  siblings: WideSibling[];
}

/** Number of table rules under one parent. */
export interface RulesUnderParent {
  /** The parent: `sales.eu`, or empty above catalogs. */
  where: string;
  /** Each different result of policies and privileges needs at least one rule. */
  rules: number;
}

/** The text has more bytes than the target can hold. */
export class RulesTooLarge extends Error {
  override readonly name = 'RulesTooLarge';

  /**
   * @param atLeast bytes of the rules that were written
   * @param most rules at the parent where the limit was passed
   */
  constructor(
    readonly atLeast: number,
    readonly most: RulesUnderParent,
  ) {
    super(`the rules take more than ${atLeast} bytes`);
  }
}

/**
 * The rules of all principals except service accounts, and the parent with most rules.
 * @throws RulesTooLarge as soon as they take more than `maxBytes`
 */
export function tableRules(
  intent: IntentSets,
  write: SiblingRules,
  maxBytes: number,
): { rules: TableRule[]; largest: RulesUnderParent } {
  const schemas: Block<TableRule>[] = [];
  const catalogs: Block<TableRule>[] = [];
  let rules: TableRule[] = [];
  let largest: RulesUnderParent = { where: '', rules: 0 };
  let bytes = 0;
  for (const { above, path, siblings, scope, where } of siblingNodes(intent)) {
    const rectangles = write.rectanglesOf(siblings, scope, where);
    const written =
      scope === 'table'
        ? write.written(joinedDenials(rectangles, siblings), scope, where)
        : [
            ...write.about(closingSiblings(rectangles, siblings), scope, { ...where, table: ANY_COMPANION }),
            ...write.written(rectangles, scope, where),
          ];
    const own = written.map(({ rule }) => rule);
    const here = { where: path, rules: own.length };
    if (own.length > largest.rules) largest = here;
    // Counts UTF-16 units: in UTF-8 the text has at least as many bytes.
    if (maxBytes < Infinity) for (const rule of own) bytes += JSON.stringify(rule).length;
    if (bytes > maxBytes) throw new RulesTooLarge(bytes, here);
    if (scope === 'table') schemas.push({ name: above, rules: own });
    else if (scope === 'schema') catalogs.push({ name: above, rules: interleaved(schemas.splice(0), written) });
    else if (scope === 'catalog') rules = interleaved(catalogs, written);
    else rules.push(...own);
  }
  return { rules, largest };
}

export interface Block<Rule> {
  name: string;
  rules: readonly Rule[];
}

/**
 * Inserts each wide rule as early as possible, because wide rules decide most and the engine tries rules in order: directly after the
 * blocks of all its nodes, and after earlier wide rules about one of these nodes.
 */
export function interleaved<Rule>(blocks: readonly Block<Rule>[], wide: readonly WideRule<Rule>[]): Rule[] {
  const places = new Map(blocks.map(({ name }, i) => [name, i]));
  const behind: Rule[][] = blocks.map(() => []);
  const before: Rule[] = [];
  for (const { names, rule } of wide) {
    const place = names.reduce((latest, name) => Math.max(latest, places.get(name) ?? FIRST), FIRST);
    for (const name of names) places.set(name, place);
    (behind[place] ?? before).push(rule);
  }
  return [...before, ...blocks.flatMap(({ rules }, i) => [...rules, ...(behind[i] ?? [])])];
}

/** Position before all blocks. */
const FIRST = -1;

/** The siblings of each parent, after all nodes below. A user needs a rule at a node if the next broader rule has another effect. */
export function* siblingNodes({ root, principals }: IntentSets): Generator<SiblingNodes> {
  yield* below(root, 'catalog', {});
  const siblings = [sibling(root, NodeAccess.ofNobody(principals.subjects.length, true), principals)];
  yield { scope: 'everything', above: '', path: '', where: {}, siblings };

  function* below(parent: NamedNode, level: Level, where: SiblingRule): Generator<SiblingNodes> {
    const siblings: WideSibling[] = [];
    const deeper = BELOW[level];
    for (const node of parent.children()) {
      if (deeper !== null) yield* below(node, deeper, { ...where, [level]: literal(node.name) });
      siblings.push(sibling(node, parent.access, principals));
      if (deeper === null) siblings.push(...companions(node, parent.access, principals));
    }
    yield { scope: level, above: parent.name, path: pathText(parent.resource), where, siblings };
  }
}

const BELOW: Record<Level, Level | null> = { catalog: 'schema', schema: 'table', table: null };

function sibling(
  { name, access }: NamedNode,
  above: NodeAccess,
  { none, serviceAccounts, setOf }: PrincipalIndex,
): WideSibling {
  const { changes } = access;
  const byEffect = new Map<RuleEffect, number[]>();
  const closed: number[] = [];
  const closedHere: number[] = [];
  for (const { position, from, to } of changes) {
    const isSame = from.effect === to.effect;
    const isClosedHere = to.closesCompanions && !from.closesCompanions;
    if (isClosedHere && isSame && to.effect.privileges.length > 0) closedHere.push(position);
    // The rule about all companions of the base table decides.
    if (to.isClosedCompanion) closed.push(position);
    if (to.isClosedCompanion || isSame || serviceAccounts.has(position)) continue;
    getOrInsert(byEffect, to.effect, () => []).push(position);
  }
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

/** The companions of a restricted table, for users who lose the access to companions that they have by broader rules. */
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
