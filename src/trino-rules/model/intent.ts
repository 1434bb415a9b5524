import { groupBy } from '../../kernel/collections.js';
import { TABLE_PRIVILEGES } from '../document/rules-document.js';
import { isOpenSystem } from './resource.js';
import { actingTargets, coversIn } from './named-others.js';
import { depth, isInTree, isKillQuery, KILL_QUERY, kindOf, namedBy, type Node, nodeKey, SYSTEM } from './node.js';
import type { Principal } from './principal.js';
import { isServiceAccount, Principals, type Through } from './principals.js';
import {
  withSums,
  isOverData,
  isOverRoutines,
  type Privilege,
  PRIVILEGE_TERMS,
  privilegesOn,
  withTaken,
  withContained,
} from './privilege.js';
import {
  closesCompanion,
  isAroundCatalogOf,
  restrictionsIn,
  restrictsData,
  restrictsReading,
  sharesFiles,
  storageColumns,
} from './restrictions.js';
import { isLive, type Snapshot, type SnapshotGrant, type SnapshotPolicy, type SnapshotSettings } from './snapshot.js';

/** A grant or a policy that reaches a node, how it applies to the principal, and the node that it names. */
export interface Origin<T extends { resource: Node }> {
  source: T;
  through: Through;
  /** The node above from which it is inherited; null when it names this very node. */
  inheritedFrom: T['resource'] | null;
}

/** A principal's access at a node and its unnamed descendants. */
export interface Access {
  /** In the engine's order. On a catalog or a schema, OWNERSHIP is the engine's schema ownership. */
  privileges: Privilege[];
  /** The expressions of all row filters that apply, sorted: a row must pass each of them. */
  filters: string[];
  /** Sorted. Includes columns with two contradictory masks. */
  hidden: string[];
  /** Sorted by column, without hidden columns. */
  masks: { column: string; expression: string }[];
  /** Columns with two masks at the same distance. */
  conflicts: string[];
}

/** The entries and settings that decide whether a principal may do something. */
export interface Intent {
  grants: Origin<SnapshotGrant>[];
  policies: Origin<SnapshotPolicy>[];
  /**
   * Policies on nodes beside the path that take something that is granted: one on a table takes ownership of its schema, one on
   * a base table takes its companions, one in a catalog over shared files takes ownership there.
   */
  elsewhere: SnapshotPolicy[];
  /** The source of the access if it needs no grant, also where a deny takes the access. */
  standing: 'service-account' | 'reaches-something' | null;
}

export interface DataIntent extends Access, Intent {}

/** Everything that holds for `principal` at `node`. */
export function intentAt(
  snapshot: Snapshot,
  principal: Principal,
  node: Node,
  principals = new Principals(snapshot),
): DataIntent {
  const intent = intentByEntries(snapshot, principal, node, principals);
  const isOpen = isOpenSystem(node) && intent.privileges.length === 0;
  if (!isOpen || !reachesSomething(snapshot, principal, principals)) return intent;
  const access = accessOf(
    ['SELECT'],
    intent.policies.map(({ source }) => source),
    NOTHING_AROUND,
  );
  return { ...intent, ...access, standing: 'reaches-something' };
}

/** Access by the settings, or by grants and policies, without the open schemas of `system` that any access opens. */
function intentByEntries(snapshot: Snapshot, principal: Principal, node: Node, principals: Principals): DataIntent {
  if (node.catalog === snapshot.settings.metadataCatalog) return NOTHING;
  if (isServiceAccount(snapshot, principal)) return serviceAccountIntent(snapshot, node);
  if (principal.type === 'user' && principals.user(principal.id)?.isActive !== true) return NOTHING;

  const grants = snapshot.grants.flatMap((grant) => {
    const applies = isLive(grant, snapshot.at) && coversIn(principals, grant.resource, node);
    const through = applies && principals.through(grant.principal, principal);
    return through ? [origin(grant, through, node)] : [];
  });
  const policies = snapshot.policies.flatMap((policy) => {
    const through = coversIn(principals, policy.resource, node) && principals.throughPolicy(policy, principal);
    return through ? [origin(policy, through, node)] : [];
  });

  if (isKillQuery(node))
    grants.push(
      ...killing(snapshot, principal, principals).map((grant) => ({ ...grant, inheritedFrom: grant.source.resource })),
    );
  const isNobody = node.as !== undefined && actingTargets(principals, node.as).length === 0;
  const given = isNobody ? [] : givenAt(node, grants);
  const applied = policies.map(({ source }) => source);
  const applying = (isMeant: (policy: SnapshotPolicy) => boolean): SnapshotPolicy[] =>
    snapshot.policies.filter((policy) => isMeant(policy) && principals.throughPolicy(policy, principal) !== null);
  const around = given.some(isOverRoutines) ? restrictionsAround(snapshot, principal, node, principals) : [];
  const owned = given.some((privilege) => PRIVILEGE_TERMS[privilege].yieldsToRestrictions);
  const files =
    owned && sharesFiles(node, snapshot.settings)
      ? applying((policy) => restrictsReading(policy) && isAroundCatalogOf(node, policy))
      : [];
  const access = accessOf(given, applied, {
    routines: around.map(({ source }) => source),
    ownership: files,
    storage: storageColumns(node, snapshot.settings),
  });
  if (kindOf(node) === 'table') {
    const closing = node.table?.includes('$') === true ? applying((policy) => closesCompanion(node, policy)) : [];
    const elsewhere = distinctFrom(applied, [...closing, ...files]);
    return { ...(closing.length > 0 ? NO_ACCESS : onTable(access)), grants, policies, elsewhere, standing: null };
  }
  const below = given.some((privilege) => PRIVILEGE_TERMS[privilege].ownsSchemas)
    ? restrictionsIn(snapshot, principal, node, principals)
    : [];
  const left = below.length > 0 ? withoutSchemaOwnership(access) : access;
  return { ...left, grants, policies, elsewhere: distinctFrom(applied, [...below, ...files]), standing: null };
}

function distinctFrom(known: readonly SnapshotPolicy[], policies: readonly SnapshotPolicy[]): SnapshotPolicy[] {
  return policies.length === 0 ? [] : [...new Set(policies)].filter((policy) => !known.includes(policy));
}

/** Access at a table, where SCHEMA_OWNERSHIP gives nothing, and TABLE_OWNERSHIP and OWNERSHIP are both OWNERSHIP. */
function onTable(access: Access): Access {
  const rights = new Set(access.privileges.map((privilege) => PRIVILEGE_TERMS[privilege].onTables));
  const privileges = TABLE_PRIVILEGES.filter((privilege) => rights.has(privilege));
  return privileges.length === 0 ? NO_ACCESS : { ...access, privileges };
}

/** Access in a schema with a restricted table: an owner of the schema could drop the table. */
function withoutSchemaOwnership(access: Access): Access {
  if (!access.privileges.some((privilege) => PRIVILEGE_TERMS[privilege].ownsSchemas)) return access;
  const tables = withContained(access.privileges);
  const privileges = withSums([...tables].filter((privilege) => !PRIVILEGE_TERMS[privilege].ownsSchemas));
  return privileges.length === 0 ? NO_ACCESS : { ...access, privileges };
}

/** The privileges of these grants that can be held at a node. A grant above may also name privileges for other kinds of nodes. */
export function givenAt(node: Node, grants: readonly Origin<SnapshotGrant>[]): Privilege[] {
  if (grants.length === 0) return [];
  const open = privilegesOn(node);
  const given = grants.flatMap(({ source }) => source.privileges);
  if (isKillQuery(node) && given.includes('KILL_QUERIES')) return ['CALL_PROCEDURE'];
  return given.filter((privilege) => open.includes(privilege));
}

/** The restrictions of data anywhere in the catalog of `node`: rights over its routines yield to them. */
export function restrictionsAround(
  snapshot: Snapshot,
  principal: Principal,
  node: Node,
  principals = new Principals(snapshot),
): Origin<SnapshotPolicy>[] {
  return snapshot.policies.flatMap((policy) => {
    const restricts = restrictsData(policy) && isAroundCatalogOf(node, policy);
    const through = restricts && principals.throughPolicy(policy, principal);
    return through ? [origin(policy, through, node)] : [];
  });
}

/** Policies and settings on which access at a node depends, besides the entries at the node and above. */
export interface Surroundings {
  /** Policies that take rights over routines: see `restrictionsAround`. */
  routines: readonly SnapshotPolicy[];
  /** Policies that take ownership in a catalog over shared files. */
  ownership: readonly SnapshotPolicy[];
  /** Columns that are hidden beside any masked or hidden one: see `storageColumns`. */
  storage: readonly string[];
}

export const NOTHING_AROUND: Surroundings = { routines: [], ownership: [], storage: [] };

/** The access that results from these privileges and policies, whatever their order. */
export function accessOf(
  given: readonly Privilege[],
  policies: readonly SnapshotPolicy[],
  around: Surroundings,
): Access {
  const held = withContained(given);
  const denied = withTaken(policies.flatMap((policy) => (policy.kind === 'deny' ? policy.privileges : [])));
  const restricting = policies.filter(restrictsData);
  const expressions = policies.flatMap((policy) => (policy.kind === 'row_filter' ? [policy.expression] : []));
  const filters = [...new Set(expressions)].sort();
  const restricted = columns(policies, around.storage);
  const yields = (privilege: Privilege): boolean => {
    const { yieldsToRestrictions, yieldsToFilters, yieldsToMasks } = PRIVILEGE_TERMS[privilege];
    return (
      (yieldsToRestrictions && restricting.length + around.ownership.length > 0) ||
      (yieldsToFilters && filters.length > 0) ||
      (yieldsToMasks && restricted.masks.length > 0)
    );
  };
  const left = withSums([...held].filter((privilege) => !denied.has(privilege) && !yields(privilege)));
  const isOutweighed = left.some(isOverRoutines) && (restricting.length > 0 || around.routines.some(restrictsData));
  const privileges = isOutweighed ? left.filter((privilege) => !isOverRoutines(privilege)) : left;
  if (!privileges.some(isOverData)) return privileges.length === 0 ? NO_ACCESS : { ...NO_ACCESS, privileges };
  return { privileges, filters, ...restricted };
}

/** Whether an access allows no more than reading data, and so no change of a table. */
export function readsAlone({ privileges }: Access): boolean {
  const rights = privileges.map((privilege) => PRIVILEGE_TERMS[privilege].onTables).filter((right) => right !== null);
  return rights.length > 0 && rights.every((right) => right === 'SELECT' || right === 'GRANT_SELECT');
}

/** Whether those who only read keep table procedures at a node: by the settings, and in `system`, which has none. */
export function isOpenToReaders({ catalog }: Node, { readersMaintain }: SnapshotSettings): boolean {
  return readersMaintain || catalog === SYSTEM;
}

/**
 * Whether an access gives table procedures (`ALTER TABLE … EXECUTE`): the engine asks for SELECT alone, and refuses them beside a
 * row filter and beside a mask (seen on 483). Access that reads alone gets a filter that lets every row through.
 */
export function runsTableProcedures(access: Access, node: Node, settings: SnapshotSettings): boolean {
  const { privileges, filters, masks } = access;
  const isReading = withContained(privileges).has('SELECT');
  const isOpen = isOpenToReaders(node, settings) || !readsAlone(access);
  return isReading && isOpen && filters.length === 0 && masks.length === 0;
}

/** Basic access: executing queries, reading `system.jdbc` and `system.metadata`. Service accounts always may. */
export function reachesSomething(
  snapshot: Snapshot,
  principal: Principal,
  principals = new Principals(snapshot),
): boolean {
  if (isServiceAccount(snapshot, principal)) return true;
  return [KILL_QUERY, ...wideningNodes(snapshot)].some(
    (node) =>
      namedBy(node) === undefined &&
      intentByEntries(snapshot, principal, node, principals).privileges.some(
        (privilege) => PRIVILEGE_TERMS[privilege].usedByStatements,
      ),
  );
}

/**
 * The nodes at which somebody may have more than above them: those of grants, and those where a policy or the settings hide columns (a column
 * that is hidden is not masked, and a mask takes writing). Denies, filters and masks also hold below their nodes.
 */
export function wideningNodes({ grants, policies, settings }: Snapshot): Node[] {
  const hiding = policies.flatMap((policy) => {
    if (policy.kind !== 'hidden_column') return [];
    const { column: _, ...node } = policy.resource;
    return [node];
  });
  const rawCatalogs = settings.rawColumnCatalogs.map((catalog) => ({ catalog }));
  return [...grants.map(({ resource }) => resource), ...hiding, ...rawCatalogs];
}

/** The part of an access that concerns one column (a hidden one cannot be read), or all of it without a column. */
export function accessToColumn(access: Access, column: string | undefined): Access {
  if (column === undefined) return access;
  const { privileges, filters, hidden, masks, conflicts } = access;
  return {
    privileges: privileges.filter((one) => !hidden.includes(column) || !PRIVILEGE_TERMS[one].readsColumns),
    filters,
    hidden: hidden.filter((name) => name === column),
    masks: masks.filter((mask) => mask.column === column),
    conflicts: conflicts.filter((name) => name === column),
  };
}

/** Hidden columns accumulate and replace masks. The nearest mask applies; two on one node hide the column. `storage` is hidden with any. */
function columns(
  policies: readonly SnapshotPolicy[],
  storage: readonly string[],
): Pick<Access, 'hidden' | 'masks' | 'conflicts'> {
  const masking = groupBy(
    policies.filter((policy) => policy.kind === 'column_mask'),
    ({ resource }) => resource.column,
  );
  const nearest = [...masking.keys()].sort().map((column) => {
    const claims = masking.get(column) ?? [];
    const near = Math.max(...claims.map(({ resource }) => depth(resource)));
    return {
      column,
      expressions: new Set(
        claims.filter(({ resource }) => depth(resource) === near).map(({ expression }) => expression),
      ),
    };
  });
  const conflicts = nearest.filter(({ expressions }) => expressions.size > 1).map(({ column }) => column);
  const hiding = policies.flatMap((policy) => (policy.kind === 'hidden_column' ? [policy.resource.column] : []));
  const beside = hiding.length + nearest.length > 0 ? storage : [];
  const hidden = [...new Set([...hiding, ...conflicts, ...beside])].sort();
  const masks = nearest.flatMap(({ column, expressions }) =>
    hidden.includes(column) ? [] : [...expressions].map((expression) => ({ column, expression })),
  );
  return { hidden, masks, conflicts };
}

/** Privileges of service accounts in writable catalogs: all privileges on tables. OWNERSHIP includes that of schemas. */
export const SERVICE_ACCOUNT_PRIVILEGES: Privilege[] = [...TABLE_PRIVILEGES];

/** Service accounts follow the settings alone; no grant and no policy touches them. */
function serviceAccountIntent({ settings }: Snapshot, node: Node): DataIntent {
  const { catalog } = node;
  if (catalog === undefined || catalog === SYSTEM || !isInTree(node)) return NOTHING;
  if (settings.writableCatalogs.includes(catalog)) {
    return { ...NOTHING, privileges: SERVICE_ACCOUNT_PRIVILEGES, standing: 'service-account' };
  }
  if (settings.readableCatalogs.includes(catalog)) {
    return { ...NOTHING, privileges: ['SELECT'], standing: 'service-account' };
  }
  return NOTHING;
}

function origin<T extends { resource: Node }>(source: T, through: Through, node: Node): Origin<T> {
  return { source, through, inheritedFrom: isAbove(source.resource, node) ? source.resource : null };
}

function isAbove(wide: Node, node: Node): boolean {
  return namedBy(node) === undefined ? depth(wide) < depth(node) : nodeKey(wide) !== nodeKey(node);
}

export const NO_ACCESS: Access = { privileges: [], filters: [], hidden: [], masks: [], conflicts: [] };
export const NO_ENTRIES = { grants: [], policies: [], elsewhere: [] };
const NOTHING: DataIntent = { ...NO_ACCESS, ...NO_ENTRIES, standing: null };

/** Grants of KILL_QUERIES that denies leave for at least one owner: `CALL system.runtime.kill_query` comes with them. */
function killing(
  { grants, policies, at }: Snapshot,
  principal: Principal,
  principals: Principals,
): { source: SnapshotGrant; through: Through }[] {
  const given = grants.flatMap((source) => {
    const isGiving = source.privileges.includes('KILL_QUERIES') && isLive(source, at);
    const through = isGiving && principals.through(source.principal, principal);
    return through ? [{ source, through }] : [];
  });
  if (given.length === 0) return [];
  const denied = policies.flatMap((policy) => {
    const isTaking = policy.kind === 'deny' && policy.privileges.includes('KILL_QUERIES');
    return isTaking && principals.throughPolicy(policy, principal) !== null ? [policy.resource] : [];
  });
  // A deny on the engine takes the queries of all owners.
  if (denied.some(({ queries }) => queries === undefined)) return [];
  const spared = denied.flatMap(({ queries }) => (queries === undefined ? [] : [principals.owners(queries)]));
  return given.filter(({ source: { resource } }) => {
    if (resource.queries === undefined) return true;
    const owners = [...principals.owners(resource.queries).keys()];
    return owners.some((owner) => !spared.some((others) => others.has(owner)));
  });
}
