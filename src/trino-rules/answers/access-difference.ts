import { getOrInsert } from '../../kernel/collections.js';
import { isOpenSystem } from '../model/resource.js';
import { type Access, intentAt } from '../model/intent.js';
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
import type { NamedPrincipal, Principal } from '../model/principal.js';
import { type Member, Principals, type Through } from '../model/principals.js';
import { combined, isOverData, type Privilege, PRIVILEGE_TERMS, privilegesOn } from '../model/privilege.js';
import { baseNodes } from '../model/restrictions.js';
import type { Snapshot, SnapshotGrant, SnapshotPolicy } from '../model/snapshot.js';
import { AccessIndex, yieldsElsewhere } from './access-index.js';
import { type Given, heldAlready } from './already-held.js';
import type { Touched } from './draft.js';
import { withCatalogs, withDeniedMembers, withOpenSystem } from './effective-access.js';
import { likenessIn } from './likeness.js';

/**
 * What a principal gains or loses at a node, and below it where nothing is named. Restrictions that are dropped are gained access,
 * new ones are lost access.
 */
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

/** What a draft means for one principal. */
export interface AccessOutcome {
  principal: NamedPrincipal;
  /** By node. */
  differences: AccessDifference[];
  /** Nothing differs, because it has all that is given already, and how; null: something does, or nothing is given to it. */
  heldThrough: Through | null;
}

/**
 * What accounts and engine principals gain and lose between two snapshots, one principal after the other, by name. Nulls between
 * them are steps of the work.
 * @param touched where the snapshots can differ, and for whom
 */
export function* accessDifferences(
  before: Snapshot,
  after: Snapshot,
  touched: readonly Touched[],
  given: readonly Given[] = [],
): Generator<AccessOutcome | null> {
  const related = relatedTo(touched.flatMap(({ nodes }) => nodes));
  const former = new AccessIndex(related(before));
  yield null;
  const next = new AccessIndex(related(after));
  yield null;
  const touchedFor = new Map<string, { principal: Member; touched: Set<Touched>; given: Set<Given> }>();
  for (const each of touched) {
    for (const named of each.principals)
      for (const { principals } of [former, next])
        for (const [text, principal] of principals.members(named))
          getOrInsert(touchedFor, text, () => ({
            principal,
            touched: new Set<Touched>(),
            given: new Set<Given>(),
          })).touched.add(each);
    yield null;
  }
  for (const each of given)
    for (const text of next.principals.members(each.principal).keys()) touchedFor.get(text)?.given.add(each);
  const likeness = likenessIn([former, next]);
  const numbers = new Map([...touched, ...given].map((each, i) => [each, i]));
  const known = new Map<string, Omit<AccessOutcome, 'principal'>>();
  for (const { principal, ...places } of [...touchedFor.values()].sort((a, b) =>
    compareNames(a.principal.name, b.principal.name),
  )) {
    const nodes = [...places.touched].flatMap((each) => each.nodes);
    const key = likeness(
      principal,
      [...places.touched, ...places.given].map((each) => numbers.get(each)),
    );
    const found = (key === null ? undefined : known.get(key)) ?? (yield* outcomeOf(principal, nodes, places.given));
    if (key !== null) known.set(key, found);
    yield { ...found, principal, differences: found.differences.map((each) => ({ ...each, principal })) };
  }

  function* outcomeOf(
    principal: NamedPrincipal,
    nodes: readonly Node[],
    gives: ReadonlySet<Given>,
  ): Generator<null, Omit<AccessOutcome, 'principal'>> {
    const [had, has] = [applyingTo(principal, former), applyingTo(principal, next)];
    const differences = yield* differencesOf(principal, nodes, { former, next, had, has });
    return {
      differences,
      heldThrough: differences.length > 0 ? null : heldAlready({ own: had, all: former }, principal, gives),
    };
  }
}

/** Keeps the entries on the way to one of the nodes, or below one; all of them for `system`, where what all read follows from them. */
function relatedTo(nodes: readonly Node[]): (snapshot: Snapshot) => Snapshot {
  if (nodes.some(({ catalog }) => catalog === SYSTEM)) return (snapshot) => snapshot;
  const exact = new Map(nodes.map((node) => [nodeKey(node), nodeOf(node)]));
  const above = new Set([...exact.values()].flatMap((node) => [...pathTo(node), ...baseNodes(node)].map(nodeKey)));
  const isNamed = besideAny(nodes);
  const isRelated = ({ resource }: { resource: Node }): boolean =>
    isNamed(resource) || above.has(nodeKey(resource)) || pathTo(resource).some((node) => exact.has(nodeKey(node)));
  const catalogs = new Set(nodes.map(({ catalog }) => catalog));
  return (snapshot) => {
    // A right to run something can yield to a policy anywhere in the catalog.
    const policies = snapshot.policies.filter((policy) => catalogs.has(policy.resource.catalog) || isRelated(policy));
    const grants = new Principals(snapshot).part(snapshot.grants.filter(isRelated), policies);
    return { ...snapshot, grants, policies };
  };
}

/** Whether a node is about acting as others, or about queries of some, where one of these is: who is in a group matters at all of them. */
function besideAny(nodes: readonly Node[]): (node: Node) => boolean {
  const isActing = nodes.some(({ as }) => as !== undefined);
  const isOfQueries = nodes.some(({ queries }) => queries !== undefined);
  return ({ as, queries }) => (isActing && as !== undefined) || (isOfQueries && queries !== undefined);
}

/** Of the entries that name a principal, those that apply to it: the same entry can in one of the snapshots and not in the other. */
function applyingTo(principal: Principal, index: AccessIndex): AccessIndex {
  const { principals } = index;
  const own = index.of(principal);
  const applying = own.grants.filter((grant) => principals.through(grant.principal, principal) !== null);
  const policies = own.policies.filter((policy) => principals.throughPolicy(policy, principal) !== null);
  // Grants to others say whose the queries of everyone are.
  const grants = [...applying, ...policies].some(isOfQueries) ? principals.part(applying, policies) : applying;
  return new AccessIndex({ ...own, grants, policies });
}

function isOfQueries({ resource }: SnapshotGrant | SnapshotPolicy): boolean {
  return resource.queries !== undefined;
}

function* differencesOf(
  principal: NamedPrincipal,
  touched: readonly Node[],
  { former, next, had, has }: Record<'former' | 'next' | 'had' | 'has', AccessIndex>,
): Generator<null, AccessDifference[]> {
  const known = new Map<string, Parts>();
  const canDiffer = changedNodes(had, has);
  const at = (node: Node) =>
    getOrInsert(known, nodeKey(node), () => {
      // Whom one acts as depends on others.
      if (node.as !== undefined) return difference(actingAt(former, principal, node), actingAt(next, principal, node));
      if (!canDiffer(node)) return NO_DIFFERENCE;
      // What all read in `system` follows from entries elsewhere.
      const [was, is] = isOpenSystem(node) ? [had.snapshot, has.snapshot] : [had.onPath(node), has.onPath(node)];
      // Whose queries are meant depends on others, too.
      return sameEntries(was, is) && ![...was.grants, ...was.policies].some(isOfQueries)
        ? NO_DIFFERENCE
        : difference(intentAt(was, principal, node), intentAt(is, principal, node));
    });
  const touchedKeys = new Set(touched.map(nodeKey));
  const isNamed = besideAny(touched);
  const isBelow = (node: Node): boolean => isNamed(node) || pathTo(node).some((each) => touchedKeys.has(nodeKey(each)));
  const nodes = new Map(
    withOpenSystem(
      withCatalogs(
        [
          ...touched.map((node) => nodeOf(node)),
          ...withDeniedMembers(had, former.principals),
          ...withDeniedMembers(has, next.principals),
        ],
        has.snapshot.settings,
      ),
    )
      .filter(isBelow)
      .map((node) => [nodeKey(node), node]),
  );
  const found: AccessDifference[] = [];
  let count = 0;
  for (const resource of nodes.values()) {
    if (++count % NODES_PER_STEP === 0) yield null;
    const part = at(resource);
    if (part === NO_DIFFERENCE) continue;
    const parent = parentOf(resource);
    // The same difference at the node above says it for this one.
    if (parent === null || textAt(resource, at(parent)) !== textAt(resource, part))
      found.push({ principal, resource, ...part });
  }
  return found.sort((a, b) => compareNodes(a.resource, b.resource));
}

/** A node takes some tens of microseconds. */
const NODES_PER_STEP = 10;

function actingAt({ snapshot, principals }: AccessIndex, principal: Principal, node: Node): Access {
  return intentAt(snapshot, principal, node, principals);
}

function sameEntries(one: Snapshot, other: Snapshot): boolean {
  const isAlike = <T>(some: readonly T[], others: readonly T[]): boolean =>
    some.length === others.length && some.every((entry, i) => entry === others[i]);
  return isAlike(one.grants, other.grants) && isAlike(one.policies, other.policies);
}

type Parts = Pick<AccessDifference, 'gained' | 'lost'>;

const NO_DIFFERENCE: Parts = { gained: null, lost: null };

/** What a difference comes to at a node below: nobody runs a table or owns schemas there, and a routine has no rows. */
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

/** Sums as their parts: of OWNERSHIP, one half can be gained or lost. */
function parted(privileges: readonly Privilege[]): Privilege[] {
  return privileges.flatMap((privilege) => {
    const { parts } = PRIVILEGE_TERMS[privilege];
    return parts.length === 0 ? [privilege] : [...parts];
  });
}

/** What is had by `one` and not by `other`. */
function partOnlyIn(one: Access, other: Access): AccessPart | null {
  const had = parted(other.privileges);
  const privileges = combined(parted(one.privileges).filter((privilege) => !had.includes(privilege)));
  // Where tables are not had on one side, all of that is gained or lost, and restrictions are no difference.
  const both = [one, other].every((access) => access.privileges.some(isOnTables));
  const part = { privileges, ...(both ? restrictionsOnlyIn(other, one) : NO_RESTRICTIONS) };
  return Object.values(part).some((list) => list.length > 0) ? part : null;
}

function isOnTables(privilege: Privilege): boolean {
  return PRIVILEGE_TERMS[privilege].onTables !== null;
}

/** A mask is no restriction of a column that is hidden on the other side. */
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
 * Nodes at which one principal's access can differ between two indexes: of the tree those with a changed entry at them or above, or
 * with a right that yields to policies elsewhere; and not without any grant there. Of thousands of nodes, for thousands of people,
 * few are left, and the entries of the others need not be gathered.
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
