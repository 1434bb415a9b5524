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
import { isServiceAccount, type Principals } from '../model/principals.js';
import { isOverRoutines, type Privilege, withContained } from '../model/privilege.js';
import type { Snapshot, SnapshotGrant, SnapshotPolicy, SnapshotSettings } from '../model/snapshot.js';
import { AccessIndex } from './access-index.js';

/** What a principal may do at a node and below it, up to the nodes that have an entry of their own. */
export interface EffectiveAccess {
  resource: Node;
  access: Access;
  /** The grants that give it; empty for service accounts, whose access follows from the settings. */
  origins: Origin<SnapshotGrant>[];
}

/**
 * Everything that a principal can reach: every node at which something is granted to it or a policy changes what it has, by name,
 * a node before those below it. Service accounts by catalog.
 * @param after the last node of the page before; null: from the start
 */
export function effectiveAccess(
  index: AccessIndex,
  principal: Principal,
  { after = null, limit = Infinity }: { after?: Node | null; limit?: number } = {},
): EffectiveAccess[] {
  const own = new AccessIndex(index.of(principal));
  const found: EffectiveAccess[] = [];
  for (const resource of namedNodes(own, principal, index.principals)) {
    if (found.length >= limit) break;
    if (after !== null && compareNodes(resource, after) <= 0) continue;
    // Whom one acts as depends on others, and so does what all read in `system`.
    const intent =
      resource.as === undefined
        ? intentAt(isOpenSystem(resource) ? own.snapshot : own.onPath(resource), principal, resource)
        : intentAt(index.snapshot, principal, resource, index.principals);
    const isEntry =
      namedBy(resource) === undefined
        ? hasEntry(own.snapshot, principal, resource, intent)
        : hasEntryOfOthers(resource, intent);
    if (isEntry) found.push({ resource, access: intent, origins: givingGrants(intent) });
  }
  return found;
}

/** The grants that give any of the privileges. */
export function givingGrants({ privileges, grants }: DataIntent): Origin<SnapshotGrant>[] {
  const held = withContained(privileges);
  const gives = (privileges: readonly Privilege[]): boolean =>
    [...withContained(privileges)].some((one) => held.has(one));
  const calls = held.has('CALL_PROCEDURE');
  return grants.filter(
    ({ source }) => gives(source.privileges) || (calls && source.privileges.includes('KILL_QUERIES')),
  );
}

function namedNodes(own: AccessIndex, principal: Principal, principals: Principals): Node[] {
  const { settings } = own.snapshot;
  if (!isServiceAccount(own.snapshot, principal)) {
    return withOpenSystem(withCatalogs(withDeniedMembers(own, principals), settings)).sort(compareNodes);
  }
  const catalogs = new Set([...settings.writableCatalogs, ...settings.readableCatalogs]);
  return [...catalogs].sort(compareNames).map((catalog) => ({ catalog }));
}

/** Nodes that entries name, and of acting as others and of queries those at which a deny takes a part of what is granted. */
export function withDeniedMembers(own: AccessIndex, principals: Principals): Node[] {
  const nodesOf = (rows: readonly { resource: Node }[]) => rows.map(({ resource }) => resource).filter(namedBy);
  const members = deniedMembers(principals, nodesOf(own.snapshot.grants), nodesOf(own.snapshot.policies));
  return members.length === 0 ? own.nodes() : distinct([...own.nodes(), ...members]);
}

/** What is said on `system` can matter where all read. */
export function withOpenSystem(nodes: Node[]): Node[] {
  if (!nodes.some(({ catalog, schema }) => catalog === SYSTEM && schema === undefined)) return nodes;
  const open = OPEN_SYSTEM_SCHEMAS.map((schema) => ({ catalog: SYSTEM, schema }));
  return distinct([...nodes, ...open]);
}

/** Where something is said on everything, what is said below a catalog can matter at the catalog, and what the settings say of it. */
export function withCatalogs(nodes: readonly Node[], settings: SnapshotSettings): Node[] {
  if (!nodes.some((node) => kindOf(node) === 'everything')) return [...nodes];
  const named = nodes.flatMap(({ catalog }) => catalog ?? []);
  const set = [...settings.externalTableCatalogs, ...settings.rawColumnCatalogs];
  return distinct([...nodes, ...[...named, ...set].map((catalog) => ({ catalog }))]);
}

function distinct(nodes: readonly Node[]): Node[] {
  return [...new Map(nodes.map((node) => [nodeKey(node), node])).values()];
}

/** Whether a grant gives something at this very node, or a policy on it changes what there is; what all read is no entry. */
function hasEntry(own: Snapshot, principal: Principal, node: Node, intent: DataIntent): boolean {
  if (intent.standing === 'service-account') return intent.privileges.length > 0;
  if (intent.standing === 'reaches-something') return intent.privileges.length === 0;
  if (givingGrants(intent).some(namesThisNode)) return true;
  const given = givenAt(node, intent.grants);
  const around = given.some(isOverRoutines) ? restrictionsAround(own, principal, node) : [];
  // What restricts data anywhere in a catalog takes what is given on everything at the catalog.
  const below =
    kindOf(node) === 'catalog' ? around.filter(({ source }) => kindOf(source.resource) !== 'everything') : [];
  const here = new Set([...intent.policies.filter(namesThisNode), ...below].map(({ source }) => source));
  const isCatalog = kindOf(node) === 'catalog';
  if (here.size === 0 && intent.elsewhere.length === 0 && !isCatalog) return false;
  const but = (policies: readonly Origin<SnapshotPolicy>[]): SnapshotPolicy[] =>
    policies.flatMap(({ source }) => (here.has(source) ? [] : [source]));
  const { settings } = own;
  const without = accessOf(given, but(intent.policies), {
    routines: but(around),
    ownership: [],
    storage: storageColumns(isCatalog ? {} : node, settings),
  });
  return !isSameAccess(without, intent);
}

/** Whether a grant gives something here as named, or a deny takes it. */
function hasEntryOfOthers(node: Node, intent: DataIntent): boolean {
  if (givingGrants(intent).some(namesThisNode)) return true;
  return (
    intent.policies.length > 0 && !isSameAccess(accessOf(givenAt(node, intent.grants), [], NOTHING_AROUND), intent)
  );
}

function namesThisNode({ inheritedFrom }: Origin<SnapshotGrant | SnapshotPolicy>): boolean {
  return inheritedFrom === null;
}

/** Whether two accesses have the same effect. */
export function isSameAccess(a: Access, b: Access): boolean {
  return JSON.stringify(effectOf(a)) === JSON.stringify(effectOf(b));
}

function effectOf({ privileges, filters, hidden, masks }: Access): unknown {
  return [privileges, filters, hidden, masks.map(({ column, expression }) => [column, expression])];
}
