import type { TablePrivilege, TableRule } from '../document/rules-document.js';
import type { WorkBudget } from '../document/work-budget.js';
import { AccessSets } from './access-sets.js';
import type { CatalogModes } from './engine-sets.js';
import type { TableAccess } from './schema-comparison.js';
import { addWord, wordAt, type SparseBitset, type Bitset } from './sparse-bitset.js';

/** Access at one table by the first rule that matches each user. Sets are written word by word, only at the words asked about. */
export class ActualAccess implements TableAccess {
  /** Users that a rule has matched so far. */
  readonly decided: Bitset;
  readonly sets: AccessSets;
  private readonly hitAt: Uint32Array;
  private readonly hitWords: Bitset;
  private readonly effective: Bitset;

  constructor(
    width: number,
    budget: WorkBudget,
    private readonly modes: CatalogModes,
  ) {
    this.sets = new AccessSets(width, budget);
    const set = (): Bitset => new Uint32Array(width);
    this.decided = set();
    this.hitAt = set();
    this.hitWords = set();
    this.effective = set();
  }

  /** Applies a rule to those of its users that neither an earlier rule here nor one of `before` has matched. */
  decide(rule: TableRule, people: SparseBitset, before: Bitset | null): void {
    const hits = this.hit(people, before);
    if (hits === 0) return;
    for (const privilege of rule.privileges) this.record(this.sets.given[privilege], hits);
    for (const conjunct of rule.filter === undefined ? [] : conjuncts(rule.filter))
      this.record(this.sets.filteredBy(conjunct), hits);
    for (const { name, allow, mask } of rule.columns ?? []) {
      if (allow === false) this.record(this.sets.hiddenFrom(name), hits);
      // The engine gives the mask of a hidden column, too.
      if (mask !== undefined) this.record(this.sets.maskedBy(name, mask), hits);
    }
  }

  /**
   * Behind the catalog's gate: reading needs any mode, everything else the mode `all`; GRANT_SELECT contains SELECT. Written
   * over by the next call.
   */
  holders(privilege: TablePrivilege, active: Uint32Array): Bitset {
    const { given } = this.sets;
    const { all, readOnly } = this.modes;
    for (const index of active) {
      this.effective[index] =
        privilege === 'SELECT'
          ? (wordAt(given.SELECT, index) | wordAt(given.GRANT_SELECT, index)) &
            (wordAt(all, index) | wordAt(readOnly, index))
          : wordAt(given[privilege], index) & wordAt(all, index);
    }
    return this.effective;
  }

  /** Inherits the access in `wider`, at these words, of users that no rule here has matched. */
  inherit(wider: ActualAccess, active: Uint32Array): void {
    this.sets.inherit(wider.sets, active, this.decided);
  }

  /** Makes it new again; everything else has been left as it was. */
  clear(active: Uint32Array): void {
    for (const index of active) this.decided[index] = 0;
    this.sets.clear(active);
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
}

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
