import fc from 'fast-check';
import { decide } from '../../../src/trino-rules/model/decision.js';
import { nodeOf, type Node } from '../../../src/trino-rules/model/node.js';
import type { Principal } from '../../../src/trino-rules/model/principal.js';
import { PRIVILEGE_TERMS, PRIVILEGES, type Privilege } from '../../../src/trino-rules/model/privilege.js';
import type { Snapshot } from '../../../src/trino-rules/model/snapshot.js';
import { anySnapshotWithGrantsToEveryone } from '../snapshots/any-snapshot.js';

export const users = ({ users }: Snapshot): Principal[] => users.map(({ id }) => ({ type: 'user', id }));
const groups = ({ groups }: Snapshot): Principal[] => groups.map(({ id }) => ({ type: 'group', id }));
export const engines = ({ groups, grants, settings }: Snapshot): Principal[] => {
  const named = grants.flatMap(({ principal }) => (principal.type === 'engine' ? [principal.name] : []));
  const members = groups.flatMap((group) => group.engines);
  return [...new Set([...named, ...members, ...settings.serviceAccounts])].map((name) => ({ type: 'engine', name }));
};
export const principals = (snapshot: Snapshot): Principal[] => [
  ...users(snapshot),
  ...groups(snapshot),
  ...engines(snapshot),
];

/** Every named node, one unnamed below each, and the catalogs that only settings name. */
export const nodes = ({ grants, policies, settings }: Snapshot): Node[] => {
  const named = [...grants, ...policies].flatMap(({ resource: { catalog = 'any', schema, table } }): Node[] => [
    ...[nodeOf({ catalog }), nodeOf({ catalog, schema }), nodeOf({ catalog, schema, table })],
    { catalog, schema: 'any' },
    ...(schema === undefined ? [] : [{ catalog, schema, table: 'any' }]),
  ]);
  const catalogs = [...settings.writableCatalogs, ...settings.readableCatalogs];
  const all = [...named, ...catalogs.map((catalog) => ({ catalog }))];
  return [...new Map(all.map((node) => [JSON.stringify(node), node])).values()];
};

/** A question about data, with a column or without. */
export interface Asked {
  resource: Node;
  column?: string | undefined;
  privilege: Privilege;
}

export const questionOf = ({ resource, column, privilege }: Asked) => PRIVILEGE_TERMS[privilege].asks(resource, column);

const anyAsked = (snapshot: Snapshot): fc.Arbitrary<Asked> =>
  fc.record({
    resource: fc.constantFrom(...nodes(snapshot), { catalog: 'system', schema: 'jdbc', table: 'tables' }),
    column: fc.constantFrom(undefined, 'id', 'i', 'größe'),
    privilege: fc.constantFrom(...PRIVILEGES),
  });

/** A question to a snapshot, by somebody of it. */
export const asked = anySnapshotWithGrantsToEveryone().chain((snapshot) =>
  fc.record({
    snapshot: fc.constant(snapshot),
    principal: fc.constantFrom(...principals(snapshot)),
    at: anyAsked(snapshot),
  }),
);

/** By the specification. */
export const answer = (snapshot: Snapshot, principal: Principal, at: Asked): boolean =>
  decide(snapshot, principal, questionOf(at)).allowed;
