import { getOrInsert, groupBy } from '../../kernel/collections.js';
import { isOpenSystemNode } from '../model/resource.js';
import type { Access, Origin } from '../model/intent.js';
import {
  compareNames,
  compareNodes,
  isKillQuery,
  type Node,
  nodeKey,
  nodeOf,
  parentOf,
  pathTo,
  SYSTEM,
} from '../model/node.js';
import { type NamedPrincipal, type PolicyPrincipal, type Principal, principalText } from '../model/principal.js';
import { type Member, Principals, type AppliesThrough } from '../model/principals.js';
import {
  privilegesGivenBy,
  isDataPrivilege,
  mergeIntoComposites,
  type Privilege,
  PRIVILEGE_TERMS,
  privilegesOn,
  splitComposites,
} from '../model/privilege.js';
import { baseNodes } from '../model/restrictions.js';
import type { Snapshot, SnapshotGrant, SnapshotPolicy } from '../model/snapshot.js';
import { AccessIndex, accessKeysOf, isTakenFromElsewhere } from './access-index.js';
import type { Draft, AffectedNodes } from './draft.js';
import { givingGrants, intentAtNode, withCatalogs, withDeniedMembers, withOpenSystem } from './effective-access.js';

/** Access that a principal gains or loses at a node and below. A removed restriction is a gain, and a new restriction is a loss. */
export interface AccessPart {
  privileges: Privilege[];
  filters: string[];
  hiddenColumns: string[];
  masks: { column: string; expression: string }[];
}

export interface AccessDifference {
  principal: NamedPrincipal;
  resource: Node;
  gained: AccessPart | null;
  lost: AccessPart | null;
}

/** The effect of a draft for one principal. */
export interface AccessOutcome {
  principal: NamedPrincipal;
  differences: AccessDifference[];
  alreadyHeldThrough: AppliesThrough | null;
}

/**
 * The access that accounts and engine principals gain and lose between two snapshots, ordered by name. Yields null between steps of work.
 * @param affectedAccess nodes and principals for which the snapshots can differ
 */
export function* accessDifferences(
  oldSnapshot: Snapshot,
  newSnapshot: Snapshot,
  affectedAccess: readonly AffectedNodes[],
  principalGrants: readonly PrincipalGrants[] = [],
): Generator<AccessOutcome | null> {
  const keepRelatedEntries = relatedEntriesFilter(affectedAccess.flatMap(({ nodes }) => nodes));
  const indexBefore = new AccessIndex(keepRelatedEntries(oldSnapshot), new Principals(oldSnapshot));
  yield null;
  const indexAfter = new AccessIndex(keepRelatedEntries(newSnapshot), new Principals(newSnapshot));
  yield null;
  const affectedByPrincipal = new Map<string, AffectedPrincipal>();
  for (const affectedPart of affectedAccess) {
    for (const partPrincipal of affectedPart.principals)
      for (const { principals } of [indexBefore, indexAfter])
        for (const [text, principal] of principals.members(partPrincipal))
          getOrInsert(affectedByPrincipal, text, (): AffectedPrincipal => ({
            ...{ principal, affectedNodes: new Set(), draftGrants: new Set() },
          })).affectedNodes.add(affectedPart);
    yield null;
  }
  for (const grantsOfPrincipal of principalGrants)
    for (const text of indexAfter.principals.members(grantsOfPrincipal.principal).keys())
      affectedByPrincipal.get(text)?.draftGrants.add(grantsOfPrincipal);
  const accessKeyOf = accessKeysOf([indexBefore, indexAfter]);
  const draftPartNumbers = new Map([...affectedAccess, ...principalGrants].map((each, i) => [each, i]));
  const outcomesByKey = new Map<string, Omit<AccessOutcome, 'principal'>>();
  const byName = (a: AffectedPrincipal, b: AffectedPrincipal) => compareNames(a.principal.name, b.principal.name);
  for (const affectedPrincipal of [...affectedByPrincipal.values()].sort(byName)) {
    const { principal, affectedNodes, draftGrants } = affectedPrincipal;
    const ownPartNumbers = [...affectedNodes, ...draftGrants].map((part) => draftPartNumbers.get(part));
    const key = accessKeyOf(principal, ownPartNumbers);
    const outcome = (key === null ? undefined : outcomesByKey.get(key)) ?? (yield* outcomeOf(affectedPrincipal));
    if (key !== null) outcomesByKey.set(key, outcome);
    yield { ...outcome, principal, differences: outcome.differences.map((each) => ({ ...each, principal })) };
  }

  function* outcomeOf(affectedPrincipal: AffectedPrincipal): Generator<null, Omit<AccessOutcome, 'principal'>> {
    const { principal, affectedNodes, draftGrants } = affectedPrincipal;
    const applicableIndexBefore = applicableIndex(principal, indexBefore);
    const applicableIndexAfter = applicableIndex(principal, indexAfter);
    const nodes = [...affectedNodes].flatMap((each) => each.nodes);
    const differences = yield* differencesOf(principal, nodes, applicableIndexBefore, applicableIndexAfter);
    const heldWay = differences.length > 0 ? null : wayAlreadyHeld(applicableIndexBefore, principal, draftGrants);
    return { differences, alreadyHeldThrough: heldWay };
  }
}

interface AffectedPrincipal {
  principal: Member;
  affectedNodes: Set<AffectedNodes>;
  draftGrants: Set<PrincipalGrants>;
}

/** Keeps grants and policies above, at and below these nodes; for a node in `system` keeps all, because any grant also opens parts of `system`. */
function relatedEntriesFilter(nodes: readonly Node[]): (snapshot: Snapshot) => Snapshot {
  if (nodes.some(({ catalog }) => catalog === SYSTEM)) return (snapshot) => snapshot;
  const nodesByKey = new Map(nodes.map((node) => [nodeKey(node), nodeOf(node)]));
  const pathKeys = [...nodesByKey.values()].flatMap((node) => [...pathTo(node), ...baseNodes(node)].map(nodeKey));
  const keysOnPaths = new Set(pathKeys);
  const isPrincipalNode = principalNodeFilter(nodes);
  const isAtOrBelowNodes = (node: Node): boolean => pathTo(node).some((each) => nodesByKey.has(nodeKey(each)));
  const isNearNodes = ({ resource }: { resource: Node }): boolean =>
    isPrincipalNode(resource) || keysOnPaths.has(nodeKey(resource)) || isAtOrBelowNodes(resource);
  const catalogs = new Set(nodes.map(({ catalog }) => catalog));
  return (snapshot) => {
    // A policy anywhere in a catalog can take away rights over the catalog's routines.
    const policies = snapshot.policies.filter((policy) => catalogs.has(policy.resource.catalog) || isNearNodes(policy));
    return { ...snapshot, grants: snapshot.grants.filter(isNearNodes), policies };
  };
}

/** A test for impersonation nodes and query nodes. Each kind passes only if `nodes` contains a node of that kind. */
function principalNodeFilter(nodes: readonly Node[]): (node: Node) => boolean {
  const hasImpersonation = nodes.some(({ as }) => as !== undefined);
  const hasQueries = nodes.some(({ queries }) => queries !== undefined);
  return ({ as, queries }) => (hasImpersonation && as !== undefined) || (hasQueries && queries !== undefined);
}

/** The grants and policies that apply to a principal, directly, as a member of everyone or through a group. */
function applicableIndex(principal: Principal, index: AccessIndex): AccessIndex {
  const { principals } = index;
  const ownSnapshot = index.snapshotFor(principal);
  const grants = ownSnapshot.grants.filter((grant) => principals.appliesThrough(grant.principal, principal) !== null);
  const policies = ownSnapshot.policies.filter((policy) => principals.policyAppliesThrough(policy, principal) !== null);
  return new AccessIndex({ ...ownSnapshot, grants, policies }, principals);
}

function* differencesOf(
  principal: NamedPrincipal,
  affectedNodes: readonly Node[],
  indexBefore: AccessIndex,
  indexAfter: AccessIndex,
): Generator<null, AccessDifference[]> {
  const differencesByNode = new Map<string, GainedAndLost>();
  const canDiffer = canDifferAt(indexBefore, indexAfter);
  const differenceAt = (node: Node) =>
    getOrInsert(differencesByNode, nodeKey(node), () => {
      if (node.as === undefined && !canDiffer(node)) return NO_DIFFERENCE;
      const [accessBefore, accessAfter] = [
        intentAtNode(node, principal, indexBefore),
        intentAtNode(node, principal, indexAfter),
      ];
      const [gained, lost] = [accessOnlyIn(accessAfter, accessBefore), accessOnlyIn(accessBefore, accessAfter)];
      return gained === null && lost === null ? NO_DIFFERENCE : { gained, lost };
    });
  const affectedKeys = new Set(affectedNodes.map(nodeKey));
  const isPrincipalNode = principalNodeFilter(affectedNodes);
  const isAffected = (node: Node): boolean =>
    isPrincipalNode(node) || pathTo(node).some((each) => affectedKeys.has(nodeKey(each)));
  const namedNodes = [...affectedNodes.map(nodeOf), ...[indexBefore, indexAfter].flatMap(withDeniedMembers)];
  const comparedNodes = withOpenSystem(withCatalogs(namedNodes, indexAfter.snapshot.settings)).filter(isAffected);
  const nodesByKey = new Map(comparedNodes.map((node) => [nodeKey(node), node]));
  const differences: AccessDifference[] = [];
  let comparedNodeCount = 0;
  for (const resource of nodesByKey.values()) {
    if (++comparedNodeCount % NODES_PER_STEP === 0) yield null;
    const difference = differenceAt(resource);
    if (difference === NO_DIFFERENCE) continue;
    const parent = parentOf(resource);
    // Leaves out a node with the same difference as its parent, because the parent's difference covers all nodes below it.
    if (parent === null || differenceText(resource, differenceAt(parent)) !== differenceText(resource, difference))
      differences.push({ principal, resource, ...difference });
  }
  return differences.sort((a, b) => compareNodes(a.resource, b.resource));
}

const NODES_PER_STEP = 10;

type GainedAndLost = Pick<AccessDifference, 'gained' | 'lost'>;

const NO_DIFFERENCE: GainedAndLost = { gained: null, lost: null };

/** A difference as text, limited to privileges that exist at `node`. Equal texts mean equal differences. */
function differenceText(node: Node, { gained, lost }: GainedAndLost): string {
  const possiblePrivileges = privilegesOn(node);
  const partAtNode = (part: AccessPart | null): AccessPart | null => {
    const privileges = splitComposites(part?.privileges ?? []).filter((each) => possiblePrivileges.includes(each));
    const restrictions = part === null || !possiblePrivileges.some(isDataPrivilege) ? NO_RESTRICTIONS : part;
    const limitedPart = { ...restrictions, privileges };
    return Object.values(limitedPart).some((list) => list.length > 0) ? limitedPart : null;
  };
  return JSON.stringify([partAtNode(gained), partAtNode(lost)]);
}

function accessOnlyIn(one: Access, other: Access): AccessPart | null {
  const otherPrivileges = splitComposites(other.privileges);
  const privileges = mergeIntoComposites(
    splitComposites(one.privileges).filter((privilege) => !otherPrivileges.includes(privilege)),
  );
  // Filters, hidden columns and masks are compared only if both `one` and `other` have access to tables.
  const isTablePrivilege = (privilege: Privilege) => PRIVILEGE_TERMS[privilege].tablePrivilege !== null;
  const bothReachTables = [one, other].every((access) => access.privileges.some(isTablePrivilege));
  const part = { privileges, ...(bothReachTables ? restrictionsOnlyIn(other, one) : NO_RESTRICTIONS) };
  return Object.values(part).some((list) => list.length > 0) ? part : null;
}

/** The filters, hidden columns and masks in `one` that `other` lacks, without masks of columns that `other` hides. */
function restrictionsOnlyIn(one: Access, other: Access): Omit<AccessPart, 'privileges'> {
  const isSharedMask = (mask: AccessPart['masks'][number]): boolean =>
    other.masks.some(({ column, expression }) => column === mask.column && expression === mask.expression);
  return {
    filters: one.filters.filter((expression) => !other.filters.includes(expression)),
    hiddenColumns: one.hiddenColumns.filter((column) => !other.hiddenColumns.includes(column)),
    masks: one.masks.filter((mask) => !isSharedMask(mask) && !other.hiddenColumns.includes(mask.column)),
  };
}

const NO_RESTRICTIONS = { filters: [], hiddenColumns: [], masks: [] };

/** Returns a quick test whether access at a node can differ between two indexes. May say yes although nothing differs. */
function canDifferAt({ snapshot: one }: AccessIndex, { snapshot: other }: AccessIndex): (node: Node) => boolean {
  const changedEntries = [...entriesOnlyIn(one, other), ...entriesOnlyIn(other, one)];
  const grants = [...one.grants, ...other.grants];
  const takeableGrants = grants.filter(({ privileges }) => privileges.some(isTakenFromElsewhere));
  const isAtOrBelowChange = testAtOrBelow([...changedEntries, ...takeableGrants]);
  const isAtOrBelowGrant = testAtOrBelow(grants);
  return (node) =>
    node.queries !== undefined ||
    isKillQuery(node) ||
    isOpenSystemNode(node) ||
    (isAtOrBelowGrant(node) && isAtOrBelowChange(node));
}

function testAtOrBelow(entries: readonly { resource: Node }[]): (node: Node) => boolean {
  const keys = new Set(entries.map(({ resource }) => nodeKey(resource)));
  return (node) => [...pathTo(node), ...baseNodes(node)].some((each) => keys.has(nodeKey(each)));
}

function entriesOnlyIn(one: Snapshot, other: Snapshot): (SnapshotGrant | SnapshotPolicy)[] {
  const otherEntries = new Set<SnapshotGrant | SnapshotPolicy>([...other.grants, ...other.policies]);
  return [...one.grants, ...one.policies].filter((entry) => !otherEntries.has(entry));
}

interface PrincipalGrants {
  principal: PolicyPrincipal;
  grants: readonly SnapshotGrant[];
}

export function grantsOfDraft(snapshot: Snapshot, { grants, addedMembers }: Draft): PrincipalGrants[] {
  const granteeText = ({ principal }: SnapshotGrant): string => principalText(principal);
  const grantsByGrantee = groupBy([...snapshot.grants, ...grants], granteeText);
  const newGrants = [...groupBy(grants, granteeText).values()].map((granteeGrants) => ({
    ...{ principal: granteeGrants[0].principal, grants: granteeGrants },
  }));
  const memberGrants = addedMembers.map(({ group, member }) => ({
    principal: member,
    grants: grantsByGrantee.get(principalText({ type: 'group', id: group })) ?? [],
  }));
  return [...newGrants, ...memberGrants].filter((principalGrants) => principalGrants.grants.length > 0);
}

/** How a principal already has all access that a draft gives: directly, through a group, or as everyone. Null if the draft gives new access or no access. */
function wayAlreadyHeld(
  indexBefore: AccessIndex,
  principal: Principal,
  draftGrants: Iterable<PrincipalGrants>,
): AppliesThrough | null {
  const origins: Origin<SnapshotGrant>[] = [];
  for (const { grants } of draftGrants)
    for (const { resource, privileges } of grants) {
      const intent = intentAtNode(resource, principal, indexBefore);
      const [possiblePrivileges, heldPrivileges] = [privilegesOn(resource), privilegesGivenBy(intent.privileges)];
      const givenPrivileges = [...privilegesGivenBy(privileges)].filter((each) => possiblePrivileges.includes(each));
      if (!givenPrivileges.every((privilege) => heldPrivileges.has(privilege))) return null;
      origins.push(...givingGrants({ ...intent, privileges: givenPrivileges }));
    }
  const ways = origins.map(({ through }) => through);
  return ways.find((way) => way === 'directly') ?? ways.find((way) => way !== 'everyone') ?? ways[0] ?? null;
}
