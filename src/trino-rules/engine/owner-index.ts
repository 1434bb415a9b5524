import { getOrInsert } from '../../kernel/get-or-insert.js';
import type { QueryRule } from '../document/rules-document.js';
import type { WorkBudget } from '../document/work-budget.js';
import { members, wordAt } from './sparse-bitset.js';
import type { UserUniverse } from './user-universe.js';

/** To note a rule for an owner, which is kept; and to take one up again. */
const STEPS_PER_OWNER = 50;
const STEPS_PER_RULE = 5;

/** Rules about queries by their owners: each owner is asked about, and most rules are about few. */
export class OwnerIndex {
  private readonly ofAll: number[] = [];
  private readonly byOwner = new Map<number, number[]>();

  constructor(
    private readonly rules: readonly QueryRule[],
    people: UserUniverse,
    private readonly budget: WorkBudget,
  ) {
    rules.forEach(({ queryOwner }, index) => {
      if (queryOwner === undefined) {
        this.ofAll.push(index);
        return;
      }
      const { at, words } = people.matching(queryOwner);
      for (let i = 0; i < at.length; i++) {
        const owners = members(wordAt(at, i), wordAt(words, i));
        budget.spend(owners.length * STEPS_PER_OWNER);
        for (const owner of owners) getOrInsert(this.byOwner, owner, () => []).push(index);
      }
    });
  }

  /** The rules about the queries of any of these users, by their positions, in order; without one, those about all. */
  about(owners: readonly number[]): QueryRule[] {
    const indexes = new Set([...this.ofAll, ...owners.flatMap((owner) => this.byOwner.get(owner) ?? [])]);
    this.budget.spend(indexes.size * STEPS_PER_RULE);
    return [...indexes].sort((a, b) => a - b).flatMap((index) => this.rules[index] ?? []);
  }
}
