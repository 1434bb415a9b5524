import { decide } from './decision.js';
import type { Guarantee, GuaranteeScope } from './guarantee.js';
import { intentAt } from './intent.js';
import { covers, isInTree, kindOf, type Node, nodeKey, pathTo, withNamed } from './node.js';
import { type PolicyPrincipal, principalText } from './principal.js';
import { isServiceAccount, type Member, Principals } from './principals.js';
import { type Privilege, PRIVILEGE_TERMS, withContained } from './privilege.js';
import type { Question } from './question.js';
import { isOpenSystem } from './resource.js';
import { basesOf } from './restrictions.js';
import type { Snapshot } from './snapshot.js';

/** Whether a node is within a scope. Companions are part of their table. Everybody reads `jdbc` and `metadata` in `system`, so no scope has them. */
export function speaksOf({ resource }: GuaranteeScope, node: Node): boolean {
  const { table } = resource;
  const base = table !== undefined && basesOf(node.table ?? '').includes(table) ? { ...node, table } : node;
  return covers(resource, base) && !isOpenSystem(node);
}

/** A person or engine principal that has what it must not have, or lacks what it must have. */
export interface Breach {
  principal: Member;
  resource: Node;
  privilege: Privilege;
}

/**
 * What breaks a guarantee by `decide`, one principal and node at a time: what guarantees mean. Empty: it holds. The judge of documents
 * has the same verdicts from sets of users.
 * @param principals of this snapshot
 */
export function breachesOf(
  snapshot: Snapshot,
  guarantee: Guarantee,
  principals = new Principals(snapshot),
  isAsked: (member: Member) => boolean = () => true,
): Breach[] {
  const everybody = [...principals.members({ type: 'everyone' }).values(), ...namedEngines(guarantee)];
  const members = [...new Map(everybody.map((member) => [principalText(member), member])).values()];
  const among = (named: readonly PolicyPrincipal[], member: Member): boolean =>
    named.some(
      (each) => principalText(each) === principalText(member) || principals.members(each).has(principalText(member)),
    );
  const counted = members.filter(
    (member) =>
      isAsked(member) &&
      !isServiceAccount(snapshot, member) &&
      among([guarantee.principal], member) &&
      !among(guarantee.except, member),
  );
  const held = guarantee.scopes.map((scope) => {
    const questions = questionsIn(snapshot, scope, principals, guarantee.kind !== 'always');
    return counted.flatMap((principal) =>
      questions
        .filter(({ other, resource, privilege, question }) => {
          if (other === principal.name) return false;
          const isHeld = holds(snapshot, principal, scope, { resource, privilege, question }, principals);
          return isHeld !== (guarantee.kind === 'always');
        })
        .map(({ resource, privilege }): Breach => ({ principal, resource, privilege })),
    );
  });
  const [first = [], second = []] = held;
  const people = (breaches: readonly Breach[]): Set<string> =>
    new Set(breaches.map(({ principal }) => principalText(principal)));
  if (guarantee.kind === 'apart') return first.filter(({ principal }) => people(second).has(principalText(principal)));
  return guarantee.kind === 'at_most' && people(first).size <= guarantee.count ? [] : first;
}

/** Whether a breach of `never` or `only`, found in a later snapshot, was one before. */
export function wasBreach(snapshot: Snapshot, guarantee: Guarantee, breach: Breach, principals: Principals): boolean {
  const { principal, resource, privilege } = breach;
  const scopes = guarantee.scopes.map((scope) => ({ ...scope, resource, privileges: [privilege] }));
  const asked = principalText(principal);
  return breachesOf(snapshot, { ...guarantee, scopes }, principals, (member) => principalText(member) === asked).some(
    (each) => nodeKey(each.resource) === nodeKey(resource),
  );
}

interface AskedPrivilege {
  /** Whose queries, or whom one acts as: never oneself, which the engine opens without asking. */
  other?: string;
  resource: Node;
  privilege: Privilege;
  question: Question;
}

function namedEngines({ principal, except }: Guarantee): Member[] {
  return [principal, ...except].flatMap((each) => (each.type === 'engine' ? [each] : []));
}

function holds(
  snapshot: Snapshot,
  principal: Member,
  { column, isUnfiltered }: GuaranteeScope,
  { resource, question }: AskedPrivilege,
  principals: Principals,
): boolean {
  if (column === undefined && !isUnfiltered) return decide(snapshot, principal, question, principals).allowed;
  const { privileges, hidden, masks, filters } = intentAt(snapshot, principal, resource, principals);
  const isReal = column === undefined || !(hidden.includes(column) || masks.some((mask) => mask.column === column));
  return withContained(privileges).has('SELECT') && isReal && !(isUnfiltered && filters.length > 0);
}

/** A name that nothing spells. */
const FRESH = '\uffff';

/**
 * What is asked in a scope: at its node, each named node below and those between, and companions of these tables and of any
 * other.
 */
function questionsIn(
  snapshot: Snapshot,
  scope: GuaranteeScope,
  principals: Principals,
  withCompanions: boolean,
): AskedPrivilege[] {
  const { resource, privileges } = scope;
  const named = [resource, ...[...snapshot.grants, ...snapshot.policies].flatMap((each) => pathTo(each.resource))];
  const below = named.filter((node) => speaksOf(scope, node) && node.catalog !== snapshot.settings.metadataCatalog);
  const nodes = [...new Map(below.map((node) => [nodeKey(node), node])).values()];
  const companions = withCompanions ? nodes.filter(isInTree).map(companionOf) : [];
  return [...nodes, ...companions].flatMap((node) => {
    const people = namedPeople(node, principals);
    return privileges.flatMap((privilege): AskedPrivilege[] => {
      const { asks, on } = PRIVILEGE_TERMS[privilege];
      if (!on.includes(kindOf(node))) return [];
      if (!withCompanions && node.table?.includes('$') === true) return [];
      if (people === null)
        return [{ resource: node, privilege, question: asks(withNamed(node, () => ({ type: 'everyone' }))) }];
      return people.map((name) => {
        const question = asks(withNamed(node, () => ({ type: 'engine', name })));
        return { other: name, resource: node, privilege, question };
      });
    });
  });
}

/** Names of the principals in a node of acting or of queries; null for other nodes. */
function namedPeople({ as, queries }: Node, principals: Principals): string[] | null {
  const named = as ?? queries;
  return named === undefined ? null : [...principals.members(named).values()].map(({ name }) => name);
}

function companionOf({ catalog = FRESH, schema = FRESH, table = FRESH }: Node): Node {
  return { catalog, schema, table: `${table}$${FRESH}` };
}
