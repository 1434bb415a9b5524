import {
  type Access,
  accessOf,
  type DataIntent,
  privilegesGivenAt,
  intentAt,
  EMPTY_CONTEXT,
  type Origin,
  restrictionsInCatalog,
} from '../model/intent.js';
import { OPEN_SYSTEM_SCHEMAS, isOpenSystemNode } from '../model/resource.js';
import { deniedMembers } from '../model/named-others.js';
import { compareNames, compareNodes, kindOf, principalIn, type Node, nodeKey, SYSTEM } from '../model/node.js';
import type { Principal } from '../model/principal.js';
import { closesCompanion, storageColumns } from '../model/restrictions.js';
import { isServiceAccount } from '../model/principals.js';
import { isRoutinePrivilege, type Privilege, privilegesGivenBy } from '../model/privilege.js';
import type { SnapshotGrant, SnapshotPolicy, SnapshotSettings } from '../model/snapshot.js';
import { AccessIndex } from './access-index.js';

/** The access of a principal at a node, and at all nodes below unless a grant or policy below changes it. */
export interface EffectiveAccess {
  resource: Node;
  access: Access;
  /** The grants that give the access; empty for service accounts, whose access follows from the settings. */
  origins: Origin<SnapshotGrant>[];
}

/**
 * All access of a principal, as the list of nodes at which a grant gives access or a policy changes access, in the order of `compareNodes`.
 * For service accounts it is the list of their catalogs.
 * @param after the last node of the previous page; null: the first page
 */
export function effectiveAccess(
  index: AccessIndex,
  principal: Principal,
  { after = null, limit = Infinity }: { after?: Node | null; limit?: number } = {},
): EffectiveAccess[] {
  const ownIndex = new AccessIndex(index.snapshotFor(principal), index.principals);
  const accessList: EffectiveAccess[] = [];
  for (const resource of namedNodes(ownIndex, principal)) {
    if (accessList.length >= limit) break;
    if (after !== null && compareNodes(resource, after) <= 0) continue;
    const intent = intentAtNode(resource, principal, ownIndex);
    const isListed =
      principalIn(resource) === undefined
        ? hasEntry(ownIndex, principal, resource, intent)
        : hasEntryNamingPrincipals(resource, intent);
    if (isListed) accessList.push({ resource, access: intent, origins: givingGrants(intent) });
  }
  return accessList;
}

/** The access at a node. Usually depends only on the grants and policies on the node's path. */
export function intentAtNode(node: Node, principal: Principal, ownIndex: AccessIndex): DataIntent {
  const needsAllEntries = isOpenSystemNode(node) || node.as !== undefined;
  const snapshot = needsAllEntries ? ownIndex.snapshot : ownIndex.snapshotOnPath(node);
  return intentAt(snapshot, principal, node, ownIndex.principals);
}

/** The grants that give the privileges of an intent. */
export function givingGrants({ privileges, grants }: DataIntent): Origin<SnapshotGrant>[] {
  const heldPrivileges = privilegesGivenBy(privileges);
  const givesHeldPrivilege = (privileges: readonly Privilege[]): boolean =>
    [...privilegesGivenBy(privileges)].some((privilege) => heldPrivileges.has(privilege));
  const canCallProcedures = heldPrivileges.has('CALL_PROCEDURE');
  return grants.filter(
    ({ source }) =>
      givesHeldPrivilege(source.privileges) || (canCallProcedures && source.privileges.includes('KILL_QUERIES')),
  );
}

function namedNodes(ownIndex: AccessIndex, principal: Principal): Node[] {
  const { settings } = ownIndex.snapshot;
  if (!isServiceAccount(ownIndex.snapshot, principal)) {
    return withOpenSystem(withCatalogs(withDeniedMembers(ownIndex), settings)).sort(compareNodes);
  }
  const catalogs = new Set([...settings.writableCatalogs, ...settings.readableCatalogs]);
  return [...catalogs].sort(compareNames).map((catalog) => ({ catalog }));
}

export function withDeniedMembers(ownIndex: AccessIndex): Node[] {
  const nodesOf = (entries: readonly { resource: Node }[]) =>
    entries.map(({ resource }) => resource).filter(principalIn);
  const deniedMemberNodes = deniedMembers(
    ownIndex.principals,
    nodesOf(ownIndex.snapshot.grants),
    nodesOf(ownIndex.snapshot.policies),
  );
  return deniedMemberNodes.length === 0 ? ownIndex.nodes() : distinctNodes([...ownIndex.nodes(), ...deniedMemberNodes]);
}

export function withOpenSystem(nodes: Node[]): Node[] {
  if (!nodes.some(({ catalog, schema }) => catalog === SYSTEM && schema === undefined)) return nodes;
  const openSchemas = OPEN_SYSTEM_SCHEMAS.map((schema) => ({ catalog: SYSTEM, schema }));
  return distinctNodes([...nodes, ...openSchemas]);
}

/** Adds catalogs if the root is among the nodes, because access in a catalog can differ from access at the root. */
export function withCatalogs(nodes: readonly Node[], settings: SnapshotSettings): Node[] {
  if (!nodes.some((node) => kindOf(node) === 'everything')) return [...nodes];
  const namedCatalogs = nodes.flatMap(({ catalog }) => catalog ?? []);
  const settingCatalogs = [...settings.externalTableCatalogs, ...settings.rawColumnCatalogs];
  return distinctNodes([...nodes, ...[...namedCatalogs, ...settingCatalogs].map((catalog) => ({ catalog }))]);
}

function distinctNodes(nodes: readonly Node[]): Node[] {
  return [...new Map(nodes.map((node) => [nodeKey(node), node])).values()];
}

/** Whether to list the node: usually, whether a grant or policy gives or changes access there. */
function hasEntry(ownIndex: AccessIndex, principal: Principal, node: Node, intent: DataIntent): boolean {
  if (intent.ungrantedSource === 'service-account') return intent.privileges.length > 0;
  if (intent.ungrantedSource === 'reaches-something') return intent.privileges.length === 0;
  if (givingGrants(intent).some(isOnThisNode)) return true;
  const givenPrivileges = privilegesGivenAt(node, intent.grants);
  const catalogRestrictions = givenPrivileges.some(isRoutinePrivilege)
    ? restrictionsInCatalog(ownIndex.snapshot, principal, node, ownIndex.principals)
    : [];
  // Restrictions of data below a catalog take away rights over routines at the catalog.
  const restrictionsBelow =
    kindOf(node) === 'catalog'
      ? catalogRestrictions.filter(({ source }) => kindOf(source.resource) !== 'everything')
      : [];
  const ownPolicies = new Set(
    [...intent.policies.filter(isOnThisNode), ...restrictionsBelow].map(({ source }) => source),
  );
  const isCatalog = kindOf(node) === 'catalog';
  const isClosed = intent.policies.some(({ source }) => closesCompanion(node, source));
  if (ownPolicies.size === 0 && intent.policiesElsewhere.length === 0 && !isClosed && !isCatalog) return false;
  const withoutOwnPolicies = (policies: readonly Origin<SnapshotPolicy>[]): SnapshotPolicy[] =>
    policies.flatMap(({ source }) => (ownPolicies.has(source) ? [] : [source]));
  const { settings } = ownIndex.snapshot;
  const accessWithoutOwn = accessOf(givenPrivileges, withoutOwnPolicies(intent.policies), {
    routinePolicies: withoutOwnPolicies(catalogRestrictions),
    ownershipPolicies: [],
    storageColumns: storageColumns(isCatalog ? {} : node, settings),
  });
  return !isSameAccess(accessWithoutOwn, intent);
}

function hasEntryNamingPrincipals(node: Node, intent: DataIntent): boolean {
  if (givingGrants(intent).some(isOnThisNode)) return true;
  return (
    intent.policies.length > 0 &&
    !isSameAccess(accessOf(privilegesGivenAt(node, intent.grants), [], EMPTY_CONTEXT), intent)
  );
}

function isOnThisNode({ inheritedFrom }: Origin<SnapshotGrant | SnapshotPolicy>): boolean {
  return inheritedFrom === null;
}

export function isSameAccess(a: Access, b: Access): boolean {
  return JSON.stringify(visibleEffect(a)) === JSON.stringify(visibleEffect(b));
}

function visibleEffect({ privileges, filters, hiddenColumns, masks }: Access): unknown {
  return [privileges, filters, hiddenColumns, masks.map(({ column, expression }) => [column, expression])];
}
