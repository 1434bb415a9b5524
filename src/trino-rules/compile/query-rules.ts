import type { QueryRight, QueryRule } from '../document/rules-document.js';
import type { Privilege } from '../model/privilege.js';
import type { Snapshot } from '../model/snapshot.js';
import type { Bitset } from './bitset.js';
import { hasEffect } from './engine-terms.js';
import { getOrInsert } from './get-or-insert.js';
import { anyOf } from './name-pattern.js';
import type { PrincipalIndex } from './principal-index.js';

/** Users who may do as much with the queries of these, and not with those of others. */
export interface QueriesOfSome {
  holders: Bitset;
  owners: Bitset;
  allow: QueryRight[];
}

const RIGHTS = [
  ['view', 'VIEW_QUERIES'],
  ['kill', 'KILL_QUERIES'],
] as const satisfies readonly (readonly [QueryRight, Privilege])[];

/** Of one right: what grants give and denies take of the queries of some. */
interface Entries {
  right: QueryRight;
  given: readonly OfSome[];
  taken: readonly OfSome[];
  /** Users who have it over all queries. */
  overAll: Bitset;
  /** Users to whom a deny on the engine leaves nothing of it. */
  closed: Bitset;
}

interface OfSome {
  holders: Bitset;
  owners: Bitset;
}

/**
 * Where a user's rights over the queries of some differ from those over all others: all that a user may do with the queries of one
 * owner stands in one rule, because the first that matches decides.
 * @param overAll users who have a right over all queries
 * @param closed users to whom a deny on the engine leaves nothing of it
 */
export function queriesOfSome(
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

/** The owners at whose queries one user has other rights than at those of all others, by the rights. */
function partsOf(user: number, entries: readonly Entries[], none: Bitset): Omit<QueriesOfSome, 'holders'>[] {
  const of = (some: readonly OfSome[]): Bitset =>
    some.filter(({ holders }) => holders.has(user)).reduce((all, { owners }) => all.or(owners), none);
  const rights = entries.map(({ right, given, taken, overAll, closed }) => {
    const isOverAll = overAll.has(user);
    const [theirs, spared] = [closed.has(user) ? none : of(given), of(taken)];
    // Where it is had over all, the exceptions are named, else those of whom it is had.
    return { right, isOverAll, others: isOverAll ? spared : theirs.minus(spared) };
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

/** Before the rules about all queries. */
export function rulesOfSome(some: readonly QueriesOfSome[], { namesOf }: PrincipalIndex): QueryRule[] {
  return some.map(({ holders, owners, allow }) => ({
    user: anyOf(namesOf(holders)),
    queryOwner: anyOf(namesOf(owners)),
    allow,
  }));
}
