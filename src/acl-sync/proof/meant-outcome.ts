import type { Access } from '../../grants/domain/intent.js';
import { PRIVILEGES, type Privilege } from '../../grants/domain/privilege.js';
import { addWord, wordAt, type Words } from './people-set.js';

/** What the grants mean at one node, to whom: the counterpart of `TableOutcome`, with which the proof compares it; they share no code. */
export class MeantOutcome {
  readonly given: Readonly<Record<Privilege, Words>>;
  /** Everybody with any privilege; whoever is not in it has no filter, no hidden column and no mask either. */
  readonly reached: Words;
  /** By conjunct: an expression in its parentheses. */
  readonly filters = new Map<string, Words>();
  readonly hidden = new Map<string, Words>();
  readonly masks = new Map<string, Map<string, Words>>();

  constructor(private readonly width: number) {
    const set = (): Words => new Uint32Array(width);
    this.reached = set();
    this.given = { SELECT: set(), INSERT: set(), DELETE: set(), UPDATE: set(), OWNERSHIP: set(), GRANT_SELECT: set() };
  }

  /** Writes down what somebody has, of whom nothing is written yet. */
  add(position: number, { privileges, filters, hidden, masks }: Access): void {
    const [index, bit] = [position >>> 5, 1 << (position & 31)];
    for (const privilege of privileges) addWord(this.given[privilege], index, bit);
    if (privileges.length > 0) addWord(this.reached, index, bit);
    for (const expression of filters) addWord(this.setOf(this.filters, `(${expression})`), index, bit);
    for (const column of hidden) addWord(this.setOf(this.hidden, column), index, bit);
    for (const { column, expression } of masks) addWord(this.setOf(this.masksOf(column), expression), index, bit);
  }

  /** Takes over, at these words, what the node above means to everybody of whom nothing is said here. */
  inherit(above: MeantOutcome, active: Uint32Array, saidHere: Words): void {
    const takeOver = (into: Words, from: Words): void => {
      for (const index of active) addWord(into, index, wordAt(from, index) & ~wordAt(saidHere, index));
    };
    for (const privilege of PRIVILEGES) takeOver(this.given[privilege], above.given[privilege]);
    takeOver(this.reached, above.reached);
    for (const [text, words] of above.filters) takeOver(this.setOf(this.filters, text), words);
    for (const [column, words] of above.hidden) takeOver(this.setOf(this.hidden, column), words);
    for (const [column, byText] of above.masks) {
      for (const [text, words] of byText) takeOver(this.setOf(this.masksOf(column), text), words);
    }
  }

  /** Makes it new again; everything else has been left as it was. */
  clear(active: Uint32Array): void {
    for (const words of [this.reached, ...Object.values(this.given)]) for (const index of active) words[index] = 0;
    this.filters.clear();
    this.hidden.clear();
    this.masks.clear();
  }

  private masksOf(column: string): Map<string, Words> {
    const known = this.masks.get(column) ?? new Map<string, Words>();
    this.masks.set(column, known);
    return known;
  }

  private setOf(sets: Map<string, Words>, key: string): Words {
    const known = sets.get(key) ?? new Uint32Array(this.width);
    sets.set(key, known);
    return known;
  }
}
