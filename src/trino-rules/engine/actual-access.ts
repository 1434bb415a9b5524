import { getOrInsert } from '../../kernel/get-or-insert.js';
import { TABLE_PRIVILEGES, type TablePrivilege, type TableRule } from '../document/rules-document.js';
import type { WorkBudget } from '../document/work-budget.js';
import type { CatalogModes } from './engine-sets.js';
import type { TableAccess } from './schema-comparison.js';
import { addWord, BitsetPool, wordAt, type SparseBitset, type Bitset } from './sparse-bitset.js';

/** Access at one table by the first rule that matches each user. Sets are written word by word, only at the words asked about. */
export class ActualAccess implements TableAccess {
  /** Users that a rule has matched so far. */
  readonly decided: Bitset;
  readonly given: Readonly<Record<TablePrivilege, Bitset>>;
  /** By conjunct: in which order a text joins them is all the same. */
  readonly filters = new Map<string, Bitset>();
  readonly hidden = new Map<string, Bitset>();
  readonly masks = new Map<string, Map<string, Bitset>>();
  private readonly hitAt: Uint32Array;
  private readonly hitWords: Bitset;
  private readonly effective: Bitset;
  private readonly empty: BitsetPool;

  constructor(
    private readonly width: number,
    private readonly budget: WorkBudget,
    private readonly modes: CatalogModes,
  ) {
    this.empty = new BitsetPool(width);
    const set = (): Bitset => new Uint32Array(width);
    this.decided = set();
    this.given = { SELECT: set(), INSERT: set(), DELETE: set(), UPDATE: set(), OWNERSHIP: set(), GRANT_SELECT: set() };
    this.hitAt = set();
    this.hitWords = set();
    this.effective = set();
  }

  /** Applies a rule to those of its users that neither an earlier rule here nor one of `before` has matched. */
  decide(rule: TableRule, people: SparseBitset, before: Bitset | null): void {
    const hits = this.hit(people, before);
    if (hits === 0) return;
    for (const privilege of rule.privileges) this.record(this.given[privilege], hits);
    for (const conjunct of rule.filter === undefined ? [] : conjuncts(rule.filter))
      this.record(this.setOf(this.filters, conjunct), hits);
    for (const { name, allow, mask } of rule.columns ?? []) {
      if (allow === false) this.record(this.setOf(this.hidden, name), hits);
      // The engine gives the mask of a hidden column, too.
      if (mask !== undefined) this.record(this.setOf(this.masksOf(name), mask), hits);
    }
  }

  /**
   * Behind the catalog's gate: reading needs any mode, everything else the mode `all`; GRANT_SELECT contains SELECT. Written
   * over by the next call.
   */
  holders(privilege: TablePrivilege, active: Uint32Array): Bitset {
    const { SELECT, GRANT_SELECT } = this.given;
    const { all, readOnly } = this.modes;
    for (const index of active) {
      this.effective[index] =
        privilege === 'SELECT'
          ? (wordAt(SELECT, index) | wordAt(GRANT_SELECT, index)) & (wordAt(all, index) | wordAt(readOnly, index))
          : wordAt(this.given[privilege], index) & wordAt(all, index);
    }
    return this.effective;
  }

  /** Inherits the access in `wider`, at these words, of users that no rule here has matched. */
  inherit(wider: ActualAccess, active: Uint32Array): void {
    for (const privilege of TABLE_PRIVILEGES) this.takeOver(this.given[privilege], wider.given[privilege], active);
    for (const [text, words] of wider.filters) this.takeOver(this.setOf(this.filters, text), words, active);
    for (const [column, words] of wider.hidden) this.takeOver(this.setOf(this.hidden, column), words, active);
    for (const [column, byText] of wider.masks) {
      const masks = this.masksOf(column);
      for (const [text, words] of byText) this.takeOver(this.setOf(masks, text), words, active);
    }
  }

  /** Makes it new again; everything else has been left as it was. */
  clear(active: Uint32Array): void {
    for (const words of [this.decided, ...Object.values(this.given)]) for (const index of active) words[index] = 0;
    this.filters.clear();
    this.hidden.clear();
    this.masks.clear();
  }

  private hit({ at, words }: SparseBitset, before: Bitset | null): number {
    let hits = 0;
    for (let i = 0; i < at.length; i++) {
      const index = wordAt(at, i);
      const taken = wordAt(this.decided, index) | (before === null ? 0 : wordAt(before, index));
      const hit = wordAt(words, i) & ~taken;
      if (hit === 0) continue;
      addWord(this.decided, index, hit);
      this.hitAt[hits] = index;
      this.hitWords[hits++] = hit;
    }
    return hits;
  }

  private record(into: Bitset, hits: number): void {
    for (let i = 0; i < hits; i++) addWord(into, wordAt(this.hitAt, i), wordAt(this.hitWords, i));
  }

  private takeOver(into: Bitset, wider: Bitset, active: Uint32Array): void {
    for (const index of active) addWord(into, index, wordAt(wider, index) & ~wordAt(this.decided, index));
  }

  private masksOf(column: string): Map<string, Bitset> {
    return getOrInsert(this.masks, column, () => new Map<string, Bitset>());
  }

  private setOf(sets: Map<string, Bitset>, key: string): Bitset {
    return getOrInsert(sets, key, () => {
      this.budget.spend(STEPS_PER_SET + this.width);
      return this.empty.take();
    });
  }
}

/** To make a set and to keep it under a name. */
const STEPS_PER_SET = 100;

/**
 * The conjuncts of a row filter as the compiler joins them, `(a) AND (b)`, each in its parentheses; any other text is one.
 * Joined again they are the text itself, so that a filter whose conjuncts are expressions that were written is their conjunction.
 */
export function conjuncts(filter: string): string[] {
  const parts: string[] = [];
  let begin = 0;
  let depth = 0;
  let quote = '';
  for (let at = 0; at < filter.length; at++) {
    const sign = filter.charAt(at);
    if (quote !== '') {
      if (sign === quote) quote = '';
      continue;
    }
    if (sign === "'" || sign === '"') quote = sign;
    if (sign === '(') depth++;
    if (sign === ')') depth--;
    if (depth > 0) continue;
    // Outside all parentheses: only the end of a conjunct is expected here, and the operator before the next.
    if (sign !== ')') return [filter];
    parts.push(filter.slice(begin, at + 1));
    if (at + 1 === filter.length) return parts;
    if (!filter.startsWith(JOINT, at + 1)) return [filter];
    begin = at + 1 + JOINT.length;
    at = begin - 1;
  }
  return [filter];
}

const JOINT = ' AND ';
