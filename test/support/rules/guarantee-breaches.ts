import { decide } from '../../../src/trino-rules/model/decision.js';
import type { Guarantee, GuaranteeScope } from '../../../src/trino-rules/model/guarantee.js';
import { intentAt } from '../../../src/trino-rules/model/intent.js';
import {
  isInTree,
  kindOf,
  principalIn,
  type Node,
  nodeKey,
  pathTo,
  mapPrincipal,
} from '../../../src/trino-rules/model/node.js';
import { type PolicyPrincipal, principalText } from '../../../src/trino-rules/model/principal.js';
import { isServiceAccount, type Member, Principals } from '../../../src/trino-rules/model/principals.js';
import { type Privilege, PRIVILEGE_TERMS, privilegesGivenBy } from '../../../src/trino-rules/model/privilege.js';
import type { Snapshot } from '../../../src/trino-rules/model/snapshot.js';
import { scopeIncludes } from '../../../src/trino-rules/verify/guarantee-judge.js';

/** A person or engine principal that has what it must not have, or lacks what it must have. */
interface Breach {
  principal: Member;
  resource: Node;
  privilege: Privilege;
}

/** What breaks a guarantee by `decide`, one principal and node at a time. Empty: it holds. */
export function breachesOf(snapshot: Snapshot, guarantee: Guarantee): Breach[] {
  const principals = new Principals(snapshot);
  const engines = [guarantee.principal, ...guarantee.except].flatMap((each) => (each.type === 'engine' ? [each] : []));
  const everybody = [...principals.members({ type: 'everyone' }).values(), ...engines];
  const members = [...new Map(everybody.map((member) => [principalText(member), member])).values()];
  const counted = members.filter((member) => isCounted(snapshot, guarantee, member, principals));
  const [first = [], second = []] = guarantee.scopes.map((scope) => {
    const asked = askedIn(snapshot, scope, guarantee.kind !== 'always');
    const breaches = counted.flatMap((principal) => asked.map((each): Breach => ({ principal, ...each })));
    return breaches.filter((breach) => isBreach(snapshot, guarantee, scope, breach, principals));
  });
  const people = (breaches: readonly Breach[]): Set<string> =>
    new Set(breaches.map(({ principal }: { principal: Member }) => principalText(principal)));
  if (guarantee.kind === 'apart') return first.filter(({ principal }) => people(second).has(principalText(principal)));
  return guarantee.kind === 'at_most' && people(first).size <= guarantee.count ? [] : first;
}

/** A name that nothing spells. */
const FRESH = '\uffff';

/**
 * What is asked in a scope: at its node, each named node below and those between, and companions of these tables and of any
 * other.
 */
function askedIn(snapshot: Snapshot, scope: GuaranteeScope, withCompanions: boolean): Omit<Breach, 'principal'>[] {
  const named = [
    scope.resource,
    ...[...snapshot.grants, ...snapshot.policies].flatMap((each) => pathTo(each.resource)),
    ...snapshot.settings.rawColumnCatalogs.map((catalog): Node => ({ catalog })), // a column that they hide is not masked there
  ];
  const below = named.filter(
    (node) => scopeIncludes(scope, node) && node.catalog !== snapshot.settings.metadataCatalog,
  );
  const nodes = [...new Map(below.map((node) => [nodeKey(node), node])).values()];
  const asked = withCompanions
    ? [...nodes, ...nodes.filter(isInTree).map(companionOf)]
    : nodes.filter(({ table }) => table?.includes('$') !== true);
  return asked.flatMap((resource) =>
    scope.privileges
      .filter((privilege) => PRIVILEGE_TERMS[privilege].nodeKinds.includes(kindOf(resource)))
      .map((privilege) => ({ resource, privilege })),
  );
}

function companionOf({ catalog = FRESH, schema = FRESH, table = FRESH }: Node): Node {
  return { catalog, schema, table: `${table}$${FRESH}` };
}

/** Whether a guarantee is about a principal. @param principals of the snapshot */
function isCounted(
  snapshot: Snapshot,
  { principal, except }: Guarantee,
  member: Member,
  principals: Principals,
): boolean {
  const text = principalText(member);
  const isIn = (named: PolicyPrincipal): boolean =>
    principals.members(named).has(text) || (named.type === 'engine' && principalText(named) === text);
  return !isServiceAccount(snapshot, member) && isIn(principal) && !except.some(isIn);
}

/** Whether a counted principal breaks a scope by `decide`: what guarantees mean. */
function isBreach(
  snapshot: Snapshot,
  { kind }: Guarantee,
  { column, isUnfiltered }: GuaranteeScope,
  { principal, resource, privilege }: Breach,
  principals: Principals,
): boolean {
  const isMissing = kind === 'always';
  if (column !== undefined || isUnfiltered) {
    const { privileges, hiddenColumns: hidden, masks, filters } = intentAt(snapshot, principal, resource, principals);
    const isReal = column === undefined || !(hidden.includes(column) || masks.some((mask) => mask.column === column));
    const isRead = privilegesGivenBy(privileges).has('SELECT') && isReal && !(isUnfiltered && filters.length > 0);
    return isRead !== isMissing;
  }
  const named = principalIn(resource);
  const affected = named && (resource.queries ? principals.owners(named) : principals.members(named));
  const others = affected === undefined ? [''] : [...affected.values()].map(({ name }) => name);
  // The engine always allows access to own queries and impersonation of oneself.
  return others.some((name) => {
    const question = PRIVILEGE_TERMS[privilege].questionAt(mapPrincipal(resource, () => ({ type: 'engine', name })));
    return name !== principal.name && decide(snapshot, principal, question, principals).allowed !== isMissing;
  });
}
