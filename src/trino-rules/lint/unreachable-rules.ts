import type { Finding } from '../document/finding.js';
import { PatternCache, type PatternLanguage } from '../document/pattern-cache.js';
import { patternOf, RULE_PATTERNS, type RulesDocument, ruleText } from '../document/rules-document.js';
import { displayName } from '../engine/access-fact.js';
import type { UserUniverse } from '../engine/user-universe.js';
import { type Branch, RuleTrie } from '../engine/rule-trie.js';
import { addNew, addSparse, type Bitset, sparseBitset, type SparseBitset } from '../engine/sparse-bitset.js';

/** Rules that never decide, because earlier rules match everything that they match. For documents with complete patterns only. */
export function unreachableRules(rules: RulesDocument, people: UserUniverse, patterns: PatternCache): Finding[] {
  const width = (people.count + 31) >>> 5;
  const users = new PatternCache(patterns.budget); // separate: a user may be spelled like the fresh name of an object
  return RULE_PATTERNS.flatMap(([section, ...keys]) => {
    const fields = rules[section].map((rule) => keys.map((key) => patternOf(rule, key)));
    const reaches = fields.map(([user, ...objects]) => ({
      people: people.matching(user),
      path: (objects.length === 0 ? [undefined] : objects).map((pattern) => patterns.language(pattern)),
    }));
    const lives = reachableRules(reaches, width, patterns);
    return fields.flatMap((_, index): Finding[] => {
      if (lives[index] === true) return [];
      const at = `${section}[${index}]`;
      const message = `${at} never decides: earlier rules match whatever it matches, ${example(section, fields, index)}`;
      return [
        { code: 'dead-rule', severity: 'error', message, rule: at, witness: ruleText(rules[section][index] ?? {}) },
      ];
    });
  });

  /** `for example tables[3] for ana and sales.eu.orders` */
  function example(section: string, fields: readonly (readonly (string | undefined)[])[], index: number): string {
    const cacheOf = (field: number): PatternCache => (field === 0 ? users : patterns);
    const names = (fields[index] ?? []).map((pattern, field) => cacheOf(field).someName(pattern));
    patterns.budget.spend(fields.length * names.length * STEPS_PER_NAME);
    const decider = fields.findIndex((each) => each.every((pattern, i) => cacheOf(i).matches(pattern, names[i] ?? '')));
    const [user = '', ...objects] = names.map((name) => displayName(name, 'anybody'));
    return `for example ${section}[${decider}] for ${[user, objects.join('.')].filter((text) => text !== '').join(' and ')}`;
  }
}

const STEPS_PER_NAME = 20;

/** The users and the patterns of objects of a rule, with at least one level. */
export interface Reach {
  people: SparseBitset;
  path: readonly PatternLanguage[];
}

/**
 * Which rules of a section decide for some user and path of names, because no earlier rule matches them. Evaluated for all users on
 * every combination of spelled names and a fresh name at each level; complete where no pattern is open.
 * @param width number of words of a set of all users
 * @param trie the rules by path; rules that it lacks never decide
 */
export function reachableRules(
  reaches: readonly Reach[],
  width: number,
  patterns: PatternCache,
  trie = trieOf(reaches, patterns),
): boolean[] {
  const levels = reaches[0]?.path.length ?? 0;
  const search = new DecidingRules(reaches, width, patterns);
  if (levels > 0) walk([]);
  return search.decides;

  function walk(path: readonly string[]): void {
    const branch = trie.branch(path);
    if (path.length === levels - 1) search.evaluateNames(branch);
    else for (const name of branch.names().add(search.fresh)) walk([...path, name]);
  }
}

class DecidingRules {
  /** Whether each rule decides, by index. */
  readonly decides: boolean[];
  readonly fresh: string;
  private readonly budget: PatternCache['budget'];

  constructor(
    private readonly reaches: readonly Reach[],
    private readonly width: number,
    patterns: PatternCache,
  ) {
    this.decides = reaches.map(() => false);
    this.fresh = patterns.fresh();
    this.budget = patterns.budget;
  }

  /** Evaluates rules about any name once, and for each name only the rules that spell it out. */
  evaluateNames(branch: Branch): void {
    const decided: Bitset = new Uint32Array(this.width);
    for (const index of branch.everywhere) this.decide(index, null, decided);
    const decidedBefore = this.usersBefore(branch.everywhere);
    const here: Bitset = new Uint32Array(this.width);
    for (const name of branch.names().add(this.fresh)) {
      const own = branch.only(name);
      if (own.every((index) => this.decides[index])) continue;
      this.budget.spend(this.width);
      here.fill(0);
      for (const index of own) this.decide(index, decidedBefore(index), here);
    }
  }

  private decide(index: number, before: Bitset | null, decided: Bitset): void {
    if (addNew(this.people(index), decided, before)) this.decides[index] = true;
  }

  /** The users of all rules before a given one. Sums are kept, because most calls come in the order of the rules. */
  private usersBefore(rules: readonly number[]): (index: number) => Bitset {
    const decided: Bitset = new Uint32Array(this.width);
    let last = -1;
    let next = 0;
    return (index) => {
      if (last > index) {
        this.budget.spend(this.width);
        decided.fill(0);
        [last, next] = [-1, 0];
      }
      for (let rule = rules[next]; rule !== undefined && rule <= index; rule = rules[++next]) {
        addSparse(decided, this.people(rule));
        last = rule;
      }
      return decided;
    };
  }

  private people(index: number): SparseBitset {
    const { people = NOBODY } = this.reaches[index] ?? {};
    this.budget.spend(people.at.length);
    return people;
  }
}

function trieOf(reaches: readonly Reach[], { budget }: PatternCache): RuleTrie {
  const trie = new RuleTrie(budget);
  reaches.forEach(({ path }, index) => trie.add(index, path));
  return trie;
}

const NOBODY = sparseBitset([]);
