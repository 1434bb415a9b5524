import { covers, depth, type Node } from './node.js';
import { isLive, matchesPrincipal, matchesPolicy, type Through } from './principal-matching.js';
import type { Principal } from './principal.js';
import { PRIVILEGES, taken, withContained, type Privilege } from './privilege.js';
import type { Resource } from './resource.js';
import type { Snapshot, SnapshotGrant, SnapshotPolicy } from './snapshot.js';

/** A grant or a policy that reaches a node, how it applies to the principal, and the node that it names. */
export interface Origin<T> {
  source: T;
  through: Through;
  /** The node above from which it is inherited; null when it names this very node. */
  inheritedFrom: Resource | null;
}

/** A principal's access at a node and its unnamed descendants. */
export interface Access {
  /** In the engine's order. On a catalog or a schema, OWNERSHIP is the engine's schema ownership. */
  privileges: Privilege[];
  /** The expressions of all row filters that apply, sorted: a row must pass each of them. */
  filters: string[];
  /** Sorted; those hidden for want of a decision between two masks among them. */
  hidden: string[];
  /** Sorted by column, none of them hidden. */
  masks: { column: string; expression: string }[];
  /** Columns that two masks at the same distance claim. */
  conflicts: string[];
}

/** What one principal may do on one node, and where it comes from. */
export interface Intent extends Access {
  grants: Origin<SnapshotGrant>[];
  policies: Origin<SnapshotPolicy>[];
  /** What the privileges come from where it is no grant. */
  standing: 'service-account' | 'reaches-something' | null;
}

export interface Decision {
  allowed: boolean;
  /** The live grants that carry the privilege here. */
  grants: Origin<SnapshotGrant>[];
  /** The denies that take it. */
  denies: Origin<SnapshotPolicy>[];
  intent: Intent;
}

/**
 * May `principal` use `privilege` on `node`? This function is the specification that the rules are proved against
 * (access model, section 1). A group is judged as a member would be who is in no other group.
 */
export function decide(snapshot: Snapshot, principal: Principal, node: Resource, privilege: Privilege): Decision {
  const intent = intentAt(snapshot, principal, node);
  return {
    allowed: intent.privileges.includes(privilege),
    grants: intent.grants.filter(({ source }) => withContained(source.privileges).has(privilege)),
    denies: intent.policies.filter(({ source }) => source.kind === 'deny' && taken(source.privileges).has(privilege)),
    intent,
  };
}

/** Everything that holds for `principal` at `node`. */
export function intentAt(snapshot: Snapshot, principal: Principal, node: Node): Intent {
  if (node.catalog === snapshot.settings.metadataCatalog) return NOTHING;
  if (node.catalog === 'system') return systemIntent(snapshot, principal, node);
  if (isServiceAccount(snapshot, principal)) return serviceAccountIntent(snapshot, node);
  if (!isActive(snapshot, principal)) return NOTHING;

  const grants = snapshot.grants.flatMap((grant) => {
    const through =
      isLive(grant, snapshot.at) &&
      covers(grant.resource, node) &&
      matchesPrincipal(snapshot, grant.principal, principal);
    return through ? [origin(grant, through, node)] : [];
  });
  const policies = snapshot.policies.flatMap((policy) => {
    const through = covers(policy.resource, node) && matchesPolicy(snapshot, policy, principal);
    return through ? [origin(policy, through, node)] : [];
  });

  const given = grants.flatMap(({ source }) => source.privileges);
  const applied = policies.map(({ source }) => source);
  return { ...accessOf(given, applied), grants, policies, standing: null };
}

/** The access of a principal that all of these privileges and policies reach, whatever their order. */
export function accessOf(given: readonly Privilege[], policies: readonly SnapshotPolicy[]): Access {
  const held = withContained(given);
  const denied = taken(policies.flatMap((policy) => (policy.kind === 'deny' ? policy.privileges : [])));
  const privileges = PRIVILEGES.filter((privilege) => held.has(privilege) && !denied.has(privilege));
  return privileges.length === 0 ? NO_ACCESS : { privileges, filters: rowFilters(policies), ...columns(policies) };
}

/** Basic access: executing queries, reading `system.jdbc` and `system.metadata`. Service accounts always may. */
export function reachesSomething(snapshot: Snapshot, principal: Principal): boolean {
  if (isServiceAccount(snapshot, principal)) return true;
  // A deny reaches down, so what is left of a grant anywhere is left on the node that it names.
  return snapshot.grants.some(
    ({ resource }) => resource.catalog !== 'system' && intentAt(snapshot, principal, resource).privileges.length > 0,
  );
}

/** The engine reads `new_user` as a replacement text before it is a pattern: `$` throws there and a backslash is eaten (seen on 483). */
export function canBeImpersonated(name: string): boolean {
  return !/[$\\^[\]]/.test(name);
}

function rowFilters(policies: readonly SnapshotPolicy[]): string[] {
  const filters = policies.flatMap((policy) => (policy.kind === 'row_filter' ? [policy.expression] : []));
  return [...new Set(filters)].sort();
}

/** Hidden columns add up and beat masks. Of the masks of one column the nearest node's counts; two there hide it. */
function columns(policies: readonly SnapshotPolicy[]): Pick<Access, 'hidden' | 'masks' | 'conflicts'> {
  const masking = policies.filter((policy) => policy.kind === 'column_mask');
  const nearest = [...new Set(masking.map(({ resource }) => resource.column))].sort().map((column) => {
    const claims = masking.filter(({ resource }) => resource.column === column);
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
  const hidden = [...new Set([...hiding, ...conflicts])].sort();
  const masks = nearest.flatMap(({ column, expressions }) =>
    hidden.includes(column) ? [] : [...expressions].map((expression) => ({ column, expression })),
  );
  return { hidden, masks, conflicts };
}

/** Of the catalog `system`: the engine filters these per person, and BI tools need them. */
export const OPEN_SYSTEM_SCHEMAS = ['jdbc', 'metadata'];

/** Every user with any access reads the two open schemas; there is no other access there. */
function systemIntent(snapshot: Snapshot, principal: Principal, node: Node): Intent {
  const open = node.schema !== undefined && OPEN_SYSTEM_SCHEMAS.includes(node.schema);
  return open && reachesSomething(snapshot, principal)
    ? { ...NOTHING, privileges: ['SELECT'], standing: 'reaches-something' }
    : NOTHING;
}

/** Service accounts follow the settings alone; no grant and no policy touches them. */
function serviceAccountIntent({ settings }: Snapshot, { catalog }: Node): Intent {
  if (catalog === undefined) return NOTHING;
  if (settings.writableCatalogs.includes(catalog)) {
    return { ...NOTHING, privileges: [...PRIVILEGES], standing: 'service-account' };
  }
  if (settings.readableCatalogs.includes(catalog)) {
    return { ...NOTHING, privileges: ['SELECT'], standing: 'service-account' };
  }
  return NOTHING;
}

export function isServiceAccount({ settings }: Snapshot, principal: Principal): boolean {
  return principal.type === 'engine' && settings.serviceAccounts.includes(principal.name);
}

function isActive(snapshot: Snapshot, principal: Principal): boolean {
  return principal.type !== 'user' || snapshot.users.some(({ id, isActive }) => id === principal.id && isActive);
}

function origin<T extends { resource: Resource }>(source: T, through: Through, node: Node): Origin<T> {
  const inherited = depth(source.resource) < depth(node);
  return { source, through, inheritedFrom: inherited ? source.resource : null };
}

const NO_ACCESS: Access = { privileges: [], filters: [], hidden: [], masks: [], conflicts: [] };
const NOTHING: Intent = { ...NO_ACCESS, grants: [], policies: [], standing: null };
