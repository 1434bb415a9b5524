import { getOrInsert } from '../../kernel/collections.js';
import type { PatternCache } from '../../trino-rules/document/pattern-cache.js';
import { type PolicyPrincipal, type Principal, principalText } from '../../trino-rules/model/principal.js';
import type { Snapshot } from '../../trino-rules/model/snapshot.js';
import type { SectionName } from '../check/engine-format.js';
import { selectivePattern } from '../check/foreign-language.js';
import {
  type ForeignRule,
  type ForeignRules,
  givesSomething,
  groupPattern,
  rolePattern,
  userPattern,
} from '../check/foreign-rules.js';
import { canBeJudged, type ListedUser } from '../foreign/audiences.js';
import { excludedNames } from './named-nodes.js';

/** A hypothetical user for whom the import is also checked: a new user in some groups, or a listed user who has left a group. */
export interface Joiner extends ListedUser {
  /** Names of the listed users in the same groups. Groups without rules do not count. */
  sameGroupUsers: readonly string[];
  /** Set if this user is in several groups that no listed user has together. */
  isUnlisted?: true;
}

/** A name of hypothetical users (`Joiner`). No real name has a control character. The name does not end with a digit, so that `.*1` does not match it. */
const joinerName = (i: number): string => `\u0001${String.fromCodePoint(0xf0000 + i)}`;
/** Stands for the names of all hypothetical users in patterns. */
const ANY_JOINER = joinerName(0);
const MAX_COMBINATIONS = 1_000;

/**
 * Makes hypothetical users (`Joiner`): users with combinations of groups, and copies of listed users without one of their groups.
 * @param extras further combinations of groups, and further users who leave groups
 * @returns `groupSetsLeftOut`: combinations beyond the limit
 */
export function joinersOf(
  rules: ForeignRules,
  listedUsers: readonly ListedUser[],
  patterns: PatternCache,
  extras: ExtraJoiners,
): { joiners: Joiner[]; groupSetsLeftOut: string[][] } {
  const namedGroups = groupsOfRules(rules, listedUsers, patterns);
  const groupsInRules = (names: readonly string[]) =>
    [...new Set(names)].filter((group) => namedGroups.has(group)).sort();
  const groupSets = new Map<string, { groups: string[]; sameGroupUsers: string[]; isUnlisted?: true }>();
  const addCombination = (groups: string[]): { sameGroupUsers: string[] } =>
    getOrInsert(groupSets, JSON.stringify(groups), () => ({ groups, sameGroupUsers: [] }));
  addCombination([]);
  for (const group of namedGroups) addCombination([group]);
  for (const { name, groups } of listedUsers) addCombination(groupsInRules(groups)).sameGroupUsers.push(name);
  const pairsOfGroups = contendingGroups(rules, namedGroups, patterns);
  const admittedGroupNames = admittedGroups(rules, namedGroups, patterns);
  const extendedPairs = [...admittedGroupNames.map((group) => [group]), admittedGroupNames].flatMap((addedGroups) =>
    pairsOfGroups.map((pair) => [...new Set([...pair, ...addedGroups])].sort()),
  );
  const newCombinations = new Map(
    [...pairsOfGroups, ...extendedPairs, ...extras.combinations].map((groups) => [JSON.stringify(groups), groups]),
  );
  const unlistedCombinations = [...newCombinations].flatMap(([key, groups]) => (groupSets.has(key) ? [] : [groups]));
  for (const groups of unlistedCombinations.slice(0, MAX_COMBINATIONS))
    groupSets.set(JSON.stringify(groups), { groups, sameGroupUsers: [], isUnlisted: true });
  const userTexts = new Set([...rules.values()].flat().flatMap((rule) => userPattern(rule)?.text ?? []));
  const selectiveTexts = [...userTexts].filter((text) => !canBeJudged(text) || !patterns.matches(text, ANY_JOINER));
  const isNamedByRule = (name: string): boolean =>
    selectiveTexts.some((text) => !canBeJudged(text) || patterns.matches(text, name));
  const leaverCopies = listedUsers
    .filter(({ name }) => isNamedByRule(name) || extras.leavers.includes(name))
    .flatMap(({ name, groups }) =>
      groupsInRules(groups).map((leftGroup) => ({
        groups: groupsInRules(groups).filter((each) => each !== leftGroup),
        realName: name,
      })),
    );
  const joiners = [...groupSets.values(), ...leaverCopies].map((each, i) => ({
    name: joinerName(i),
    sameGroupUsers: [],
    ...each,
  }));
  return { joiners, groupSetsLeftOut: unlistedCombinations.slice(MAX_COMBINATIONS) };
}

/**
 * Adds hypothetical users (`Joiner`) to a snapshot, in their groups. A copy of a listed user gets the grants and policies that name this user.
 * @param groupIds ids of the listed groups, by name
 */
export function withJoiners(
  snapshot: Snapshot,
  joiners: readonly Joiner[],
  groupIds: ReadonlyMap<string, number>,
): Snapshot {
  const joinerUsers = joiners.map((joiner, i) => ({ ...joiner, id: snapshot.users.length + 1 + i, isActive: true }));
  const [aliasesByPrincipal, listedIds] = [new Map<string, Principal[]>(), new Set(groupIds.values())];
  const accountIds = new Map(snapshot.users.map(({ id, name }) => [name, id]));
  for (const { id, realName } of joinerUsers) {
    if (realName === undefined) continue;
    const accountId = accountIds.get(realName);
    const listedPrincipal: Principal =
      accountId === undefined ? { type: 'engine', name: realName } : { type: 'user', id: accountId };
    getOrInsert(aliasesByPrincipal, principalText(listedPrincipal), () => []).push({ type: 'user', id });
  }
  const aliases = <P extends PolicyPrincipal>(principal: P): (P | Principal)[] => [
    principal,
    ...(aliasesByPrincipal.get(principalText(principal)) ?? []),
  ];
  const groups = snapshot.groups.map((group) => {
    const addedMembers = listedIds.has(group.id)
      ? joinerUsers
          .filter((joiner) => joiner.groups.some((name) => groupIds.get(name) === group.id))
          .map(({ id }) => id)
      : [
          ...group.members.map((id): Principal => ({ type: 'user', id })),
          ...group.engines.map((name): Principal => ({ type: 'engine', name })),
        ].flatMap((member) =>
          (aliasesByPrincipal.get(principalText(member)) ?? []).flatMap((each) => ('id' in each ? each.id : [])),
        );
    return { ...group, members: [...group.members, ...addedMembers] };
  });
  const grants = snapshot.grants.flatMap((grant) =>
    // Grants to impersonate are not copied to the hypothetical users (`Joiner`), because only programs can impersonate.
    (grant.resource.as === undefined ? aliases(grant.principal) : [grant.principal]).map((principal) => ({
      ...grant,
      principal,
    })),
  );
  const policies = snapshot.policies.flatMap((policy) =>
    aliases(policy.principal).map((principal) => ({ ...policy, principal, except: policy.except.flatMap(aliases) })),
  );
  return { ...snapshot, users: [...snapshot.users, ...joinerUsers], groups, grants, policies };
}

/** Further hypothetical users. `combinations`: the groups of each new user. `leavers`: listed users to copy, each copy without one group. */
export interface ExtraJoiners {
  combinations: readonly string[][];
  leavers: readonly string[];
}

/**
 * Adds hypothetical users (`Joiner`) to check, such as new members of a group that a policy excepts.
 * @param ids ids of the listed groups, by name
 * @returns `extras` with the added users
 */
export function extraJoiners(
  { users, groups, grants, policies }: Snapshot,
  joiners: readonly Joiner[],
  ids: ReadonlyMap<string, number>,
  extras: ExtraJoiners,
): ExtraJoiners {
  const allGroups = new Set(joiners.flatMap((joiner) => joiner.groups));
  const groupNamesById = new Map([...ids].map(([name, id]) => [id, name]));
  const groupOf = (principal: PolicyPrincipal): string[] =>
    [principal.type === 'group' ? groupNamesById.get(principal.id) : undefined].filter((name) => name !== undefined);
  const combinations = policies.flatMap(({ principal, except }) => {
    if (principal.type !== 'group' && principal.type !== 'everyone') return [];
    const own = groupOf(principal);
    const exceptedGroups = except.flatMap(groupOf);
    // New users for each excepted group: in this group and the policy's group; in these two and one other group; in all groups.
    return exceptedGroups.flatMap((exceptedGroup) =>
      [...[...own, ...allGroups].map((other) => [...own, exceptedGroup, other]), [...allGroups]].map((groups) =>
        [...new Set(groups)].sort(),
      ),
    );
  });
  const userNamesById = new Map(users.map(({ id, name }) => [id, name]));
  const createdGroups = new Map(groups.filter(({ id }) => !groupNamesById.has(id)).map((group) => [group.id, group]));
  const userNamesOf = (principal: PolicyPrincipal): string[] => {
    if (principal.type === 'engine') return [principal.name];
    if (principal.type === 'everyone') return [];
    const group = principal.type === 'group' ? createdGroups.get(principal.id) : undefined;
    const memberIds = principal.type === 'user' ? [principal.id] : (group?.members ?? []);
    return [...memberIds.flatMap((id) => userNamesById.get(id) ?? []), ...(group?.engines ?? [])];
  };
  const namedPrincipals: PolicyPrincipal[] = [...grants, ...policies].map(({ principal }) => principal);
  const leavers = [...namedPrincipals, ...policies.flatMap(({ except }) => except)].flatMap(userNamesOf);
  return { combinations: [...extras.combinations, ...combinations], leavers: [...extras.leavers, ...leavers] };
}

/** Pairs of groups whose common members may get less access than a member of one group. */
function contendingGroups(rules: ForeignRules, namedGroups: ReadonlySet<string>, patterns: PatternCache): string[][] {
  const groupPairs = new Map<string, string[]>();
  const groupRulesOf = (section: SectionName): RuleOfGroups[] =>
    (rules.get(section) ?? []).flatMap((rule) => {
      const text = groupPattern(rule)?.text;
      if (text === undefined) return [];
      const groups = [...namedGroups].filter((group) => !canBeJudged(text) || patterns.matches(text, group));
      const { rights, filter, columns } = rule;
      return [{ rule, groups: new Set(groups), rightsKey: JSON.stringify([rights, filter, columns]) }];
    });
  const addPairs = (firstRule: RuleOfGroups, secondRule: RuleOfGroups): void => {
    const otherGroups = [...secondRule.groups].filter((group) => !firstRule.groups.has(group));
    for (const firstGroup of firstRule.groups)
      for (const secondGroup of otherGroups) {
        const pair = [firstGroup, secondGroup].sort();
        groupPairs.set(JSON.stringify(pair), pair);
      }
  };
  const sections = [...rules.keys()].filter((section) => !SECTIONS_WITHOUT_PAIRS.has(section));
  const givingRulesBySection = new Map(
    sections.map((section) => [section, groupRulesOf(section).filter(({ rule }) => givesSomething(rule))]),
  );
  for (const section of sections) {
    const sectionRules = rules.get(section) ?? [];
    groupRulesOf(section).forEach((firstRule, i, groupRules) => {
      for (const secondRule of groupRules.slice(i + 1))
        if (firstRule.rightsKey !== secondRule.rightsKey && mayOverlap(firstRule.rule, secondRule.rule, patterns))
          addPairs(firstRule, secondRule);
      const withholdsAccess = sectionRules
        .slice(sectionRules.indexOf(firstRule.rule) + 1)
        .some((rule) => givesLessThan(firstRule.rule, rule) && mayOverlap(firstRule.rule, rule, patterns));
      for (const [otherSection, secondRules] of withholdsAccess ? givingRulesBySection : [])
        for (const secondRule of otherSection === section ? [] : secondRules)
          if (mayOverlap(firstRule.rule, secondRule.rule, patterns, ['catalog'])) addPairs(firstRule, secondRule);
    });
  }
  return [...groupPairs.values()];
}

interface RuleOfGroups {
  rule: ForeignRule;
  groups: ReadonlySet<string>;
  rightsKey: string;
}

/** Groups that may enter a catalog or execute queries. Rights of other groups have effect only for people who are also in one of these groups. */
function admittedGroups(rules: ForeignRules, namedGroups: ReadonlySet<string>, patterns: PatternCache): string[] {
  const texts = GATES.flatMap((section) => rules.get(section) ?? [])
    .filter(givesSomething)
    .flatMap((rule) => groupPattern(rule)?.text ?? []);
  return [...namedGroups].filter((group) => texts.some((text) => !canBeJudged(text) || patterns.matches(text, group)));
}

function givesLessThan(rule: ForeignRule, other: ForeignRule): boolean {
  return withholdsOrRestricts(rule, other) || (other.rights.includes('all') && !rule.rights.includes('all'));
}

/** A user needs a right from each of these sections before the rights of other sections have any effect. */
const GATES: readonly SectionName[] = ['catalogs', 'queries'];

const SECTIONS_WITHOUT_PAIRS: ReadonlySet<string> = new Set([
  'impersonation',
  'principals',
  'authorization',
  'system_session_properties',
  'catalog_session_properties',
]);

function mayOverlap(
  rule: ForeignRule,
  otherRule: ForeignRule,
  patterns: PatternCache,
  comparedFields: readonly string[] = OBJECT_FIELDS,
): boolean {
  patterns.budget.spend(COST_PER_PAIR);
  return comparedFields.every((level) => {
    const [text, otherText] = [rule.patterns.get(level)?.text, otherRule.patterns.get(level)?.text];
    if (text === otherText || !canBeJudged(text) || !canBeJudged(otherText)) return true;
    const [language, otherLanguage] = [patterns.language(text), patterns.language(otherText)];
    if (language.kind === 'names') return [...language.names].some((name) => patterns.matches(otherText, name));
    return otherLanguage.kind !== 'names' || [...otherLanguage.names].some((name) => patterns.matches(text, name));
  });
}

const OBJECT_FIELDS = ['catalog', 'schema', 'table', 'function', 'procedure'];
const COST_PER_PAIR = 50;

function groupsOfRules(rules: ForeignRules, listedUsers: readonly ListedUser[], patterns: PatternCache): Set<string> {
  const groupTexts = new Set([...rules.values()].flat().flatMap((rule) => groupPattern(rule)?.text ?? []));
  const groups = [...new Set(listedUsers.flatMap((user) => user.groups))];
  return new Set(
    groups.filter((group) => [...groupTexts].some((text) => !canBeJudged(text) || patterns.matches(text, group))),
  );
}

/**
 * Unlisted users and groups to whom a rule gives less than a later rule, or nothing although it gives it to all other names. The import loses
 * such a restriction, because it cannot restrict users who are added later. `rule`: the first such rule.
 */
export function restrictedNewcomers(
  rules: ForeignRules,
  listedUsers: readonly ListedUser[],
  patterns: PatternCache,
): { names: string[]; rule: ForeignRule | null } {
  const [users, groups] = [
    new Set(listedUsers.map(({ name }) => name)),
    new Set(listedUsers.flatMap((user) => user.groups)),
  ];
  const matchesJoiners = (text: string | undefined): boolean => canBeJudged(text) && patterns.matches(text, ANY_JOINER);
  const unlistedIn = (text: string | undefined, knownNames: ReadonlySet<string>): string[] => {
    if (text === undefined || !canBeJudged(text)) return [];
    const language = patterns.language(text);
    return language.kind === 'names' ? [...language.names].filter((name) => !knownNames.has(name)) : [text];
  };
  const restrictedBy = (rule: ForeignRule): string[] => {
    const [userText, groupText] = [userPattern(rule)?.text, groupPattern(rule)?.text];
    return [...(matchesJoiners(userText) ? [] : unlistedIn(userText, users)), ...unlistedIn(groupText, groups)];
  };
  /** Whether everyone or a group gets what the rule gives. What a rule gives to single users is never granted to others. */
  const isForNewcomers = (rule: ForeignRule): boolean => {
    const text = groupPattern(rule)?.text;
    const hasMembers =
      text === undefined || [...groups].some((group) => canBeJudged(text) && patterns.matches(text, group));
    return givesSomething(rule) && hasMembers && matchesJoiners(userPattern(rule)?.text);
  };
  const leftOutBy = (rule: ForeignRule, laterRules: readonly ForeignRule[]): string[] => {
    const text = selectivePattern('user', userPattern(rule)?.text);
    if (text === undefined || !isForNewcomers(rule)) return [];
    const names = excludedNames(text, patterns);
    const unlisted =
      names === null ? [`names that ${text} does not match`] : [...names].filter((name) => !users.has(name));
    if (unlisted.length === 0) return [];
    const reachedRules = laterRules.filter((other) => mayOverlap(rule, other, patterns));
    const isForAllNames = (other: ForeignRule): boolean =>
      groupPattern(other) === undefined &&
      selectivePattern('user', userPattern(other)?.text) === undefined &&
      OBJECT_FIELDS.every((field) =>
        [undefined, rule.patterns.get(field)?.text].includes(other.patterns.get(field)?.text),
      );
    const nextIndex = reachedRules.findIndex(isForAllNames);
    const isGivenToAll = nextIndex >= 0 && !reachedRules.slice(0, nextIndex + 1).some((other) => isLess(other, rule));
    return isGivenToAll ? [] : unlisted;
  };
  const unlistedNames = new Set<string>();
  let firstRule: ForeignRule | null = null;
  for (const [section, sectionRules] of rules) {
    if (SECTIONS_WITHOUT_PAIRS.has(section)) continue;
    const usedRules = sectionRules.filter((rule) => rolePattern(rule) === undefined);
    for (const [i, rule] of usedRules.entries()) {
      const [restrictedNames, laterRules] = [restrictedBy(rule), usedRules.slice(i + 1)];
      const isWithheldByRule = (other: ForeignRule) =>
        isLess(rule, other) && isForNewcomers(other) && mayOverlap(rule, other, patterns, ['user', ...OBJECT_FIELDS]);
      const isWithheld = restrictedNames.length > 0 && laterRules.some(isWithheldByRule);
      const names = [...leftOutBy(rule, laterRules), ...(isWithheld ? restrictedNames : [])];
      for (const name of names) unlistedNames.add(name);
      if (names.length > 0) firstRule ??= rule;
    }
  }
  return { names: [...unlistedNames].sort(), rule: firstRule };
}

function isLess(rule: ForeignRule, other: ForeignRule): boolean {
  return withholdsOrRestricts(rule, other) || lacksRightOf(rule, other);
}

/** Whether `other` gives a right that `rule` does not give, where `rule` decides. */
function lacksRightOf(rule: ForeignRule, other: ForeignRule): boolean {
  const rights = new Set(rule.rights.flatMap((right) => [right, ...(CONTAINED_RIGHTS[right] ?? [])]));
  // A rule about the queries of others does not decide who executes queries.
  if (rule.patterns.has('queryOwner')) rights.add('execute');
  return other.rights.some((right) => right !== 'none' && right !== 'false' && !rights.has(right));
}

/** Rights that other rights contain. To `owner`, the import gives no more than to `all`. */
const CONTAINED_RIGHTS: Readonly<Record<string, readonly string[]>> = {
  all: ['owner', 'read-only'],
  owner: ['all', 'read-only'],
  GRANT_SELECT: ['SELECT'],
  GRANT_EXECUTE: ['EXECUTE'],
};

/** Whether `rule`, if it decides instead of `other`, withholds or restricts access that `other` gives. */
function withholdsOrRestricts(rule: ForeignRule, other: ForeignRule): boolean {
  const hasRestrictions = rule.filter !== null || rule.columns.length > 0;
  const restrictions = ({ filter, columns }: ForeignRule): string => JSON.stringify([filter, columns]);
  return (
    givesSomething(other) && (!givesSomething(rule) || (hasRestrictions && restrictions(rule) !== restrictions(other)))
  );
}
