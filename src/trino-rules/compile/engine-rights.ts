import type { ProcedureRule, QueryRight, QueryRule, SystemInformationRule } from '../document/rules-document.js';
import type { Node } from '../model/node.js';
import type { Privilege } from '../model/privilege.js';
import type { Snapshot } from '../model/snapshot.js';
import type { Bitset } from './bitset.js';
import { hasEffect, isKillQuery, SYSTEM } from './engine-terms.js';
import { anyOf } from './name-pattern.js';
import type { PrincipalIndex } from './principal-index.js';
import { getOrInsert } from './get-or-insert.js';

/** Users with each right over the engine itself; service accounts have none. */
export interface EngineRights {
  /** Users who may execute queries without access to anything. */
  execute: Bitset;
  view: Bitset;
  kill: Bitset;
  ofSome: QueriesOfSome[];
  /** `CALL system.runtime.kill_query`: comes with the right to kill, or by its own grant, unless denied. */
  callKill: Bitset;
  read: Bitset;
  write: Bitset;
}

/** Grants on the engine, less denies there. */
export function engineRights(snapshot: Snapshot, principals: PrincipalIndex): EngineRights {
  const { grants, policies, at } = snapshot;
  const denied = (privilege: Privilege, isThere = isOnEngine): Bitset =>
    policies
      .filter((each) => each.kind === 'deny' && isThere(each.resource) && each.privileges.includes(privilege))
      .reduce((all, policy) => all.or(principals.resolvePolicy(policy)), principals.none);
  const holders = (privilege: Privilege, isThere = isOnEngine, others = principals.none): Bitset =>
    grants
      .filter((grant) => isThere(grant.resource) && grant.privileges.includes(privilege) && hasEffect(grant, at))
      .reduce((all, { principal }) => all.or(principals.resolvePrincipal(principal)), others)
      .minus(denied(privilege, isThere));
  const view = holders('VIEW_QUERIES');
  const kill = holders('KILL_QUERIES');
  const closed = { view: denied('VIEW_QUERIES'), kill: denied('KILL_QUERIES') };
  const ofSome = queriesOfSome(snapshot, principals, { view, kill }, closed);
  const killing = ofSome
    .filter(({ allow }) => allow.includes('kill'))
    .reduce((all, { holders }) => all.or(holders), kill);
  return {
    ...{ execute: holders('EXECUTE_QUERIES'), view, kill, ofSome },
    callKill: holders('CALL_PROCEDURE', isKillQuery, killing),
    read: holders('READ_SYSTEM_INFORMATION'),
    write: holders('WRITE_SYSTEM_INFORMATION'),
  };
}

function isOnEngine({ engine }: Node): boolean {
  return engine === true;
}

/** Rules about queries. One rule has all rights of a user, because the first match decides. */
export function queryRules(
  executing: Bitset,
  { view, kill, ofSome }: EngineRights,
  principals: PrincipalIndex,
): QueryRule[] {
  const ofAll = rulesOf<QueryRight>({ execute: executing, view, kill }, principals);
  return [...rulesOfSome(ofSome, principals), ...ofAll];
}

export function systemInformationRules(
  { read, write }: EngineRights,
  principals: PrincipalIndex,
): SystemInformationRule[] {
  return rulesOf({ read, write }, principals);
}

/** `CALL system.runtime.kill_query` needs the procedure besides the right (seen on 483). */
export function killingRules({ callKill }: EngineRights, { namesOf }: PrincipalIndex): ProcedureRule[] {
  if (callKill.isEmpty()) return [];
  const where = { catalog: SYSTEM, schema: 'runtime', procedure: 'kill_query' };
  return [{ user: anyOf(namesOf(callKill)), ...where, privileges: ['EXECUTE'] }];
}

/** One rule for all users with the same rights. */
function rulesOf<Right extends string>(
  holders: Readonly<Record<Right, Bitset>>,
  { namesOf }: PrincipalIndex,
): { user: string; allow: Right[] }[] {
  let groups: { allow: Right[]; users: Bitset }[] = [];
  for (const [right, held] of Object.entries(holders) as [Right, Bitset][]) {
    const others = groups.reduce((rest, { users }) => rest.minus(users), held);
    const divided = groups.flatMap(({ allow, users }) => [
      { allow: [...allow, right], users: users.and(held) },
      { allow, users: users.minus(held) },
    ]);
    groups = [...divided, { allow: [right], users: others }];
  }
  return groups
    .filter(({ users }) => !users.isEmpty())
    .map(({ allow, users }) => ({ user: anyOf(namesOf(users)), allow }));
}

/** Users with these rights over the queries of these owners. */
interface QueriesOfSome {
  holders: Bitset;
  owners: Bitset;
  allow: QueryRight[];
}

const RIGHTS = [
  ['view', 'VIEW_QUERIES'],
  ['kill', 'KILL_QUERIES'],
] as const satisfies readonly (readonly [QueryRight, Privilege])[];

/** The grants and denies of one right over the queries of some owners. */
interface Entries {
  right: QueryRight;
  given: readonly OfSome[];
  taken: readonly OfSome[];
  /** Users who have the right over all queries. */
  overAll: Bitset;
  /** Users who lose the right by a deny on the engine. */
  closed: Bitset;
}

type OfSome = Omit<QueriesOfSome, 'allow'>;

/**
 * Rights over the queries of some owners where they differ from those over all others. One rule has all rights of a user over the
 * queries of an owner, because the first match decides.
 * @param overAll users with a right over all queries
 * @param closed users who lose a right by a deny on the engine
 */
function queriesOfSome(
  { grants, policies, at }: Snapshot,
  principals: PrincipalIndex,
  overAll: Record<'view' | 'kill', Bitset>,
  closed: Record<'view' | 'kill', Bitset>,
): QueriesOfSome[] {
  const { none, setOf } = principals;
  const entries = RIGHTS.map(([right, privilege]): Entries => ({
    right,
    given: grants.flatMap((grant) => {
      const { queries } = grant.resource;
      const isGiven = queries !== undefined && grant.privileges.includes(privilege) && hasEffect(grant, at);
      if (!isGiven) return [];
      return [{ holders: principals.resolvePrincipal(grant.principal), owners: principals.resolveOwners(queries) }];
    }),
    taken: policies.flatMap((policy) => {
      const { queries } = policy.resource;
      if (queries === undefined || policy.kind !== 'deny' || !policy.privileges.includes(privilege)) return [];
      return [{ holders: principals.resolvePolicy(policy), owners: principals.resolveOwners(queries) }];
    }),
    overAll: overAll[right],
    closed: closed[right],
  }));
  const named = entries.flatMap(({ given, taken }) => [...given, ...taken]);
  const alike = new Map<string, Omit<QueriesOfSome, 'holders'> & { positions: number[] }>();
  for (const user of named.reduce((all, { holders }) => all.or(holders), none).members()) {
    for (const part of partsOf(user, entries, none)) {
      const key = `${part.allow.join()} ${part.owners.key()}`;
      getOrInsert(alike, key, () => ({ ...part, positions: [] })).positions.push(user);
    }
  }
  return [...alike.values()].map(({ positions, ...part }) => ({ ...part, holders: setOf(positions) }));
}

/** Groups of owners over whose queries one user has other rights than over those of all other owners, with these rights. */
function partsOf(user: number, entries: readonly Entries[], none: Bitset): Omit<QueriesOfSome, 'holders'>[] {
  const of = (some: readonly OfSome[]): Bitset =>
    some.filter(({ holders }) => holders.has(user)).reduce((all, { owners }) => all.or(owners), none);
  const rights = entries.map(({ right, given, taken, overAll, closed }) => {
    const isOverAll = overAll.has(user);
    const [theirs, denied] = [closed.has(user) ? none : of(given), of(taken)];
    // `others`: denied owners if the user has the right over all queries, else granted owners.
    return { right, isOverAll, others: isOverAll ? denied : theirs.minus(denied) };
  });
  const usual = rights.filter(({ isOverAll }) => isOverAll).map(({ right }) => right);
  const differing = rights.reduce((all, { others }) => all.or(others), none);
  const parts = [{ owners: differing, allow: usual }];
  for (const { right, others } of rights)
    for (const part of parts.splice(0)) {
      const toggled = RIGHTS.map(([each]) => each).filter((each) => part.allow.includes(each) !== (each === right));
      parts.push({ owners: part.owners.and(others), allow: toggled }, { ...part, owners: part.owners.minus(others) });
    }
  return parts.filter(({ owners, allow }) => !owners.isEmpty() && allow.join() !== usual.join());
}

function rulesOfSome(some: readonly QueriesOfSome[], { namesOf }: PrincipalIndex): QueryRule[] {
  return some.map(({ holders, owners, allow }) => ({
    user: anyOf(namesOf(holders)),
    queryOwner: anyOf(namesOf(owners)),
    allow,
  }));
}
