import type { TableRule } from '../document/rules-document.js';
import type { RuleEffect } from './access-state.js';
import { Bitset } from './bitset.js';
import { getOrInsert } from './get-or-insert.js';
import { denialUsers } from './rectangles.js';
import type { IntentSets, NamedNode } from './intent-sets.js';
import { literalPattern } from './name-pattern.js';
import { NodeAccess } from './node-access.js';
import type { PrincipalIndex } from './principal-index.js';
import { type Level, pathText, type Scope } from './resource-tree.js';
import {
  ANY_COMPANION,
  companionDenials,
  companionsName,
  joinDenials,
  NO_PRIVILEGES,
  type SiblingWithCompanions,
} from './companion-rules.js';
import type { SiblingRule, SiblingRuleWriter, WideRule } from './sibling-rules.js';

/** The nodes directly below one parent that have grants, policies or settings. In the scope `everything`, the root is the only sibling and has no parent. */
export interface SiblingNodes {
  scope: Scope;
  /** The parent's own name. Empty if the parent is the root, or if the scope is `everything`. */
  parentName: string;
  parentPath: string;
  parentPatterns: SiblingRule;
  siblings: SiblingWithCompanions[];
}

export interface RulesUnderParent {
  /** Path of the parent, `sales.eu`; empty for rules about catalogs. */
  parent: string;
  rulesInAll: number;
}

/** Thrown if the rules have more bytes than the target can hold. */
export class RulesTooLarge extends Error {
  override readonly name = 'RulesTooLarge';

  /**
   * @param minBytes bytes of the rules that were written before writing stopped
   * @param parentAtLimit the parent node at whose rules writing stopped
   */
  constructor(
    readonly minBytes: number,
    readonly parentAtLimit: RulesUnderParent,
  ) {
    super(`the rules take more than ${minBytes} bytes`);
  }
}

/**
 * The table rules of all principals except service accounts, and the parent node whose children have the most rules.
 * @throws RulesTooLarge as soon as the rules have more than `maxBytes`
 */
export function tableRules(
  intent: IntentSets,
  writer: SiblingRuleWriter,
  maxBytes: number,
): { rules: TableRule[]; parentWithMostRules: RulesUnderParent } {
  const schemaBlocks: Block<TableRule>[] = [];
  const catalogBlocks: Block<TableRule>[] = [];
  let rules: TableRule[] = [];
  let parentWithMostRules: RulesUnderParent = { parent: '', rulesInAll: 0 };
  let bytes = 0;
  for (const { parentName, parentPath, siblings, scope, parentPatterns } of siblingGroups(intent)) {
    const rectangles = writer.rectanglesOf(siblings, scope, parentPatterns);
    const companionPatterns = { ...parentPatterns, table: ANY_COMPANION };
    const writtenRules =
      scope === 'table'
        ? writer.rulesForRectangles(joinDenials(rectangles, siblings), scope, parentPatterns)
        : [
            ...writer.wideRules(companionDenials(rectangles, siblings), scope, companionPatterns),
            ...writer.rulesForRectangles(rectangles, scope, parentPatterns),
          ];
    const ownRules = writtenRules.map(({ rule }) => rule);
    const rulesUnderParent = { parent: parentPath, rulesInAll: ownRules.length };
    if (ownRules.length > parentWithMostRules.rulesInAll) parentWithMostRules = rulesUnderParent;
    // Counts UTF-16 units, a lower bound of the bytes: in UTF-8 the text has at least as many bytes.
    if (maxBytes < Infinity) for (const rule of ownRules) bytes += JSON.stringify(rule).length;
    if (bytes > maxBytes) throw new RulesTooLarge(bytes, rulesUnderParent);
    if (scope === 'table') schemaBlocks.push({ name: parentName, rules: ownRules });
    else if (scope === 'schema')
      catalogBlocks.push({ name: parentName, rules: interleave(schemaBlocks.splice(0), writtenRules) });
    else if (scope === 'catalog') rules = interleave(catalogBlocks, writtenRules);
    else rules.push(...ownRules);
  }
  return { rules, parentWithMostRules };
}

/** The rules about the nodes below one node: for a catalog, the rules about its schemas and tables. */
export interface Block<Rule> {
  name: string;
  rules: readonly Rule[];
}

/**
 * Inserts `wideRules` (rules for several nodes) between the blocks (rules of one node), as early as possible, because wide rules decide most
 * requests. A wide rule must follow the blocks of all nodes that it names.
 */
export function interleave<Rule>(blocks: readonly Block<Rule>[], wideRules: readonly WideRule<Rule>[]): Rule[] {
  const positions = new Map(blocks.map(({ name }, i) => [name, i]));
  const rulesAfterBlock: Rule[][] = blocks.map(() => []);
  const firstRules: Rule[] = [];
  for (const { names, rule } of wideRules) {
    const position = names.reduce((highest, name) => Math.max(highest, positions.get(name) ?? BEFORE_ALL), BEFORE_ALL);
    for (const name of names) positions.set(name, position);
    (rulesAfterBlock[position] ?? firstRules).push(rule);
  }
  return [...firstRules, ...blocks.flatMap(({ rules }, i) => [...rules, ...(rulesAfterBlock[i] ?? [])])];
}

const BEFORE_ALL = -1;

/** Groups the nodes by parent, because one rule can be for several nodes of one parent. Children come before their parents. */
export function* siblingGroups({ root, principals }: IntentSets): Generator<SiblingNodes> {
  yield* nodesBelow(root, 'catalog', {});
  const siblings = [nodeSibling(root, NodeAccess.withoutEntries(principals.subjects.length, true), principals)];
  yield { scope: 'everything', parentName: '', parentPath: '', parentPatterns: {}, siblings };

  function* nodesBelow(parent: NamedNode, level: Level, parentPatterns: SiblingRule): Generator<SiblingNodes> {
    const siblings: SiblingWithCompanions[] = [];
    const childLevel = CHILD_LEVEL[level];
    for (const node of parent.children()) {
      if (childLevel !== null)
        yield* nodesBelow(node, childLevel, { ...parentPatterns, [level]: literalPattern(node.name) });
      siblings.push(nodeSibling(node, parent.access, principals));
      if (childLevel === null) siblings.push(...companionSiblings(node, parent.access, principals));
    }
    yield { scope: level, parentName: parent.name, parentPath: pathText(parent.resource), parentPatterns, siblings };
  }
}

const CHILD_LEVEL: Record<Level, Level | null> = { catalog: 'schema', schema: 'table', table: null };

function nodeSibling(
  { name, access }: NamedNode,
  parentAccess: NodeAccess,
  { emptySet, serviceAccounts, setOf }: PrincipalIndex,
): SiblingWithCompanions {
  const { changes } = access;
  const positionsByEffect = new Map<RuleEffect, number[]>();
  const closedCompanionUsers: number[] = [];
  const newlyClosedPositions: number[] = [];
  for (const { position, parentState, nodeState } of changes) {
    const isSameEffect = parentState.effect === nodeState.effect;
    const closesHere = nodeState.closesCompanions && !parentState.closesCompanions;
    if (closesHere && isSameEffect && nodeState.effect.privileges.length > 0) newlyClosedPositions.push(position);
    // A companion (`table$suffix`) without access gets no rule of its own: the rule for all companions of the table decides.
    if (nodeState.isClosedCompanion) closedCompanionUsers.push(position);
    if (nodeState.isClosedCompanion || isSameEffect || serviceAccounts.has(position)) continue;
    getOrInsert(positionsByEffect, nodeState.effect, () => []).push(position);
  }
  const changedEffects = [...positionsByEffect].map(([effect, people]) => ({ effect, requiredUsers: setOf(people) }));
  const changedUsers = Bitset.of(emptySet.size, [...closedCompanionUsers, ...[...positionsByEffect.values()].flat()]);
  const withoutChangedUsers = (people: Bitset): Bitset => people.minus(changedUsers).minus(serviceAccounts);
  const effectUsers = changedEffects.map(({ effect, requiredUsers }) => {
    const rank = effect.privileges.length;
    const unchangedUsers = withoutChangedUsers(parentAccess.users.usersByEffect.get(effect) ?? emptySet);
    const allowedUsers = rank === 0 ? requiredUsers : requiredUsers.or(unchangedUsers);
    return { effect, rank, requiredUsers, allowedUsers };
  });
  const givingEffects = [...positionsByEffect].filter(([{ privileges }]) => privileges.length > 0);
  const newHolders = givingEffects.flatMap(([, people]) => people);
  const holders = withoutChangedUsers(parentAccess.users.usersWithAccess).or(setOf(newHolders));
  return {
    name,
    effectUsers,
    holders,
    usersWithClosedCompanions: () => access.users.usersWithClosedCompanions.minus(serviceAccounts),
    newlyClosedUsers: setOf(newlyClosedPositions).minus(serviceAccounts),
  };
}

function companionSiblings(
  { name, access: { changes } }: NamedNode,
  parentAccess: NodeAccess,
  { emptySet, serviceAccounts }: PrincipalIndex,
): SiblingWithCompanions[] {
  const closingChanges = changes.filter(
    ({ parentState, nodeState }) =>
      nodeState.closesCompanions && !parentState.closesCompanions && !nodeState.isClosedCompanion,
  );
  const closedPositions = closingChanges.map(({ position }) => position);
  const closedUsers = Bitset.of(emptySet.size, closedPositions);
  const { usersWithAccess, usersWithClosedCompanions } = parentAccess.users;
  const deniedUsers = closedUsers.and(usersWithAccess).minus(serviceAccounts);
  if (deniedUsers.isEmpty()) return [];
  const holders = usersWithAccess.minus(usersWithClosedCompanions).minus(closedUsers).minus(serviceAccounts);
  const effectUsers = [denialUsers(NO_PRIVILEGES, deniedUsers)];
  const noClosedCompanions = { usersWithClosedCompanions: () => emptySet, newlyClosedUsers: emptySet };
  return [{ name: companionsName(name), effectUsers, holders, ...noClosedCompanions }];
}
