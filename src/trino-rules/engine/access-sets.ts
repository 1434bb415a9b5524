import { getOrInsert } from '../../kernel/collections.js';
import { TABLE_PRIVILEGES, type TablePrivilege } from '../document/rules-document.js';
import type { WorkBudget } from '../document/work-budget.js';
import { addWord, BitsetPool, wordAt, type Bitset } from './sparse-bitset.js';

/** Access at one table as sets of users: whom the rules give it, or whom the grants mean to. */
export class AccessSets {
  readonly given: Readonly<Record<TablePrivilege, Bitset>>;
  /** By conjunct, an expression in its parentheses: in which order a text joins them is all the same. */
  readonly filters = new Map<string, Bitset>();
  readonly hidden = new Map<string, Bitset>();
  readonly masks = new Map<string, Map<string, Bitset>>();
  private readonly empty: BitsetPool;

  /** @param budget pays for each set that is made; null: nobody does */
  constructor(
    private readonly width: number,
    private readonly budget: WorkBudget | null,
  ) {
    this.empty = new BitsetPool(width);
    const set = (): Bitset => new Uint32Array(width);
    this.given = { SELECT: set(), INSERT: set(), DELETE: set(), UPDATE: set(), OWNERSHIP: set(), GRANT_SELECT: set() };
  }

  filteredBy(conjunct: string): Bitset {
    return getOrInsert(this.filters, conjunct, () => this.made());
  }

  hiddenFrom(column: string): Bitset {
    return getOrInsert(this.hidden, column, () => this.made());
  }

  maskedBy(column: string, expression: string): Bitset {
    const masks = getOrInsert(this.masks, column, () => new Map<string, Bitset>());
    return getOrInsert(masks, expression, () => this.made());
  }

  /** Takes over the access in `wider`, at these words, of all users but these. */
  inherit(wider: AccessSets, active: Uint32Array, but: Bitset): void {
    const takeOver = (into: Bitset, from: Bitset): void => {
      for (const index of active) addWord(into, index, wordAt(from, index) & ~wordAt(but, index));
    };
    for (const privilege of TABLE_PRIVILEGES) takeOver(this.given[privilege], wider.given[privilege]);
    for (const [conjunct, words] of wider.filters) takeOver(this.filteredBy(conjunct), words);
    for (const [column, words] of wider.hidden) takeOver(this.hiddenFrom(column), words);
    for (const [column, byText] of wider.masks)
      for (const [expression, words] of byText) takeOver(this.maskedBy(column, expression), words);
  }

  /** Makes it new again, where nothing but these words has been written to. */
  clear(active: Uint32Array): void {
    for (const words of Object.values(this.given)) for (const index of active) words[index] = 0;
    this.filters.clear();
    this.hidden.clear();
    this.masks.clear();
  }

  private made(): Bitset {
    this.budget?.spend(STEPS_PER_SET + this.width);
    return this.empty.take();
  }
}

/** To make a set and to keep it under a name. */
const STEPS_PER_SET = 100;
