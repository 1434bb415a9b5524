import { groupBy } from '../../kernel/collections.js';
import { TABLE_PRIVILEGES } from '../document/rules-document.js';
import { isOpenSystemNode } from './resource.js';
import { impersonationTargets, coversMembers } from './named-others.js';
import { depth, isInTree, isKillQuery, KILL_QUERY, kindOf, principalIn, type Node, nodeKey, SYSTEM } from './node.js';
import type { Principal } from './principal.js';
import { isServiceAccount, Principals, type AppliesThrough } from './principals.js';
import {
  mergeIntoComposites,
  isDataPrivilege,
  isRoutinePrivilege,
  type Privilege,
  PRIVILEGE_TERMS,
  privilegesOn,
  privilegesTakenBy,
  privilegesGivenBy,
} from './privilege.js';
import {
  closesCompanion,
  concernsCatalogOf,
  restrictsTableIn,
  restrictsData,
  restrictsReading,
  tablesMayShareFiles,
  storageColumns,
} from './restrictions.js';
import { isLive, type Snapshot, type SnapshotGrant, type SnapshotPolicy, type SnapshotSettings } from './snapshot.js';

/** A grant or policy (`source`) that applies at a node. `through`: directly to the principal, to everyone, or to a group. */
export interface Origin<T extends { resource: Node }> {
  source: T;
  through: AppliesThrough;
  /** The higher node that has the grant or policy; null: this node itself has it. */
  inheritedFrom: T['resource'] | null;
}

/** A principal's access at a node. */
export interface Access {
  /** Privileges in the order of `PRIVILEGES`. On a catalog or a schema, OWNERSHIP is the engine's schema ownership. */
  privileges: Privilege[];
  /** The expressions of all row filters that apply, sorted: a row must pass each of them. */
  filters: string[];
  /** Names of hidden columns, sorted, including columns with two contradictory masks. */
  hiddenColumns: string[];
  /** The masks that apply, sorted by column. Hidden columns have none. */
  masks: { column: string; expression: string }[];
  /** Columns with two different masks on the nearest node that masks the column. */
  conflictColumns: string[];
}

/** The grants, policies and settings that decide whether a principal has a right. Grants and policies are together called entries. */
export interface Intent {
  grants: Origin<SnapshotGrant>[];
  policies: Origin<SnapshotPolicy>[];
  /** Policies on other nodes that take away a granted right. For example, a policy on a table takes away ownership of its schema. */
  policiesElsewhere: SnapshotPolicy[];
  /** Why access needs no grant (`reaches-something`: any other access is enough); null: access needs a grant. */
  ungrantedSource: 'service-account' | 'reaches-something' | null;
}

export interface DataIntent extends Access, Intent {}

/** The access of `principal` at `node`, and the grants and policies that decide it. */
export function intentAt(
  snapshot: Snapshot,
  principal: Principal,
  node: Node,
  principals = new Principals(snapshot),
): DataIntent {
  const intent = intentByEntries(snapshot, principal, node, principals);
  const isClosedSystemNode = isOpenSystemNode(node) && intent.privileges.length === 0;
  if (!isClosedSystemNode || !hasAnyAccess(snapshot, principal, principals)) return intent;
  const policies = intent.policies.map(({ source }) => source);
  return { ...intent, ...accessOf(['SELECT'], policies, EMPTY_CONTEXT), ungrantedSource: 'reaches-something' };
}

/** The access by settings, grants and policies, without the schemas of `system` that users with any access can read. */
function intentByEntries(snapshot: Snapshot, principal: Principal, node: Node, principals: Principals): DataIntent {
  if (node.catalog === snapshot.settings.metadataCatalog) return NO_INTENT;
  if (isServiceAccount(snapshot, principal)) return serviceAccountIntent(snapshot, node);
  if (principal.type === 'user' && principals.user(principal.id)?.isActive !== true) return NO_INTENT;

  const grants = snapshot.grants.flatMap((grant) => {
    const grantApplies = isLive(grant, snapshot.at) && coversMembers(principals, grant.resource, node);
    const through = grantApplies && principals.appliesThrough(grant.principal, principal);
    return through ? [originOf(grant, through, node)] : [];
  });
  const policies = snapshot.policies.flatMap((policy) => {
    const through =
      coversMembers(principals, policy.resource, node) && principals.policyAppliesThrough(policy, principal);
    return through ? [originOf(policy, through, node)] : [];
  });

  if (isKillQuery(node)) grants.push(...killQueriesGrants(snapshot, principal, principals));
  const hasNoTarget = node.as !== undefined && impersonationTargets(principals, node.as).length === 0;
  const givenPrivileges = hasNoTarget ? [] : privilegesGivenAt(node, grants);
  const appliedPolicies = policies.map(({ source }) => source);
  const policiesOfPrincipal = (isRelevant: (policy: SnapshotPolicy) => boolean): SnapshotPolicy[] =>
    snapshot.policies.filter((each) => isRelevant(each) && principals.policyAppliesThrough(each, principal) !== null);
  const catalogRestrictions = givenPrivileges.some(isRoutinePrivilege)
    ? restrictionsInCatalog(snapshot, principal, node, principals)
    : [];
  const givesOwnership = givenPrivileges.some((privilege) => PRIVILEGE_TERMS[privilege].yieldsToRestrictions);
  const sharedFilePolicies =
    givesOwnership && tablesMayShareFiles(node, snapshot.settings)
      ? policiesOfPrincipal((policy) => restrictsReading(policy) && concernsCatalogOf(node, policy))
      : [];
  const access = accessOf(givenPrivileges, appliedPolicies, {
    routinePolicies: catalogRestrictions.map(({ source }) => source),
    ownershipPolicies: sharedFilePolicies,
    storageColumns: storageColumns(node, snapshot.settings),
  });
  if (kindOf(node) === 'table') {
    const companionPolicies =
      node.table?.includes('$') === true ? policiesOfPrincipal((policy) => closesCompanion(node, policy)) : [];
    const policiesElsewhere = policiesNotIn(appliedPolicies, [...companionPolicies, ...sharedFilePolicies]);
    const tableAccess = companionPolicies.length > 0 ? NO_ACCESS : accessOnTable(access);
    return { ...tableAccess, grants, policies, policiesElsewhere, ungrantedSource: null };
  }
  const ownsSchema = givenPrivileges.some((privilege) => PRIVILEGE_TERMS[privilege].ownsSchemas);
  const tablePolicies = ownsSchema ? policiesOfPrincipal((policy) => restrictsTableIn(node, policy)) : [];
  const remainingAccess = tablePolicies.length > 0 ? withoutSchemaOwnership(access) : access;
  const policiesElsewhere = policiesNotIn(appliedPolicies, [...tablePolicies, ...sharedFilePolicies]);
  return { ...remainingAccess, grants, policies, policiesElsewhere, ungrantedSource: null };
}

function policiesNotIn(existing: readonly SnapshotPolicy[], policies: readonly SnapshotPolicy[]): SnapshotPolicy[] {
  return policies.length === 0 ? [] : [...new Set(policies)].filter((policy) => !existing.includes(policy));
}

/** The access at a table, in the engine's privileges: TABLE_OWNERSHIP becomes OWNERSHIP, and SCHEMA_OWNERSHIP gives nothing. */
function accessOnTable(access: Access): Access {
  const rights = new Set(access.privileges.map((privilege) => PRIVILEGE_TERMS[privilege].tablePrivilege));
  const privileges = TABLE_PRIVILEGES.filter((privilege) => rights.has(privilege));
  return privileges.length === 0 ? NO_ACCESS : { ...access, privileges };
}

/** Removes schema ownership from the access to a schema with a restricted table, because an owner of the schema could drop the table. */
function withoutSchemaOwnership(access: Access): Access {
  if (!access.privileges.some((privilege) => PRIVILEGE_TERMS[privilege].ownsSchemas)) return access;
  const givenPrivileges = privilegesGivenBy(access.privileges);
  const privileges = mergeIntoComposites(
    [...givenPrivileges].filter((privilege) => !PRIVILEGE_TERMS[privilege].ownsSchemas),
  );
  return privileges.length === 0 ? NO_ACCESS : { ...access, privileges };
}

/** The privileges of these grants that exist at a node. A grant above may also have privileges for other kinds of nodes. */
export function privilegesGivenAt(node: Node, grants: readonly Origin<SnapshotGrant>[]): Privilege[] {
  if (grants.length === 0) return [];
  const possiblePrivileges = privilegesOn(node);
  const namedPrivileges = grants.flatMap(({ source }) => source.privileges);
  if (isKillQuery(node) && namedPrivileges.includes('KILL_QUERIES')) return ['CALL_PROCEDURE'];
  return namedPrivileges.filter((privilege) => possiblePrivileges.includes(privilege));
}

/** The restrictions of data anywhere in the catalog of `node`. Each of them takes away the rights over all routines of the catalog. */
export function restrictionsInCatalog(
  snapshot: Snapshot,
  principal: Principal,
  node: Node,
  principals = new Principals(snapshot),
): Origin<SnapshotPolicy>[] {
  return snapshot.policies.flatMap((policy) => {
    const isRestriction = restrictsData(policy) && concernsCatalogOf(node, policy);
    const through = isRestriction && principals.policyAppliesThrough(policy, principal);
    return through ? [originOf(policy, through, node)] : [];
  });
}

/** Policies and settings that decide access at a node, besides the grants and policies on the node and above. */
export interface AccessContext {
  /** Policies that take away rights over routines: see `restrictionsInCatalog`. */
  routinePolicies: readonly SnapshotPolicy[];
  /** Policies that take away ownership in a catalog whose tables can share files. */
  ownershipPolicies: readonly SnapshotPolicy[];
  /** Columns such as `$path` that are hidden as soon as another column is masked or hidden. */
  storageColumns: readonly string[];
}

export const EMPTY_CONTEXT: AccessContext = { routinePolicies: [], ownershipPolicies: [], storageColumns: [] };

/** The access that these privileges and policies give together. Their order does not matter. */
export function accessOf(
  privilegesOfGrants: readonly Privilege[],
  policies: readonly SnapshotPolicy[],
  context: AccessContext,
): Access {
  const givenPrivileges = privilegesGivenBy(privilegesOfGrants);
  const deniedPrivileges = privilegesTakenBy(
    policies.flatMap((policy) => (policy.kind === 'deny' ? policy.privileges : [])),
  );
  const dataRestrictions = policies.filter(restrictsData);
  const expressions = policies.flatMap((policy) => (policy.kind === 'row_filter' ? [policy.expression] : []));
  const filters = [...new Set(expressions)].sort();
  const restrictionsOfColumns = columnRestrictions(policies, context.storageColumns);
  const isTaken = (privilege: Privilege): boolean => {
    const { yieldsToRestrictions, yieldsToFilters, yieldsToMasks } = PRIVILEGE_TERMS[privilege];
    return (
      (yieldsToRestrictions && dataRestrictions.length + context.ownershipPolicies.length > 0) ||
      (yieldsToFilters && filters.length > 0) ||
      (yieldsToMasks && restrictionsOfColumns.masks.length > 0)
    );
  };
  const remainingPrivileges = mergeIntoComposites(
    [...givenPrivileges].filter((privilege) => !deniedPrivileges.has(privilege) && !isTaken(privilege)),
  );
  const losesRoutineRights =
    remainingPrivileges.some(isRoutinePrivilege) &&
    (dataRestrictions.length > 0 || context.routinePolicies.some(restrictsData));
  const privileges = losesRoutineRights
    ? remainingPrivileges.filter((privilege) => !isRoutinePrivilege(privilege))
    : remainingPrivileges;
  if (!privileges.some(isDataPrivilege)) return privileges.length === 0 ? NO_ACCESS : { ...NO_ACCESS, privileges };
  return { privileges, filters, ...restrictionsOfColumns };
}

/** Whether an access has table privileges, all of which are SELECT or GRANT_SELECT. Other kinds of privileges do not count. */
export function onlyReads({ privileges }: Access): boolean {
  const rights = privileges
    .map((privilege) => PRIVILEGE_TERMS[privilege].tablePrivilege)
    .filter((right) => right !== null);
  return rights.length > 0 && rights.every((right) => right === 'SELECT' || right === 'GRANT_SELECT');
}

/** Whether users who only read may run table procedures. True in `system`: its tables have no procedures, so nothing needs to be denied there. */
export function allowsProceduresToReaders({ catalog }: Node, { readersMaintain }: SnapshotSettings): boolean {
  return readersMaintain || catalog === SYSTEM;
}

/**
 * Whether an access allows table procedures (`ALTER TABLE … EXECUTE`). The engine refuses them on a table with a row filter or a mask
 * (seen on 483). To deny them to readers, the compiler adds a filter that passes every row.
 */
export function allowsTableProcedures(access: Access, node: Node, settings: SnapshotSettings): boolean {
  const { privileges, filters, masks } = access;
  const hasSelect = privilegesGivenBy(privileges).has('SELECT');
  const proceduresAreOpen = allowsProceduresToReaders(node, settings) || !onlyReads(access);
  return hasSelect && proceduresAreOpen && filters.length === 0 && masks.length === 0;
}

/** Whether a principal has access to anything, so that it may execute queries and read `system.jdbc` and `system.metadata`. */
export function hasAnyAccess(snapshot: Snapshot, principal: Principal, principals = new Principals(snapshot)): boolean {
  if (isServiceAccount(snapshot, principal)) return true;
  return [KILL_QUERY, ...wideningNodes(snapshot)].some(
    (node) =>
      principalIn(node) === undefined &&
      intentByEntries(snapshot, principal, node, principals).privileges.some(
        (privilege) => PRIVILEGE_TERMS[privilege].isUsedByStatements,
      ),
  );
}

/** The nodes at which a principal may have more access than at the parent. Hiding a masked column may allow writing again, because the mask no longer applies. */
export function wideningNodes({ grants, policies, settings }: Snapshot): Node[] {
  const hidingNodes = policies.flatMap((policy) => {
    if (policy.kind !== 'hidden_column' && policy.kind !== 'column_mask') return [];
    const { column: _, ...node } = policy.resource;
    return [node];
  });
  const rawCatalogs = settings.rawColumnCatalogs.map((catalog) => ({ catalog }));
  return [...grants.map(({ resource }) => resource), ...hidingNodes, ...rawCatalogs];
}

/** The part of an access that concerns one column; without a column, the whole access. */
export function accessToColumn(access: Access, column: string | undefined): Access {
  if (column === undefined) return access;
  const { privileges, filters, hiddenColumns, masks, conflictColumns } = access;
  return {
    privileges: privileges.filter((each) => !hiddenColumns.includes(column) || !PRIVILEGE_TERMS[each].readsColumns),
    filters,
    hiddenColumns: hiddenColumns.filter((name) => name === column),
    masks: masks.filter((mask) => mask.column === column),
    conflictColumns: conflictColumns.filter((name) => name === column),
  };
}

/** Hidden columns and masks. A hidden column has no mask. The nearest mask of a column applies. Two different nearest masks hide the column. */
function columnRestrictions(
  policies: readonly SnapshotPolicy[],
  storageColumnNames: readonly string[],
): Pick<Access, 'hiddenColumns' | 'masks' | 'conflictColumns'> {
  const masksByColumn = groupBy(
    policies.filter((policy) => policy.kind === 'column_mask'),
    ({ resource }) => resource.column,
  );
  const nearestMasks = [...masksByColumn.keys()].sort().map((column) => {
    const columnMasks = masksByColumn.get(column) ?? [];
    const nearestDepth = Math.max(...columnMasks.map(({ resource }) => depth(resource)));
    return {
      column,
      expressions: new Set(
        columnMasks.filter(({ resource }) => depth(resource) === nearestDepth).map(({ expression }) => expression),
      ),
    };
  });
  const conflictColumns = nearestMasks.filter(({ expressions }) => expressions.size > 1).map(({ column }) => column);
  const columnsHiddenByPolicy = policies.flatMap((policy) =>
    policy.kind === 'hidden_column' ? [policy.resource.column] : [],
  );
  const hiddenStorageColumns = columnsHiddenByPolicy.length + nearestMasks.length > 0 ? storageColumnNames : [];
  const hiddenColumns = [...new Set([...columnsHiddenByPolicy, ...conflictColumns, ...hiddenStorageColumns])].sort();
  const masks = nearestMasks.flatMap(({ column, expressions }) =>
    hiddenColumns.includes(column) ? [] : [...expressions].map((expression) => ({ column, expression })),
  );
  return { hiddenColumns, masks, conflictColumns };
}

/** Privileges of service accounts in writable catalogs: all table privileges. OWNERSHIP includes the ownership of schemas. */
export const SERVICE_ACCOUNT_PRIVILEGES: Privilege[] = [...TABLE_PRIVILEGES];

/** The access of a service account. It follows from the settings alone: grants and policies do not apply to service accounts. */
function serviceAccountIntent({ settings }: Snapshot, node: Node): DataIntent {
  const { catalog } = node;
  if (catalog === undefined || catalog === SYSTEM || !isInTree(node)) return NO_INTENT;
  const intent: DataIntent = { ...NO_INTENT, ungrantedSource: 'service-account' };
  if (settings.writableCatalogs.includes(catalog)) return { ...intent, privileges: SERVICE_ACCOUNT_PRIVILEGES };
  return settings.readableCatalogs.includes(catalog) ? { ...intent, privileges: ['SELECT'] } : NO_INTENT;
}

function originOf<T extends { resource: Node }>(source: T, through: AppliesThrough, node: Node): Origin<T> {
  const { resource } = source;
  const isInherited =
    principalIn(node) === undefined ? depth(resource) < depth(node) : nodeKey(resource) !== nodeKey(node);
  return { source, through, inheritedFrom: isInherited ? resource : null };
}

export const NO_ACCESS: Access = { privileges: [], filters: [], hiddenColumns: [], masks: [], conflictColumns: [] };
export const NO_ENTRIES = { grants: [], policies: [], policiesElsewhere: [] };
const NO_INTENT: DataIntent = { ...NO_ACCESS, ...NO_ENTRIES, ungrantedSource: null };

/** Grants of KILL_QUERIES, except those that denies cancel. Such a grant also allows `CALL system.runtime.kill_query`. */
function killQueriesGrants(
  { grants, policies, at }: Snapshot,
  principal: Principal,
  principals: Principals,
): Origin<SnapshotGrant>[] {
  const liveGrants = grants.flatMap((source) => {
    const givesKillQueries = source.privileges.includes('KILL_QUERIES') && isLive(source, at);
    const through = givesKillQueries && principals.appliesThrough(source.principal, principal);
    return through ? [{ source, through, inheritedFrom: source.resource }] : [];
  });
  if (liveGrants.length === 0) return [];
  const deniedNodes = policies.flatMap((policy) => {
    const takesKillQueries = policy.kind === 'deny' && policy.privileges.includes('KILL_QUERIES');
    return takesKillQueries && principals.policyAppliesThrough(policy, principal) !== null ? [policy.resource] : [];
  });
  // A deny on the engine denies the queries of all owners.
  if (deniedNodes.some(({ queries }) => queries === undefined)) return [];
  const deniedOwners = deniedNodes.flatMap(({ queries }) =>
    queries === undefined ? [] : [principals.owners(queries)],
  );
  return liveGrants.filter(({ source: { resource } }) => {
    if (resource.queries === undefined) return true;
    const owners = [...principals.owners(resource.queries).keys()];
    return owners.some((owner) => !deniedOwners.some((ownersOfDeny) => ownersOfDeny.has(owner)));
  });
}
