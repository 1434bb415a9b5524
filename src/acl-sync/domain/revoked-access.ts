import { grantDetails, policyDetails, sameDetails } from '../../grants/domain/audit-details.js';
import { getOrInsert } from '../../kernel/get-or-insert.js';
import { actingPairs } from '../../trino-rules/model/acting.js';
import { effective } from '../../trino-rules/model/effective-snapshot.js';
import { accessOf, NOTHING_AROUND, withoutSchemaOwnership } from '../../trino-rules/model/intent.js';
import {
  covers,
  isKillQuery,
  kindOf,
  namedBy,
  nodeKey,
  nodeOf,
  SYSTEM,
  type Node,
} from '../../trino-rules/model/node.js';
import { type Members, Principals } from '../../trino-rules/model/principals.js';
import { isOverRoutines, PRIVILEGE_TERMS } from '../../trino-rules/model/privilege.js';
import { isAroundCatalogOf, restrictsData, restrictsTableOf } from '../../trino-rules/model/restrictions.js';
import type { Snapshot, SnapshotGrant, SnapshotPolicy } from '../../trino-rules/model/snapshot.js';
import { joinById } from './join-by-id.js';
import { lostQueries, QueryRights, stillKills } from './query-rights.js';

/** Where what is left is listed: a catalog, everything, or the engine. */
function placeOf({ catalog, engine }: Node): string {
  return nodeKey(nodeOf({ catalog, ...(engine && { engine }) }));
}

/** Where the right to kill the queries of some is. */
const QUERIES = nodeKey({ queries: { type: 'everyone' } });

/** A node, and the engine names of the users and engine principals that lose access on it. */
export interface RevokedNode {
  resource: Node;
  names: readonly string[];
}

export interface RevokedAccess {
  nodes: RevokedNode[];
  /** Catalogs, or everything, where a restriction of data takes functions and procedures alone. */
  routines: RevokedNode[];
  /** Those who act as others, and as whom they no longer do. */
  acting: { actor: string; names: readonly string[] }[];
  /** Those who view and kill the queries of others, and of whom they no longer do. */
  queries: { user: string; owners: readonly string[] }[];
  /** Those of them that have no access left at all, and all deactivated users: a found text may give them more. */
  withoutAccess: string[];
}

/**
 * Access that the explained snapshot takes away from the previous one. An over-approximation: a policy that newly applies to a
 * principal counts as the loss of its whole node.
 */
export function revokedAccess(previous: Snapshot, explained: Snapshot): RevokedAccess {
  const [before, after] = [new Principals(previous), new Principals(explained)];
  const given = joinById(previous.grants, effective(explained).grants);
  const kept = given.flatMap(([was, is]): KeptGrant[] => {
    if (was === undefined || is === undefined || !sameDetails(grantDetails(was), grantDetails(is))) return [];
    const are = namesOf(after.members(is.principal));
    return [{ grant: is, names: new Set([...namesOf(before.members(was.principal))].filter((name) => are.has(name))) }];
  });
  const keptById = new Map(kept.map((each) => [each.grant.id, each.names]));
  const granted = given.flatMap(([was]): RevokedNode[] => {
    if (was === undefined || namedBy(was.resource) !== undefined) return [];
    const names = keptById.get(was.id) ?? NO_NAMES;
    const lost = [...namesOf(before.members(was.principal))].filter((name) => !names.has(name));
    if (lost.length === 0) return [];
    const others = kept.filter(({ grant }) => includes(grant, was));
    return [{ resource: was.resource, names: lost.filter((name) => !others.some(({ names }) => names.has(name))) }];
  });
  const restricted = joinById(previous.policies, explained.policies).flatMap(
    ([was, is]): (RevokedNode & { policy: SnapshotPolicy })[] => {
      if (is === undefined || namedBy(is.resource) !== undefined) return [];
      const known =
        was !== undefined && sameDetails(policyDetails(was), policyDetails(is))
          ? namesOf(before.membersOf(was))
          : NO_NAMES;
      const names = [...namesOf(after.membersOf(is))].filter((name) => !known.has(name));
      return [{ policy: is, resource: nodeOf(is.resource), names }];
    },
  );
  const outweighed = restricted.flatMap(({ resource: { catalog }, names, policy }): RevokedNode[] => {
    const runs = kept.filter(
      ({ grant: { privileges, resource } }) =>
        privileges.some(isOverRoutines) && (resource.catalog === undefined || isAroundCatalogOf(resource, policy)),
    );
    const losing = names.filter((name) => runs.some((grant) => grant.names.has(name)));
    return restrictsData(policy) ? [{ resource: nodeOf({ catalog }), names: losing }] : [];
  });
  // Without this mask the next wider one applies, which may show less.
  const unmasked = joinById(previous.policies, explained.policies).flatMap(([was, is]): RevokedNode[] => {
    if (was?.kind !== 'column_mask') return [];
    const still =
      is !== undefined && sameDetails(policyDetails(was), policyDetails(is)) ? namesOf(after.membersOf(is)) : NO_NAMES;
    const wider = explained.policies.filter(
      (policy) =>
        policy.kind === 'column_mask' &&
        policy.resource.column === was.resource.column &&
        covers(policy.resource, was.resource),
    );
    const masked = new Set(wider.flatMap((policy) => [...namesOf(after.membersOf(policy))]));
    const names = [...namesOf(before.membersOf(was))].filter((name) => !still.has(name) && masked.has(name));
    return [{ resource: nodeOf(was.resource), names }];
  });
  const nodes = merged([...granted, ...restricted, ...unmasked]);
  const [hadOver, hasOver] = [new QueryRights(previous, before), new QueryRights(explained, after)];
  const queries = lostQueries(hadOver, hasOver);
  const losing = [...nodes.flatMap(({ names }) => names), ...queries.map(({ user }) => user)];
  const policies = [...previous.policies.map(under(before)), ...explained.policies.map(under(after))];
  const held = remainingPlaces(losing, nodes, kept, policies);
  const spared = policies.filter(({ policy }) => policy.kind === 'deny' && isKillQuery(policy.resource));
  const calls = (name: string): boolean => !spared.some(({ names }) => names.has(name));
  for (const [name, places] of held) if (stillKills(hadOver, hasOver, name) && calls(name)) places.add(QUERIES);
  const catalogs = nodes
    // Access to anything else keeps `system` open.
    .filter(({ resource }) => resource.engine === undefined && resource.catalog !== SYSTEM)
    .map(({ resource, names }) => ({
      resource: nodeOf({ catalog: resource.catalog }),
      names: names.filter((name) => held.get(name)?.has(placeOf(resource)) !== true),
    }));
  const bereft = [...held].flatMap(([name, left]) => (left.size === 0 ? [name] : []));
  return {
    nodes: merged([...nodes, ...catalogs]),
    routines: merged(outweighed),
    queries,
    acting: lostActing(actingPairs(previous, before), actingPairs(explained, after)),
    withoutAccess: [...new Set([...bereft, ...deactivated(previous, explained)])].sort(),
  };
}

function lostActing(
  was: ReadonlyMap<string, ReadonlySet<string>>,
  is: ReadonlyMap<string, ReadonlySet<string>>,
): RevokedAccess['acting'] {
  return [...was].flatMap(([actor, targets]) => {
    const names = [...targets].filter((name) => is.get(actor)?.has(name) !== true).sort();
    return names.length === 0 ? [] : [{ actor, names }];
  });
}

function deactivated(previous: Snapshot, explained: Snapshot): string[] {
  return joinById(previous.users, explained.users).flatMap(([was, is]) =>
    was?.isActive === true && is?.isActive === false ? [is.name] : [],
  );
}

/**
 * For each principal that loses access, the places where it keeps some that statements use: grants outside the nodes, less what policies take of them. What is
 * granted on everything is left catalog by catalog.
 */
function remainingPlaces(
  losing: readonly string[],
  nodes: readonly RevokedNode[],
  kept: readonly KeptGrant[],
  policies: readonly AppliedPolicy[],
): RemainingPlaces {
  const held: RemainingPlaces = new Map(losing.map((name) => [name, new Set()]));
  const catalogs = new Set(nodes.flatMap(({ resource }) => resource.catalog ?? []));
  catalogs.delete(SYSTEM);
  const places = (resource: Node): Node[] =>
    kindOf(resource) === 'everything' ? [resource, ...[...catalogs].map((catalog) => ({ catalog }))] : [resource];
  for (const { grant, names } of kept)
    if (namedBy(grant.resource) === undefined) for (const place of places(grant.resource)) addLeft(grant, names, place);
  return held;

  function addLeft({ privileges }: SnapshotGrant, names: ReadonlySet<string>, place: Node): void {
    const closed = nodes.filter((loss) => covers(loss.resource, place));
    const gone = new Set(closed.flatMap((loss) => loss.names));
    const reaching = policies.filter(({ policy }) => covers(policy.resource, place));
    const inTables = policies.filter(({ policy }) => restrictsTableOf(place, policy));
    const restrictions = privileges.some(isOverRoutines)
      ? policies.filter(({ policy }) => restrictsData(policy) && isAroundCatalogOf(place, policy))
      : [];
    for (const name of names) {
      const places = held.get(name);
      if (places === undefined || gone.has(name)) continue;
      const applied = reaching.flatMap(({ policy, names }) => (names.has(name) ? [policy] : []));
      const around = restrictions.flatMap(({ policy, names }) => (names.has(name) ? [policy] : []));
      const access = accessOf(privileges, applied, { ...NOTHING_AROUND, routines: around });
      const left = inTables.some(({ names }) => names.has(name)) ? withoutSchemaOwnership(access) : access;
      if (left.privileges.some((privilege) => PRIVILEGE_TERMS[privilege].usedByStatements)) places.add(placeOf(place));
    }
  }
}

/** A grant of both snapshots, and the principals that it applies to in both. */
interface KeptGrant {
  grant: SnapshotGrant;
  names: ReadonlySet<string>;
}

type RemainingPlaces = Map<string, Set<string>>;

interface AppliedPolicy {
  policy: SnapshotPolicy;
  names: ReadonlySet<string>;
}

function under(principals: Principals): (policy: SnapshotPolicy) => AppliedPolicy {
  return (policy) => ({ policy, names: namesOf(principals.membersOf(policy)) });
}

/** Whether a grant covers the resource and the privileges of the other one. */
function includes(grant: SnapshotGrant, { resource, privileges }: SnapshotGrant): boolean {
  return covers(grant.resource, resource) && privileges.every((privilege) => grant.privileges.includes(privilege));
}

function merged(losses: readonly RevokedNode[]): RevokedNode[] {
  const byNode = new Map<string, { resource: Node; names: Set<string> }>();
  for (const { resource, names } of losses) {
    const known = getOrInsert(byNode, nodeKey(resource), () => ({
      resource: nodeOf(resource),
      names: new Set<string>(),
    }));
    for (const name of names) known.names.add(name);
  }
  const some = [...byNode.values()].filter(({ names }) => names.size > 0);
  return some.map(({ resource, names }) => ({ resource, names: [...names].sort() }));
}

const NO_NAMES: ReadonlySet<string> = new Set();

function namesOf(members: Members): ReadonlySet<string> {
  return new Set([...members.values()].map(({ name }) => name));
}
