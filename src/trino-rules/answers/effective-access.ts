import {
  type Access,
  accessOf,
  type DataIntent,
  givenAt,
  intentAt,
  NOTHING_AROUND,
  type Origin,
  restrictionsAround,
} from '../model/intent.js';
import { OPEN_SYSTEM_SCHEMAS, isOpenSystem } from '../model/resource.js';
import { deniedMembers } from '../model/named-others.js';
import { compareNames, compareNodes, kindOf, namedBy, type Node, nodeKey, SYSTEM } from '../model/node.js';
import type { Principal } from '../model/principal.js';
import { storageColumns } from '../model/restrictions.js';
import { isServiceAccount } from '../model/principals.js';
import { isOverRoutines, type Privilege, withContained } from '../model/privilege.js';
import type { SnapshotGrant, SnapshotPolicy, SnapshotSettings } from '../model/snapshot.js';
import { AccessIndex } from './access-index.js';

/** Access of a principal at a node and below it, down to nodes with an entry of their own. */
export interface EffectiveAccess {
  resource: Node;
  access: Access;
  /** The grants that give the access; empty for service accounts, which follow the settings. */
  origins: Origin<SnapshotGrant>[];
}

/**
 * All access of a principal: every node where a grant gives something or a policy changes the access, ordered by name, a node before
 * those below it. For service accounts, every catalog.
 * @param after the last node of the previous page; null: from the start
 */
export function effectiveAccess(
  index: AccessIndex,
  principal: Principal,
  { after = null, limit = Infinity }: { after?: Node | null; limit?: number } = {},
): EffectiveAccess[] {
  const own = new AccessIndex(index.of(principal), index.principals);
  const found: EffectiveAccess[] = [];
  for (const resource of namedNodes(own, principal)) {
    if (found.length >= limit) break;
    if (after !== null && compareNodes(resource, after) <= 0) continue;
    const intent = intentOn(resource, principal, own);
    const isEntry =
      namedBy(resource) === undefined ? hasEntry(own, principal, resource, intent) : hasEntryOfOthers(resource, intent);
    if (isEntry) found.push({ resource, access: intent, origins: givingGrants(intent) });
  }
  return found;
}

/** The intent at a node by the entries that matter there. At open schemas of `system` and for impersonation all entries matter. */
export function intentOn(node: Node, principal: Principal, own: AccessIndex): DataIntent {
  const isByAll = isOpenSystem(node) || node.as !== undefined;
  return intentAt(isByAll ? own.snapshot : own.onPath(node), principal, node, own.principals);
}

/** The grants behind the privileges of an intent. */
export function givingGrants({ privileges, grants }: DataIntent): Origin<SnapshotGrant>[] {
  const held = withContained(privileges);
  const gives = (privileges: readonly Privilege[]): boolean =>
    [...withContained(privileges)].some((one) => held.has(one));
  const calls = held.has('CALL_PROCEDURE');
  return grants.filter(
    ({ source }) => gives(source.privileges) || (calls && source.privileges.includes('KILL_QUERIES')),
  );
}

function namedNodes(own: AccessIndex, principal: Principal): Node[] {
  const { settings } = own.snapshot;
  if (!isServiceAccount(own.snapshot, principal)) {
    return withOpenSystem(withCatalogs(withDeniedMembers(own), settings)).sort(compareNodes);
  }
  const catalogs = new Set([...settings.writableCatalogs, ...settings.readableCatalogs]);
  return [...catalogs].sort(compareNames).map((catalog) => ({ catalog }));
}

/** Nodes with entries, and members of groups where a deny takes a part of IMPERSONATE or of rights over queries. */
export function withDeniedMembers(own: AccessIndex): Node[] {
  const nodesOf = (rows: readonly { resource: Node }[]) => rows.map(({ resource }) => resource).filter(namedBy);
  const members = deniedMembers(own.principals, nodesOf(own.snapshot.grants), nodesOf(own.snapshot.policies));
  return members.length === 0 ? own.nodes() : distinct([...own.nodes(), ...members]);
}

/** Adds the open schemas of `system` if the whole catalog is among the nodes. */
export function withOpenSystem(nodes: Node[]): Node[] {
  if (!nodes.some(({ catalog, schema }) => catalog === SYSTEM && schema === undefined)) return nodes;
  const open = OPEN_SYSTEM_SCHEMAS.map((schema) => ({ catalog: SYSTEM, schema }));
  return distinct([...nodes, ...open]);
}

/** Adds catalogs if the root is among the nodes: entries below a catalog and settings can change the access at the catalog. */
export function withCatalogs(nodes: readonly Node[], settings: SnapshotSettings): Node[] {
  if (!nodes.some((node) => kindOf(node) === 'everything')) return [...nodes];
  const named = nodes.flatMap(({ catalog }) => catalog ?? []);
  const set = [...settings.externalTableCatalogs, ...settings.rawColumnCatalogs];
  return distinct([...nodes, ...[...named, ...set].map((catalog) => ({ catalog }))]);
}

function distinct(nodes: readonly Node[]): Node[] {
  return [...new Map(nodes.map((node) => [nodeKey(node), node])).values()];
}

/** Whether a grant gives something at this node, or a policy on it changes the access. The open schemas of `system` are no entry. */
function hasEntry(own: AccessIndex, principal: Principal, node: Node, intent: DataIntent): boolean {
  if (intent.standing === 'service-account') return intent.privileges.length > 0;
  if (intent.standing === 'reaches-something') return intent.privileges.length === 0;
  if (givingGrants(intent).some(namesThisNode)) return true;
  const given = givenAt(node, intent.grants);
  const around = given.some(isOverRoutines) ? restrictionsAround(own.snapshot, principal, node, own.principals) : [];
  // Restrictions of data below a catalog take rights over routines at the catalog.
  const below =
    kindOf(node) === 'catalog' ? around.filter(({ source }) => kindOf(source.resource) !== 'everything') : [];
  const here = new Set([...intent.policies.filter(namesThisNode), ...below].map(({ source }) => source));
  const isCatalog = kindOf(node) === 'catalog';
  if (here.size === 0 && intent.elsewhere.length === 0 && !isCatalog) return false;
  const but = (policies: readonly Origin<SnapshotPolicy>[]): SnapshotPolicy[] =>
    policies.flatMap(({ source }) => (here.has(source) ? [] : [source]));
  const { settings } = own.snapshot;
  const without = accessOf(given, but(intent.policies), {
    routines: but(around),
    ownership: [],
    storage: storageColumns(isCatalog ? {} : node, settings),
  });
  return !isSameAccess(without, intent);
}

/** As `hasEntry`, for nodes that name principals. */
function hasEntryOfOthers(node: Node, intent: DataIntent): boolean {
  if (givingGrants(intent).some(namesThisNode)) return true;
  return (
    intent.policies.length > 0 && !isSameAccess(accessOf(givenAt(node, intent.grants), [], NOTHING_AROUND), intent)
  );
}

function namesThisNode({ inheritedFrom }: Origin<SnapshotGrant | SnapshotPolicy>): boolean {
  return inheritedFrom === null;
}

export function isSameAccess(a: Access, b: Access): boolean {
  return JSON.stringify(effectOf(a)) === JSON.stringify(effectOf(b));
}

function effectOf({ privileges, filters, hidden, masks }: Access): unknown {
  return [privileges, filters, hidden, masks.map(({ column, expression }) => [column, expression])];
}
