import { getOrInsert } from '../../kernel/collections.js';
import type { PatternCache } from '../../trino-rules/document/pattern-cache.js';
import { type PolicyPrincipal, type Principal, principalText } from '../../trino-rules/model/principal.js';
import type { Snapshot } from '../../trino-rules/model/snapshot.js';
import type { SectionName } from '../check/engine-format.js';
import {
  type ForeignRule,
  type ForeignRules,
  givesSomething,
  groupPattern,
  userPattern,
} from '../check/foreign-rules.js';
import { canBeJudged, type ListedUser } from '../foreign/audiences.js';

/** A hypothetical user for whom the import is checked as well: a new one in some groups, or a listed one who has left a group. */
export interface Joiner extends ListedUser {
  /** Listed users in the same groups, of those that rules name; empty for a user who has left a group. */
  like: readonly string[];
  /** No listed user is in this combination of groups: the import may give less than the file, never more. */
  isPair?: true;
}

/** Begins the names of joiners. Real names cannot hold it, so only patterns that match nearly every name match a joiner. */
const SIGN = '\u0001';
const MOST_PAIRS = 1_000;
const PRIVATE_USE = 0xf0000;

/**
 * New users for each combination of groups in the list, for each single group, for no group, and for each pair of groups with
 * overlapping rules, also together with `openingGroups`. A listed user whom a rule names is added once for each group that can be left.
 * @param extra further combinations of groups, and further users who leave groups
 * @returns `uncompared`: combinations beyond the limit
 */
export function joinersOf(
  rules: ForeignRules,
  listed: readonly ListedUser[],
  patterns: PatternCache,
  extra: ExtraJoiners,
): { joiners: Joiner[]; uncompared: string[][] } {
  const named = groupsOfRules(rules, listed, patterns);
  const about = (groups: readonly string[]) => [...new Set(groups)].filter((group) => named.has(group)).sort();
  const combinations = new Map<string, { groups: string[]; like: string[]; isPair?: true }>();
  const add = (groups: string[]): { like: string[] } =>
    getOrInsert(combinations, JSON.stringify(groups), () => ({ groups, like: [] }));
  add([]);
  for (const group of named) add([group]);
  for (const { name, groups } of listed) add(about(groups)).like.push(name);
  const contending = contendingGroups(rules, named, patterns);
  const openers = openingGroups(rules, named, patterns);
  const together = [...openers.map((opener) => [opener]), openers].flatMap((more) =>
    contending.map((pair) => [...new Set([...pair, ...more])].sort()),
  );
  const asked = new Map(
    [...contending, ...together, ...extra.combinations].map((groups) => [JSON.stringify(groups), groups]),
  );
  const pairs = [...asked].flatMap(([key, groups]) => (combinations.has(key) ? [] : [groups]));
  for (const groups of pairs.slice(0, MOST_PAIRS))
    combinations.set(JSON.stringify(groups), { groups, like: [], isPair: true });
  const texts = new Set([...rules.values()].flat().flatMap((rule) => userPattern(rule)?.text ?? []));
  const ofSome = [...texts].filter((text) => !canBeJudged(text) || !patterns.matches(text, SIGN));
  const isNamed = (name: string): boolean => ofSome.some((text) => !canBeJudged(text) || patterns.matches(text, name));
  const leavers = listed
    .filter(({ name }) => isNamed(name) || extra.leavers.includes(name))
    .flatMap(({ name, groups }) =>
      about(groups).map((left) => ({ groups: about(groups).filter((each) => each !== left), like: [], knownAs: name })),
    );
  const joiners = [...combinations.values(), ...leavers].map((each, i) => ({
    // A digit would match `.*1`.
    name: `${SIGN}${String.fromCodePoint(PRIVATE_USE + i)}`,
    ...each,
  }));
  return { joiners, uncompared: pairs.slice(MOST_PAIRS) };
}

/**
 * Adds the joiners to a snapshot, in their groups. A user who has left a group keeps what is given to this user by name.
 * @param ids ids of the listed groups, by name
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
    // Only programs can impersonate, and joiners are added as accounts.
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

/** Joiners that are added because imported policies have exceptions, or imported rows name single users. */
export interface ExtraJoiners {
  combinations: readonly string[][];
  leavers: readonly string[];
}

/**
 * Combines each excepted group of a policy with other groups, because a member of both may keep what the policy takes from the other
 * one. Users whom a grant, a policy or an exception names leave their groups.
 * @param ids ids of the listed groups, by name
 * @returns also those of `before`
 */
export function extraJoiners(
  { users, groups, grants, policies }: Snapshot,
  joiners: readonly Joiner[],
  ids: ReadonlyMap<string, number>,
  before: ExtraJoiners,
): ExtraJoiners {
  const all = new Set(joiners.flatMap((joiner) => joiner.groups));
  const ofList = new Map([...ids].map(([name, id]) => [id, name]));
  const groupOf = (named: PolicyPrincipal): string[] =>
    [named.type === 'group' ? ofList.get(named.id) : undefined].filter((name) => name !== undefined);
  const combinations = policies.flatMap(({ principal, except }) => {
    if (principal.type !== 'group' && principal.type !== 'everyone') return [];
    const own = groupOf(principal);
    const excepted = except.flatMap(groupOf);
    // Together with each other group, and with all groups.
    return excepted.flatMap((one) =>
      [...[...own, ...all].map((other) => [...own, one, other]), [...all]].map((groups) => [...new Set(groups)].sort()),
    );
  });
  const names = new Map(users.map(({ id, name }) => [id, name]));
  const numbered = new Map(groups.filter(({ id }) => !ofList.has(id)).map((group) => [group.id, group]));
  const usersOf = (named: PolicyPrincipal): string[] => {
    if (named.type === 'engine') return [named.name];
    if (named.type === 'everyone') return [];
    const group = named.type === 'group' ? numbered.get(named.id) : undefined;
    const members = named.type === 'user' ? [named.id] : (group?.members ?? []);
    return [...members.flatMap((id) => names.get(id) ?? []), ...(group?.engines ?? [])];
  };
  const rows: PolicyPrincipal[] = [...grants, ...policies].map(({ principal }) => principal);
  const leavers = [...rows, ...policies.flatMap(({ except }) => except)].flatMap(usersOf);
  return { combinations: [...before.combinations, ...combinations], leavers: [...before.leavers, ...leavers] };
}

/**
 * Pairs of groups with overlapping rules of one section that give different access: the first rule decides for members of both. Also
 * pairs where a rule takes something from one group, and a rule of another section gives the other group something in that catalog.
 */
function contendingGroups(rules: ForeignRules, named: ReadonlySet<string>, patterns: PatternCache): string[][] {
  const found = new Map<string, string[]>();
  const ofGroups = (section: SectionName): RuleOfGroups[] =>
    (rules.get(section) ?? []).flatMap((rule) => {
      const text = groupPattern(rule)?.text;
      if (text === undefined) return [];
      const groups = [...named].filter((group) => !canBeJudged(text) || patterns.matches(text, group));
      const { gives, filter, columns } = rule;
      return [{ rule, groups: new Set(groups), gives: JSON.stringify([gives, filter, columns]) }];
    });
  const contend = (first: RuleOfGroups, second: RuleOfGroups): void => {
    const others = [...second.groups].filter((group) => !first.groups.has(group));
    for (const one of first.groups)
      for (const other of others) {
        const pair = [one, other].sort();
        found.set(JSON.stringify(pair), pair);
      }
  };
  const sections = [...rules.keys()].filter((section) => !SECTIONS_WITHOUT_PAIRS.has(section));
  const giving = new Map(
    sections.map((section) => [section, ofGroups(section).filter(({ rule }) => givesSomething(rule))]),
  );
  for (const section of sections) {
    const all = rules.get(section) ?? [];
    ofGroups(section).forEach((first, i, others) => {
      for (const second of others.slice(i + 1))
        if (first.gives !== second.gives && areAboutSame(first.rule, second.rule, patterns)) contend(first, second);
      const isTaking = all
        .slice(all.indexOf(first.rule) + 1)
        .some((rule) => takesFrom(first.rule, rule) && areAboutSame(first.rule, rule, patterns));
      for (const [other, seconds] of isTaking ? giving : [])
        for (const second of other === section ? [] : seconds)
          if (areAboutSame(first.rule, second.rule, patterns, ['catalog'])) contend(first, second);
    });
  }
  return [...found.values()];
}

interface RuleOfGroups {
  rule: ForeignRule;
  groups: ReadonlySet<string>;
  gives: string;
}

/** Groups that may enter a catalog or execute queries. Members get what rules give their other groups only through one of these. */
function openingGroups(rules: ForeignRules, named: ReadonlySet<string>, patterns: PatternCache): string[] {
  const texts = GATES.flatMap((gate) => rules.get(gate) ?? [])
    .filter(givesSomething)
    .flatMap((rule) => groupPattern(rule)?.text ?? []);
  return [...named].filter((group) => texts.some((text) => !canBeJudged(text) || patterns.matches(text, group)));
}

/** Whether users whom `rule` matches miss something that the later rule `other` gives. */
function takesFrom(rule: ForeignRule, other: ForeignRule): boolean {
  return keepsFrom(rule, other) || (other.gives.includes('all') && !rule.gives.includes('all'));
}

/** Rights in other sections have no effect without a right in each of these. */
const GATES: readonly SectionName[] = ['catalogs', 'queries'];

const SECTIONS_WITHOUT_PAIRS: ReadonlySet<string> = new Set([
  'impersonation',
  'principals',
  'authorization',
  'system_session_properties',
  'catalog_session_properties',
]);

/** Whether two rules may match the same names at these levels. */
function areAboutSame(
  one: ForeignRule,
  other: ForeignRule,
  patterns: PatternCache,
  levels: readonly string[] = OF_OBJECTS,
): boolean {
  patterns.budget.spend(STEPS_PER_PAIR);
  return levels.every((level) => {
    const [text, otherText] = [one.patterns.get(level)?.text, other.patterns.get(level)?.text];
    if (text === otherText || !canBeJudged(text) || !canBeJudged(otherText)) return true;
    const [names, others] = [patterns.language(text), patterns.language(otherText)];
    if (names.kind === 'names') return [...names.names].some((name) => patterns.matches(otherText, name));
    return others.kind !== 'names' || [...others.names].some((name) => patterns.matches(text, name));
  });
}

const OF_OBJECTS = ['catalog', 'schema', 'table', 'function', 'procedure'];
const STEPS_PER_PAIR = 50;

function groupsOfRules(rules: ForeignRules, listed: readonly ListedUser[], patterns: PatternCache): Set<string> {
  const texts = new Set([...rules.values()].flat().flatMap((rule) => groupPattern(rule)?.text ?? []));
  const groups = [...new Set(listed.flatMap((user) => user.groups))];
  return new Set(
    groups.filter((group) => [...texts].some((text) => !canBeJudged(text) || patterns.matches(text, group))),
  );
}

/**
 * Users and groups (names, or patterns) that the list lacks, and to which a rule denies what a later rule gives. The import cannot
 * deny it to users who are added later.
 */
export function restrictedNewcomers(
  rules: ForeignRules,
  listed: readonly ListedUser[],
  patterns: PatternCache,
): { names: string[]; rule: ForeignRule | null } {
  const [users, groups] = [new Set(listed.map(({ name }) => name)), new Set(listed.flatMap((user) => user.groups))];
  const unlisted = (text: string | undefined, known: ReadonlySet<string>): string[] => {
    if (text === undefined || !canBeJudged(text) || patterns.matches(text, SIGN)) return [];
    const language = patterns.language(text);
    return language.kind === 'names' ? [...language.names].filter((name) => !known.has(name)) : [text];
  };
  const found = new Set<string>();
  let first: ForeignRule | null = null;
  for (const [section, all] of rules) {
    if (SECTIONS_WITHOUT_PAIRS.has(section)) continue;
    for (const [i, rule] of all.entries()) {
      const names = [...unlisted(userPattern(rule)?.text, users), ...unlisted(groupPattern(rule)?.text, groups)];
      const isBehind = (other: ForeignRule) =>
        keepsFrom(rule, other) && areAboutSame(rule, other, patterns, ['user', ...OF_OBJECTS]);
      if (names.length === 0 || !all.slice(i + 1).some(isBehind)) continue;
      for (const name of names) found.add(name);
      first ??= rule;
    }
  }
  return { names: [...found].sort(), rule: first };
}

/** Whether `other` gives something that `rule` does not give, or gives only with other restrictions. */
function keepsFrom(rule: ForeignRule, other: ForeignRule): boolean {
  const isRestricting = rule.filter !== null || rule.columns.length > 0;
  const restrictions = ({ filter, columns }: ForeignRule): string => JSON.stringify([filter, columns]);
  return (
    givesSomething(other) && (!givesSomething(rule) || (isRestricting && restrictions(rule) !== restrictions(other)))
  );
}
