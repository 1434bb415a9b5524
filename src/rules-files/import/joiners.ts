import { getOrInsert } from '../../kernel/get-or-insert.js';
import type { PatternCache } from '../../trino-rules/document/pattern-cache.js';
import { type PolicyPrincipal, type Principal, principalText } from '../../trino-rules/model/principal.js';
import type { Snapshot } from '../../trino-rules/model/snapshot.js';
import type { ForeignRules } from '../check/foreign-rules.js';
import { groupPattern, isJudged, type ListedUser, userPattern } from '../foreign/audiences.js';

/** Who is in exactly these groups, of those that rules are for: a new user, or one of the list who has left a group. */
export interface Joiner extends ListedUser {
  /** Of a new user, those of the list in exactly these groups; none: nobody is in all of them alone. */
  like: readonly string[];
}

/** In no name of a user, so that only patterns that match nearly everybody match a joiner. */
const SIGN = '\u0001';
/** Code points that are in no name either. */
const PRIVATE_USE = 0xf0000;

/**
 * New users: for each combination of groups that the list has, for each group alone, and for none. And those whom a rule names, out of
 * each of their groups.
 */
export function joinersOf(rules: ForeignRules, listed: readonly ListedUser[], patterns: PatternCache): Joiner[] {
  const named = groupsOfRules(rules, listed, patterns);
  const about = (groups: readonly string[]) => [...new Set(groups)].filter((group) => named.has(group)).sort();
  const combinations = new Map<string, { groups: string[]; like: string[] }>();
  const add = (groups: string[]): { like: string[] } =>
    getOrInsert(combinations, JSON.stringify(groups), () => ({ groups, like: [] }));
  add([]);
  for (const group of named) add([group]);
  for (const { name, groups } of listed) add(about(groups)).like.push(name);
  const texts = new Set([...rules.values()].flat().flatMap((rule) => userPattern(rule)?.text ?? []));
  const ofSome = [...texts].filter((text) => !isJudged(text) || !patterns.matches(text, SIGN));
  const isNamed = (name: string): boolean => ofSome.some((text) => !isJudged(text) || patterns.matches(text, name));
  const leavers = listed
    .filter(({ name }) => isNamed(name))
    .flatMap(({ name, groups }) =>
      about(groups).map((left) => ({ groups: about(groups).filter((each) => each !== left), like: [], knownAs: name })),
    );
  return [...combinations.values(), ...leavers].map((each, i) => ({
    // A digit would match `.*1`.
    name: `${SIGN}${String.fromCodePoint(PRIVATE_USE + i)}`,
    ...each,
  }));
}

/**
 * A snapshot with the joiners in their groups; who has left one keeps what is given by name.
 * @param ids those of the groups of the list, by their names there
 */
export function withJoiners(
  snapshot: Snapshot,
  joiners: readonly Joiner[],
  ids: ReadonlyMap<string, number>,
): Snapshot {
  const joined = joiners.map((joiner, i) => ({ ...joiner, id: snapshot.users.length + 1 + i, isActive: true }));
  const [byName, ofList] = [new Map<string, Principal[]>(), new Set(ids.values())];
  const accounts = new Map(snapshot.users.map(({ id, name }) => [name, id]));
  for (const { id, knownAs } of joined) {
    if (knownAs === undefined) continue;
    const account = accounts.get(knownAs);
    const known: Principal = account === undefined ? { type: 'engine', name: knownAs } : { type: 'user', id: account };
    getOrInsert(byName, principalText(known), () => []).push({ type: 'user', id });
  }
  const same = <P extends PolicyPrincipal>(principal: P): (P | Principal)[] => [
    principal,
    ...(byName.get(principalText(principal)) ?? []),
  ];
  const groups = snapshot.groups.map((group) => {
    const more = ofList.has(group.id)
      ? joined.filter((joiner) => joiner.groups.some((name) => ids.get(name) === group.id)).map(({ id }) => id)
      : [
          ...group.members.map((id): Principal => ({ type: 'user', id })),
          ...group.engines.map((name): Principal => ({ type: 'engine', name })),
        ].flatMap((member) =>
          (byName.get(principalText(member)) ?? []).flatMap((each) => ('id' in each ? each.id : [])),
        );
    return { ...group, members: [...group.members, ...more] };
  });
  const grants = snapshot.grants.flatMap((grant) =>
    // Only programs act as others.
    (grant.resource.as === undefined ? same(grant.principal) : [grant.principal]).map((principal) => ({
      ...grant,
      principal,
    })),
  );
  const policies = snapshot.policies.flatMap((policy) =>
    same(policy.principal).map((principal) => ({ ...policy, principal, except: policy.except.flatMap(same) })),
  );
  return { ...snapshot, users: [...snapshot.users, ...joined], groups, grants, policies };
}

/** The groups of the list that a rule is for. */
function groupsOfRules(rules: ForeignRules, listed: readonly ListedUser[], patterns: PatternCache): Set<string> {
  const texts = new Set([...rules.values()].flat().flatMap((rule) => groupPattern(rule)?.text ?? []));
  const groups = [...new Set(listed.flatMap((user) => user.groups))];
  return new Set(groups.filter((group) => [...texts].some((text) => !isJudged(text) || patterns.matches(text, group))));
}
