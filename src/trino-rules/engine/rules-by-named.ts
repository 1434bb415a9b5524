import { getOrInsert } from '../../kernel/collections.js';
import { members, wordAt } from './sparse-bitset.js';
import type { UserUniverse } from './user-universe.js';

/** To note a rule for a user that it names, which is kept; and to take one up again. */
const STEPS_PER_NAMED = 50;
const STEPS_PER_RULE = 5;

/** Rules by the owners of queries or new users that they name: each user is asked about, and most rules name few. */
export class RulesByNamed<Rule> {
  private readonly ofAll: number[] = [];
  private readonly byNamed = new Map<number, number[]>();

  constructor(
    private readonly rules: readonly Rule[],
    named: (rule: Rule) => string | undefined,
    private readonly engine: { readonly people: UserUniverse; spend: (steps: number) => void },
  ) {
    rules.forEach((rule, index) => {
      const pattern = named(rule);
      if (pattern === undefined) {
        this.ofAll.push(index);
        return;
      }
      const { at, words } = engine.people.matching(pattern);
      for (let i = 0; i < at.length; i++) {
        const positions = members(wordAt(at, i), wordAt(words, i));
        engine.spend(positions.length * STEPS_PER_NAMED);
        for (const position of positions) getOrInsert(this.byNamed, position, () => []).push(index);
      }
    });
  }

  /** The rules about any of these users, by their positions, in order; without one, those that name nobody. */
  about(positions: readonly number[]): Rule[] {
    const indexes = new Set([...this.ofAll, ...positions.flatMap((position) => this.byNamed.get(position) ?? [])]);
    this.engine.spend(indexes.size * STEPS_PER_RULE);
    return [...indexes].sort((a, b) => a - b).flatMap((index) => this.rules[index] ?? []);
  }
}
