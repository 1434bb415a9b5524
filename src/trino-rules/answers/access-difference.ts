import { getOrInsert } from '../../kernel/collections.js';
import { isOpenSystem } from '../model/resource.js';
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
import { type Member, Principals, type Through } from '../model/principals.js';
import {
  withSums,
  isOverData,
  type Privilege,
  PRIVILEGE_TERMS,
  privilegesOn,
  withContained,
} from '../model/privilege.js';
import { baseNodes } from '../model/restrictions.js';
import type { Snapshot, SnapshotGrant, SnapshotPolicy } from '../model/snapshot.js';
import { AccessIndex, likenessIn, yieldsElsewhere } from './access-index.js';
import type { Draft, Touched } from './draft.js';
import { givingGrants, intentOn, withCatalogs, withDeniedMembers, withOpenSystem } from './effective-access.js';

/** Access that a principal gains or loses at a node and its unnamed descendants. A dropped restriction is a gain, a new one a loss. */
export interface AccessPart {
  privileges: Privilege[];
  filters: string[];
  hidden: string[];
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
  /** Ordered by node. */
  differences: AccessDifference[];
  /** How the principal already has everything that the draft gives it; null: its access changes, or the draft gives it nothing. */
  heldThrough: Through | null;
}

/**
 * The access that accounts and engine principals gain and lose between two snapshots, by name. Yields null between steps of the work.
 * @param touched nodes and principals for which the snapshots can differ
 */
export function* accessDifferences(
  before: Snapshot,
  after: Snapshot,
  touched: readonly Touched[],
  given: readonly Given[] = [],
): Generator<AccessOutcome | null> {
  const related = relatedTo(touched.flatMap(({ nodes }) => nodes));
  const former = new AccessIndex(related(before), new Principals(before));
  yield null;
  const next = new AccessIndex(related(after), new Principals(after));
  yield null;
  const touchedFor = new Map<string, Affected>();
  for (const each of touched) {
    for (const named of each.principals)
      for (const { principals } of [former, next])
        for (const [text, principal] of principals.members(named))
          getOrInsert(touchedFor, text, (): Affected => ({
            principal,
            touched: new Set(),
            given: new Set(),
          })).touched.add(each);
    yield null;
  }
  for (const each of given)
    for (const text of next.principals.members(each.principal).keys()) touchedFor.get(text)?.given.add(each);
  const likeness = likenessIn([former, next]);
  const numbers = new Map([...touched, ...given].map((each, i) => [each, i]));
  const known = new Map<string, Omit<AccessOutcome, 'principal'>>();
  const affected = [...touchedFor.values()].sort((a, b) => compareNames(a.principal.name, b.principal.name));
  for (const each of affected) {
    const { principal } = each;
    const entries = [...each.touched, ...each.given].map((entry) => numbers.get(entry));
    const key = likeness(principal, entries);
    const found = (key === null ? undefined : known.get(key)) ?? (yield* outcomeOf(each));
    if (key !== null) known.set(key, found);
    yield { ...found, principal, differences: found.differences.map((part) => ({ ...part, principal })) };
  }

  function* outcomeOf({ principal, ...of }: Affected): Generator<null, Omit<AccessOutcome, 'principal'>> {
    const [had, has] = [applyingTo(principal, former), applyingTo(principal, next)];
    const nodes = [...of.touched].flatMap((each) => each.nodes);
    const differences = yield* differencesOf(principal, nodes, had, has);
    const isNew = differences.length > 0;
    return { differences, heldThrough: isNew ? null : heldAlready(had, principal, of.given) };
  }
}

/** A principal with the parts of a draft that concern it. */
interface Affected {
  principal: Member;
  touched: Set<Touched>;
  given: Set<Given>;
}

/** Keeps entries above, at and below the nodes. With a node of `system` it keeps all, because reading there follows from any access. */
function relatedTo(nodes: readonly Node[]): (snapshot: Snapshot) => Snapshot {
  if (nodes.some(({ catalog }) => catalog === SYSTEM)) return (snapshot) => snapshot;
  const exact = new Map(nodes.map((node) => [nodeKey(node), nodeOf(node)]));
  const above = new Set([...exact.values()].flatMap((node) => [...pathTo(node), ...baseNodes(node)].map(nodeKey)));
  const isNamed = likeAnyOf(nodes);
  const isRelated = ({ resource }: { resource: Node }): boolean =>
    isNamed(resource) || above.has(nodeKey(resource)) || pathTo(resource).some((node) => exact.has(nodeKey(node)));
  const catalogs = new Set(nodes.map(({ catalog }) => catalog));
  return (snapshot) => {
    // Rights over routines yield to policies anywhere in the catalog.
    const policies = snapshot.policies.filter((policy) => catalogs.has(policy.resource.catalog) || isRelated(policy));
    return { ...snapshot, grants: snapshot.grants.filter(isRelated), policies };
  };
}

/** True for all impersonation nodes if `nodes` has one, because memberships affect all of them; the same for nodes of queries. */
function likeAnyOf(nodes: readonly Node[]): (node: Node) => boolean {
  const isActing = nodes.some(({ as }) => as !== undefined);
  const isOfQueries = nodes.some(({ queries }) => queries !== undefined);
  return ({ as, queries }) => (isActing && as !== undefined) || (isOfQueries && queries !== undefined);
}

/** The entries that apply to a principal. They can differ between two snapshots with the same entries, because memberships differ. */
function applyingTo(principal: Principal, index: AccessIndex): AccessIndex {
  const { principals } = index;
  const own = index.of(principal);
  const grants = own.grants.filter((grant) => principals.through(grant.principal, principal) !== null);
  const policies = own.policies.filter((policy) => principals.throughPolicy(policy, principal) !== null);
  return new AccessIndex({ ...own, grants, policies }, principals);
}

function* differencesOf(
  principal: NamedPrincipal,
  touched: readonly Node[],
  had: AccessIndex,
  has: AccessIndex,
): Generator<null, AccessDifference[]> {
  const known = new Map<string, Parts>();
  const canDiffer = changedNodes(had, has);
  const at = (node: Node) =>
    getOrInsert(known, nodeKey(node), () => {
      if (node.as === undefined && !canDiffer(node)) return NO_DIFFERENCE;
      return difference(intentOn(node, principal, had), intentOn(node, principal, has));
    });
  const touchedKeys = new Set(touched.map(nodeKey));
  const isNamed = likeAnyOf(touched);
  const isBelow = (node: Node): boolean => isNamed(node) || pathTo(node).some((each) => touchedKeys.has(nodeKey(each)));
  const named = [...touched.map((node) => nodeOf(node)), ...withDeniedMembers(had), ...withDeniedMembers(has)];
  const below = withOpenSystem(withCatalogs(named, has.snapshot.settings)).filter(isBelow);
  const nodes = new Map(below.map((node) => [nodeKey(node), node]));
  const found: AccessDifference[] = [];
  let count = 0;
  for (const resource of nodes.values()) {
    if (++count % NODES_PER_STEP === 0) yield null;
    const part = at(resource);
    if (part === NO_DIFFERENCE) continue;
    const parent = parentOf(resource);
    // An equal difference at the parent includes this node.
    if (parent === null || textAt(resource, at(parent)) !== textAt(resource, part))
      found.push({ principal, resource, ...part });
  }
  return found.sort((a, b) => compareNodes(a.resource, b.resource));
}

const NODES_PER_STEP = 10;

type Parts = Pick<AccessDifference, 'gained' | 'lost'>;

const NO_DIFFERENCE: Parts = { gained: null, lost: null };

/** A text of the part of a difference that can be held at a node, to compare differences. */
function textAt(node: Node, { gained, lost }: Parts): string {
  const open = privilegesOn(node);
  const held = (part: AccessPart | null): AccessPart | null => {
    const privileges = parted(part?.privileges ?? []).filter((privilege) => open.includes(privilege));
    const restrictions = part === null || !open.some(isOverData) ? NO_RESTRICTIONS : part;
    const kept = { ...restrictions, privileges };
    return Object.values(kept).some((list) => list.length > 0) ? kept : null;
  };
  return JSON.stringify([held(gained), held(lost)]);
}

function difference(was: Access, is: Access): Parts {
  const [gained, lost] = [partOnlyIn(is, was), partOnlyIn(was, is)];
  return gained === null && lost === null ? NO_DIFFERENCE : { gained, lost };
}

/** Replaces sums by their parts, because one part of OWNERSHIP alone can be gained or lost. */
function parted(privileges: readonly Privilege[]): Privilege[] {
  return privileges.flatMap((privilege) => {
    const { parts } = PRIVILEGE_TERMS[privilege];
    return parts.length === 0 ? [privilege] : [...parts];
  });
}

/** The access in `one` that `other` lacks. */
function partOnlyIn(one: Access, other: Access): AccessPart | null {
  const had = parted(other.privileges);
  const privileges = withSums(parted(one.privileges).filter((privilege) => !had.includes(privilege)));
  // Restrictions are compared only if both sides have access to tables.
  const isOnTables = (privilege: Privilege) => PRIVILEGE_TERMS[privilege].onTables !== null;
  const both = [one, other].every((access) => access.privileges.some(isOnTables));
  const part = { privileges, ...(both ? restrictionsOnlyIn(other, one) : NO_RESTRICTIONS) };
  return Object.values(part).some((list) => list.length > 0) ? part : null;
}

/** Masks of columns that are hidden on the other side are left out. */
function restrictionsOnlyIn(one: Access, other: Access): Omit<AccessPart, 'privileges'> {
  const isSame = (mask: AccessPart['masks'][number]): boolean =>
    other.masks.some(({ column, expression }) => column === mask.column && expression === mask.expression);
  return {
    filters: one.filters.filter((expression) => !other.filters.includes(expression)),
    hidden: one.hidden.filter((column) => !other.hidden.includes(column)),
    masks: one.masks.filter((mask) => !isSame(mask) && !other.hidden.includes(mask.column)),
  };
}

const NO_RESTRICTIONS = { filters: [], hidden: [], masks: [] };

/**
 * Whether one principal's access can differ between two indexes at a node: there is a grant and a changed entry at it or above, or a
 * right that yields to policies elsewhere. Avoids the costly comparison at most nodes.
 */
function changedNodes({ snapshot: one }: AccessIndex, { snapshot: other }: AccessIndex): (node: Node) => boolean {
  const changed = [...onlyIn(one, other), ...onlyIn(other, one)];
  const grants = [...one.grants, ...other.grants];
  const yielding = grants.filter(({ privileges }) => privileges.some(yieldsElsewhere));
  const isChanged = isAtOrBelow([...changed, ...yielding]);
  const isGranted = isAtOrBelow(grants);
  return (node) =>
    node.queries !== undefined || isKillQuery(node) || isOpenSystem(node) || (isGranted(node) && isChanged(node));
}

function isAtOrBelow(entries: readonly { resource: Node }[]): (node: Node) => boolean {
  const keys = new Set(entries.map(({ resource }) => nodeKey(resource)));
  return (node) => [...pathTo(node), ...baseNodes(node)].some((each) => keys.has(nodeKey(each)));
}

function onlyIn(one: Snapshot, other: Snapshot): (SnapshotGrant | SnapshotPolicy)[] {
  const known = new Set<SnapshotGrant | SnapshotPolicy>([...other.grants, ...other.policies]);
  return [...one.grants, ...one.policies].filter((entry) => !known.has(entry));
}

/** Grants of a draft to one principal; for a new member, grants of the group. */
interface Given {
  principal: PolicyPrincipal;
  grants: readonly SnapshotGrant[];
}

export function givenBy({ grants: existing }: Snapshot, { grants, joined }: Draft): Given[] {
  const byPrincipal = new Map<string, SnapshotGrant[]>();
  for (const grant of [...existing, ...grants])
    getOrInsert(byPrincipal, principalText(grant.principal), () => []).push(grant);
  const written = new Map<string, Given & { grants: SnapshotGrant[] }>();
  for (const grant of grants)
    getOrInsert(written, principalText(grant.principal), () => ({
      principal: grant.principal,
      grants: [],
    })).grants.push(grant);
  const joining = joined.map(({ group, member }) => ({
    principal: member,
    grants: byPrincipal.get(principalText({ type: 'group', id: group })) ?? [],
  }));
  return [...written.values(), ...joining].filter((given) => given.grants.length > 0);
}

/**
 * How a principal already holds everything that a draft gives, by the shortest way; null: something is new, or nothing is given.
 * @param own entries of the principal without the draft
 */
function heldAlready(own: AccessIndex, principal: Principal, given: Iterable<Given>): Through | null {
  const origins: Origin<SnapshotGrant>[] = [];
  for (const { grants } of given)
    for (const { resource, privileges } of grants) {
      const intent = intentOn(resource, principal, own);
      const [open, held] = [privilegesOn(resource), withContained(intent.privileges)];
      const asked = [...withContained(privileges)].filter((privilege) => open.includes(privilege));
      if (!asked.every((privilege) => held.has(privilege))) return null;
      origins.push(...givingGrants({ ...intent, privileges: asked }));
    }
  const ways = origins.map(({ through }) => through);
  return ways.find((way) => way === 'directly') ?? ways.find((way) => way !== 'everyone') ?? ways[0] ?? null;
}
