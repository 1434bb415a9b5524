import fc from 'fast-check';
import { decide } from '../../../src/trino-rules/model/decision.js';
import { type Access, NO_ACCESS } from '../../../src/trino-rules/model/intent.js';
import { isInTree, kindOf, nodeOf, type Node } from '../../../src/trino-rules/model/node.js';
import type { Principal } from '../../../src/trino-rules/model/principal.js';
import {
  isDataPrivilege,
  PRIVILEGE_TERMS,
  type Privilege,
  privilegesOn,
} from '../../../src/trino-rules/model/privilege.js';
import type { Snapshot } from '../../../src/trino-rules/model/snapshot.js';
import { anySnapshot } from '../snapshots/any-snapshot.js';
import { namedNode } from './named-node.js';

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

/** Everything, every named node, one unnamed below each in the tree, and the catalogs that only settings name. */
export const nodes = ({ grants, policies, settings }: Snapshot): Node[] => {
  const named = [...grants, ...policies].flatMap(({ resource }): Node[] => {
    const { catalog = 'any', schema, table, routine } = resource;
    if (['engine', 'acting', 'queries'].includes(kindOf(resource))) return [nodeOf(resource)];
    return [
      ...[nodeOf({ catalog }), nodeOf({ catalog, schema }), nodeOf({ catalog, schema, table, routine })],
      { catalog, schema: 'any' },
      ...(schema === undefined
        ? []
        : [
            { catalog, schema, table: 'any' },
            { catalog, schema, table: `${table ?? 'any'}$any` },
            { catalog, schema, routine: 'any' },
          ]),
    ];
  });
  const catalogs = [...settings.writableCatalogs, ...settings.readableCatalogs];
  const all = [{}, { catalog: 'any' }, ...named, ...catalogs.map((catalog) => ({ catalog }))];
  return [...new Map(all.map((node) => [JSON.stringify(node), node])).values()].filter(hasPrivileges);
};

/** No routine of `system` has, but one. */
const hasPrivileges = (node: Node): boolean => privilegesOn(node).length > 0;

/** A question about what can be held at a node, with a column or without. */
export interface Asked {
  resource: Node;
  column?: string | undefined;
  privilege: Privilege;
}

export const questionOf = (snapshot: Snapshot, { resource, column, privilege }: Asked) =>
  PRIVILEGE_TERMS[privilege].questionAt(namedNode(snapshot, resource), column);

const anyAsked = (snapshot: Snapshot): fc.Arbitrary<Asked> =>
  fc
    .constantFrom<Node[]>(...nodes(snapshot), { catalog: 'system', schema: 'jdbc', table: 'tables' })
    .chain((resource) =>
      fc.record({
        resource: fc.constant(resource),
        column: isInTree(resource)
          ? fc.constantFrom(undefined, 'id', 'i', 'größe', '$path', '_key')
          : fc.constant(undefined),
        privilege: fc.constantFrom(...privilegesOn(resource)),
      }),
    );

/** What an access at a node above is at this one. */
export const accessAt = (node: Node, { privileges, ...restrictions }: Access): Access => {
  const open = privileges.filter((privilege) => privilegesOn(node).includes(privilege));
  return { ...(open.some(isDataPrivilege) ? restrictions : NO_ACCESS), privileges: open };
};

/** A question to a snapshot, by somebody of it. */
export const asked = anySnapshot().chain((snapshot) =>
  fc.record({
    snapshot: fc.constant(snapshot),
    principal: fc.constantFrom(...principals(snapshot)),
    at: anyAsked(snapshot),
  }),
);

/** By the specification. */
export const answer = (snapshot: Snapshot, principal: Principal, at: Asked): boolean =>
  decide(snapshot, principal, questionOf(snapshot, at)).allowed;
