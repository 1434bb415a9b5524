import { type Breach, isBreach, isCounted, scopeIncludes } from '../../../src/trino-rules/model/guarantee-breaches.js';
import type { Guarantee, GuaranteeScope } from '../../../src/trino-rules/model/guarantee.js';
import { isInTree, kindOf, type Node, nodeKey, pathTo } from '../../../src/trino-rules/model/node.js';
import { principalText } from '../../../src/trino-rules/model/principal.js';
import { type Member, Principals } from '../../../src/trino-rules/model/principals.js';
import { PRIVILEGE_TERMS } from '../../../src/trino-rules/model/privilege.js';
import type { Snapshot } from '../../../src/trino-rules/model/snapshot.js';

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
      .filter((privilege) => PRIVILEGE_TERMS[privilege].on.includes(kindOf(resource)))
      .map((privilege) => ({ resource, privilege })),
  );
}

function companionOf({ catalog = FRESH, schema = FRESH, table = FRESH }: Node): Node {
  return { catalog, schema, table: `${table}$${FRESH}` };
}
