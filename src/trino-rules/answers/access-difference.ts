import { getOrInsert } from '../../kernel/get-or-insert.js';
import { type Access, intentAt } from '../model/intent.js';
import { covers } from '../model/principal-matching.js';
import { type NamedPrincipal, type PolicySubject, type Principal, principalText } from '../model/principal.js';
import type { Privilege, Resource } from '../model/resource.js';
import type { Snapshot } from '../model/snapshot.js';
import { AccessIndex, compareNames, compareNodes, nodeKey, nodeOf, parentOf, pathTo } from './access-index.js';
import type { TouchedNode } from './draft.js';

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
  resource: Resource;
  gained: AccessPart | null;
  lost: AccessPart | null;
}

/**
 * What accounts and engine principals gain and lose between two snapshots: the differences of one principal after the other, by
 * name, each by node. Principals without any are left out.
 * @param touched where the snapshots can differ, and for whom
 */
export function* accessDifferences(
  before: Snapshot,
  after: Snapshot,
  touched: readonly TouchedNode[],
): Generator<AccessDifference[]> {
  const related = relatedTo(touched.map(({ resource }) => resource));
  const [former, next] = [new AccessIndex(related(before)), new AccessIndex(related(after))];
  const touchedFor = new Map<string, { principal: Principal; nodes: Map<string, Resource> }>();
  for (const { resource, subjects } of touched) {
    for (const principal of subjects.flatMap((subject) => principalsOf(subject, [former, next]))) {
      const { nodes } = getOrInsert(touchedFor, principalText(principal), () => ({ principal, nodes: new Map() }));
      nodes.set(nodeKey(resource), nodeOf(resource));
    }
  }
  const named = [...touchedFor.values()].flatMap(({ principal, nodes }) => {
    const withName = nameOf(principal, next);
    return withName === null ? [] : [{ principal: withName, nodes: [...nodes.values()] }];
  });
  for (const { principal, nodes } of named.sort((a, b) => compareNames(a.principal.name, b.principal.name))) {
    const found = differencesOf(principal, nodes, former, next);
    if (found.length > 0) yield found;
  }
}

/** Keeps the entries on the way to one of the nodes, or below one. */
function relatedTo(nodes: readonly Resource[]): (snapshot: Snapshot) => Snapshot {
  const exact = new Map(nodes.map((node) => [nodeKey(node), nodeOf(node)]));
  const above = new Set([...exact.values()].flatMap((node) => pathTo(node).map(nodeKey)));
  const isRelated = ({ resource }: { resource: Resource }): boolean =>
    above.has(nodeKey(resource)) || pathTo(resource).some((node) => exact.has(nodeKey(node)));
  return (snapshot) => ({
    ...snapshot,
    grants: snapshot.grants.filter(isRelated),
    policies: snapshot.policies.filter(isRelated),
  });
}

function differencesOf(
  principal: NamedPrincipal,
  touched: readonly Resource[],
  former: AccessIndex,
  next: AccessIndex,
): AccessDifference[] {
  const [had, has] = [new AccessIndex(former.of(principal)), new AccessIndex(next.of(principal))];
  const known = new Map<string, { part: Pick<AccessDifference, 'gained' | 'lost'>; text: string }>();
  const at = (node: Resource) =>
    getOrInsert(known, nodeKey(node), () => {
      const part = difference(intentAt(had.onPath(node), principal, node), intentAt(has.onPath(node), principal, node));
      return { part, text: part === NO_DIFFERENCE ? '' : JSON.stringify(part) };
    });
  const isBelow = (node: Resource): boolean => touched.some((each) => covers(each, node));
  const nodes = new Map(
    [...touched, ...had.nodes(), ...has.nodes()].filter(isBelow).map((node) => [nodeKey(node), node]),
  );
  return [...nodes.values()]
    .flatMap((resource): AccessDifference[] => {
      const { part, text } = at(resource);
      if (part === NO_DIFFERENCE) return [];
      const parent = parentOf(resource);
      // The same difference at the node above says it for this one.
      return parent !== null && at(parent).text === text ? [] : [{ principal, resource, ...part }];
    })
    .sort((a, b) => compareNodes(a.resource, b.resource));
}

const NO_DIFFERENCE = { gained: null, lost: null };

function difference(was: Access, is: Access): Pick<AccessDifference, 'gained' | 'lost'> {
  const [gained, lost] = [partOnlyIn(is, was), partOnlyIn(was, is)];
  return gained === null && lost === null ? NO_DIFFERENCE : { gained, lost };
}

/** What is had by `one` and not by `other`. */
function partOnlyIn(one: Access, other: Access): AccessPart | null {
  const privileges = one.privileges.filter((privilege) => !other.privileges.includes(privilege));
  // Where nothing at all is had on one side, all of it is gained or lost, and restrictions are no difference.
  const both = one.privileges.length > 0 && other.privileges.length > 0;
  const part = { privileges, ...(both ? restrictionsOnlyIn(other, one) : NO_RESTRICTIONS) };
  return Object.values(part).some((list) => list.length > 0) ? part : null;
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

function principalsOf(subject: PolicySubject, indexes: readonly AccessIndex[]): Principal[] {
  switch (subject.type) {
    case 'user':
    case 'engine':
      return [subject];
    case 'group':
      return indexes.flatMap((index) =>
        (index.group(subject.id)?.members ?? []).map((id): Principal => ({ type: 'user', id })),
      );
    case 'everyone':
      return indexes.flatMap(({ snapshot: { users, grants } }) => [
        ...users.map(({ id }): Principal => ({ type: 'user', id })),
        ...grants.flatMap(({ principal }) => (principal.type === 'engine' ? [principal] : [])),
      ]);
  }
}

/** Null: an account that does not exist, or a group. */
function nameOf(principal: Principal, index: AccessIndex): NamedPrincipal | null {
  if (principal.type === 'engine') return principal;
  const user = principal.type === 'user' ? index.user(principal.id) : undefined;
  return user ? { type: 'user', id: user.id, name: user.name } : null;
}
