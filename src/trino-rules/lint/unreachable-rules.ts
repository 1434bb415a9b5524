import type { Finding } from '../document/finding.js';
import { PatternCache, type PatternLanguage } from '../document/pattern-cache.js';
import { patternOf, RULE_PATTERNS, type RulesDocument, ruleText } from '../document/rules-document.js';
import { displayName } from '../engine/access-fact.js';
import type { UserUniverse } from '../engine/user-universe.js';
import { type Branch, RuleTrie } from '../engine/rule-trie.js';
import { addNewMembers, addSparseSet, type Bitset, sparseBitset, type SparseBitset } from '../engine/sparse-bitset.js';

/** Findings about rules that never decide, because earlier rules match everything that they match. All patterns must be lists of names. */
export function unreachableRules(rules: RulesDocument, universe: UserUniverse, patterns: PatternCache): Finding[] {
  const wordsPerSet = (universe.count + 31) >>> 5;
  const userPatterns = new PatternCache(patterns.budget); // separate: a user may have the name that is invented for objects
  return RULE_PATTERNS.flatMap(([section, ...keys]) => {
    const patternLists = rules[section].map((rule) => keys.map((key) => patternOf(rule, key)));
    const usersAndObjectsOfRules = patternLists.map(([user, ...objects]) => ({
      users: universe.usersMatching(user),
      objectPatterns: (objects.length === 0 ? [undefined] : objects).map((pattern) => patterns.language(pattern)),
    }));
    const reachableFlags = ruleReachability(usersAndObjectsOfRules, wordsPerSet, patterns);
    return patternLists.flatMap((_, index): Finding[] => {
      if (reachableFlags[index] === true) return [];
      const rulePath = `${section}[${index}]`;
      const message = `${rulePath} never decides: earlier rules match whatever it matches, ${exampleText(section, patternLists, index)}`;
      const witness = ruleText(rules[section][index] ?? {});
      return [{ code: 'dead-rule', severity: 'error', message, rule: rulePath, witness }];
    });
  });

  /** An example of an earlier rule that decides: `for example tables[3] for ana and sales.eu.orders`. */
  function exampleText(section: string, rules: readonly (readonly (string | undefined)[])[], index: number): string {
    const cacheOf = (fieldIndex: number): PatternCache => (fieldIndex === 0 ? userPatterns : patterns);
    const names = (rules[index] ?? []).map((pattern, fieldIndex) => cacheOf(fieldIndex).anyMatchingName(pattern));
    patterns.budget.spend(rules.length * names.length * COST_PER_NAME);
    const matchesNames = (pattern: string | undefined, i: number) => cacheOf(i).matches(pattern, names[i] ?? '');
    const decidingIndex = rules.findIndex((patternTexts) => patternTexts.every(matchesNames));
    const [user = '', ...objects] = names.map((name) => displayName(name, 'anybody'));
    return `for example ${section}[${decidingIndex}] for ${[user, objects.join('.')].filter((text) => text !== '').join(' and ')}`;
  }
}

const COST_PER_NAME = 20;

export interface RuleReach {
  users: SparseBitset;
  objectPatterns: readonly PatternLanguage[];
}

/**
 * For each rule of a section, whether it decides for at least one user and object. Exact if every pattern is a list of names; otherwise it
 * may miss rules that decide.
 * @param wordsPerSet the length, in 32-bit words, of a bit set of all users
 * @param trie the rules by path; a rule that is not in the trie counts as never deciding
 */
export function ruleReachability(
  ruleReaches: readonly RuleReach[],
  wordsPerSet: number,
  patterns: PatternCache,
  trie = trieOf(ruleReaches, patterns),
): boolean[] {
  const levelCount = ruleReaches[0]?.objectPatterns.length ?? 0;
  const decidingRules = new DecidingRules(ruleReaches, wordsPerSet, patterns);
  if (levelCount > 0) visitPath([]);
  return decidingRules.decidingFlags;

  function visitPath(path: readonly string[]): void {
    const branch = trie.branch(path);
    if (path.length === levelCount - 1) decidingRules.evaluateBranch(branch);
    else for (const name of branch.names().add(decidingRules.freshName)) visitPath([...path, name]);
  }
}

class DecidingRules {
  /** For each rule, by index: whether the rule decides for at least one user and path of names. */
  readonly decidingFlags: boolean[];
  readonly freshName: string;
  private readonly budget: PatternCache['budget'];

  constructor(
    private readonly ruleReaches: readonly RuleReach[],
    private readonly wordsPerSet: number,
    patterns: PatternCache,
  ) {
    this.decidingFlags = ruleReaches.map(() => false);
    this.freshName = patterns.freshName();
    this.budget = patterns.budget;
  }

  evaluateBranch(branch: Branch): void {
    const decidedUsers: Bitset = new Uint32Array(this.wordsPerSet);
    for (const index of branch.rulesForAnyName) this.evaluateRule(index, null, decidedUsers);
    const usersDecidedBefore = this.usersBeforeRule(branch.rulesForAnyName);
    const usersDecidedForName: Bitset = new Uint32Array(this.wordsPerSet);
    for (const name of branch.names().add(this.freshName)) {
      const ruleIndexes = branch.rulesOnlyFor(name);
      if (ruleIndexes.every((index) => this.decidingFlags[index])) continue;
      this.budget.spend(this.wordsPerSet);
      usersDecidedForName.fill(0);
      for (const index of ruleIndexes) this.evaluateRule(index, usersDecidedBefore(index), usersDecidedForName);
    }
  }

  private evaluateRule(index: number, excludedUsers: Bitset | null, decidedUsers: Bitset): void {
    if (addNewMembers(this.usersOf(index), decidedUsers, excludedUsers) !== null) this.decidingFlags[index] = true;
  }

  /** Returns a function that computes the users of all rules up to an index. Fast for ascending indexes, because a call continues where the last call ended. */
  private usersBeforeRule(rules: readonly number[]): (index: number) => Bitset {
    const decidedUsers: Bitset = new Uint32Array(this.wordsPerSet);
    let lastRule = -1;
    let nextIndex = 0;
    return (index) => {
      if (lastRule > index) {
        this.budget.spend(this.wordsPerSet);
        decidedUsers.fill(0);
        [lastRule, nextIndex] = [-1, 0];
      }
      for (let rule = rules[nextIndex]; rule !== undefined && rule <= index; rule = rules[++nextIndex]) {
        addSparseSet(decidedUsers, this.usersOf(rule));
        lastRule = rule;
      }
      return decidedUsers;
    };
  }

  private usersOf(index: number): SparseBitset {
    const { users: users = NO_USERS } = this.ruleReaches[index] ?? {};
    this.budget.spend(users.wordIndexes.length);
    return users;
  }
}

function trieOf(ruleReaches: readonly RuleReach[], { budget }: PatternCache): RuleTrie {
  const trie = new RuleTrie(budget);
  ruleReaches.forEach(({ objectPatterns: path }, index) => trie.add(index, path));
  return trie;
}

const NO_USERS = sparseBitset([]);
