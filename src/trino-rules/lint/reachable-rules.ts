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
  const { budget } = patterns;
  const fresh = patterns.fresh();
  const lives = reaches.map(() => false);
  const levels = reaches[0]?.path.length ?? 0;
  if (levels > 0) walk([]);
  return lives;

  function walk(path: readonly string[]): void {
    const branch = trie.branch(path);
    if (path.length === levels - 1) everyName(branch);
    else for (const name of branch.names().add(fresh)) walk([...path, name]);
  }

  /** Rules about any name are asked once; a name is asked only about the rules that spell it out. */
  function everyName(branch: Branch): void {
    const decided: Bitset = new Uint32Array(width);
    for (const index of branch.everywhere) decide(index, null, decided);
    const decidedBefore = adding(branch.everywhere);
    const here: Bitset = new Uint32Array(width);
    for (const name of branch.names().add(fresh)) {
      const own = branch.only(name);
      if (own.every((index) => lives[index])) continue;
      budget.spend(width);
      here.fill(0);
      for (const index of own) decide(index, decidedBefore(index), here);
    }
  }

  function decide(index: number, before: Bitset | null, decided: Bitset): void {
    const { at, words } = reaches[index]?.people ?? NOBODY;
    budget.spend(at.length);
    for (let i = 0; i < at.length; i++) {
      const word = wordAt(at, i);
      const hit = wordAt(words, i) & ~(wordAt(decided, word) | (before === null ? 0 : wordAt(before, word)));
      if (hit === 0) continue;
      lives[index] = true;
      addWord(decided, word, hit);
    }
  }

  /** The users of the rules before one. What earlier questions added up is kept, as most come in the order of the rules. */
  function adding(rules: readonly number[]): (index: number) => Bitset {
    const decided: Bitset = new Uint32Array(width);
    let last = -1;
    let next = 0;
    return (index) => {
      if (last > index) {
        budget.spend(width);
        decided.fill(0);
        [last, next] = [-1, 0];
      }
      for (let rule = rules[next]; rule !== undefined && rule <= index; rule = rules[++next]) {
        const people = reaches[rule]?.people ?? NOBODY;
        budget.spend(people.at.length);
        addSparse(decided, people);
        last = rule;
      }
      return decided;
    };
  }
}

function trieOf(reaches: readonly Reach[], { budget }: PatternCache): RuleTrie {
  const trie = new RuleTrie(budget);
  reaches.forEach(({ path }, index) => trie.add(index, path));
  return trie;
}

const NOBODY = sparseBitset([]);
