import type { PatternCache, PatternLanguage } from '../document/pattern-cache.js';
import { RuleTrie, type Branch } from '../engine/rule-trie.js';
import { addSparse, addWord, sparseBitset, wordAt, type SparseBitset, type Bitset } from '../engine/sparse-bitset.js';

/** The patterns of a rule: users, and objects level by level (at least one). */
export interface Reach {
  people: SparseBitset;
  path: readonly PatternLanguage[];
}

/**
 * The rules of a section that decide for some user and path of names, because no earlier rule matches them.
 * Evaluated for all users on every combination of names that the rules spell out, and on a fresh name at each level; that is
 * complete where no pattern is open.
 * @param width how many words a set of all people has
 * @param trie the rules by their paths; those that are not in it never decide
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
    if (path.length === levels - 1) search.below(branch);
    else for (const name of branch.names().add(search.fresh)) walk([...path, name]);
  }
}

class DecidingRules {
  /** By rule. */
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

  /** Rules about any name are asked once; a name is asked only about the rules that spell it out. */
  below(branch: Branch): void {
    const decided: Bitset = new Uint32Array(this.width);
    for (const index of branch.everywhere) this.decide(index, null, decided);
    const decidedBefore = this.adding(branch.everywhere);
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
    const { at, words } = this.people(index);
    for (let i = 0; i < at.length; i++) {
      const word = wordAt(at, i);
      const hit = wordAt(words, i) & ~(wordAt(decided, word) | (before === null ? 0 : wordAt(before, word)));
      if (hit === 0) continue;
      this.decides[index] = true;
      addWord(decided, word, hit);
    }
  }

  /** The users of the rules before one. What earlier questions added up is kept, as most come in the order of the rules. */
  private adding(rules: readonly number[]): (index: number) => Bitset {
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
