import { getOrInsert } from '../../kernel/get-or-insert.js';
import { TABLE_PRIVILEGES, type TablePrivilege } from '../document/rules-document.js';
import type { TableAccess } from '../engine/schema-comparison.js';
import { addSparse, addWord, BitsetPool, wordAt, type SparseBitset, type Bitset } from '../engine/sparse-bitset.js';
import type { Access } from '../model/intent.js';
import { PRIVILEGE_TERMS } from '../model/privilege.js';

/** Access at one node by the grants: the counterpart of `ActualAccess`, with which the proof compares it. */
export class ExpectedAccess implements TableAccess {
  readonly given: Readonly<Record<TablePrivilege, Bitset>>;
  /** Of the schemas here. */
  readonly owners: Bitset;
  /** By conjunct: an expression in its parentheses. */
  readonly filters = new Map<string, Bitset>();
  readonly hidden = new Map<string, Bitset>();
  readonly masks = new Map<string, Map<string, Bitset>>();

  private readonly empty: BitsetPool;

  constructor(width: number) {
    this.empty = new BitsetPool(width);
    const set = (): Bitset => new Uint32Array(width);
    this.owners = set();
    this.given = { SELECT: set(), INSERT: set(), DELETE: set(), UPDATE: set(), OWNERSHIP: set(), GRANT_SELECT: set() };
  }

  holders(privilege: TablePrivilege): Bitset {
    return this.given[privilege];
  }

  /** Adds the access of users that are not in it yet. */
  add(people: SparseBitset, { privileges, filters, hidden, masks }: Access): void {
    const record = (into: Bitset): void => addSparse(into, people);
    for (const privilege of privileges) {
      const { onTables, ownsSchemas } = PRIVILEGE_TERMS[privilege];
      if (onTables !== null) record(this.given[onTables]);
      if (ownsSchemas) record(this.owners);
    }
    for (const expression of filters) record(this.setOf(this.filters, `(${expression})`));
    for (const column of hidden) record(this.setOf(this.hidden, column));
    for (const { column, expression } of masks) record(this.setOf(this.masksOf(column), expression));
  }

  /** Inherits from the node above, at these words, the access of users without an entry here. */
  inherit(above: ExpectedAccess, active: Uint32Array, saidHere: Bitset): void {
    const takeOver = (into: Bitset, from: Bitset): void => {
      for (const index of active) addWord(into, index, wordAt(from, index) & ~wordAt(saidHere, index));
    };
    for (const privilege of TABLE_PRIVILEGES) takeOver(this.given[privilege], above.given[privilege]);
    for (const [text, words] of above.filters) takeOver(this.setOf(this.filters, text), words);
    for (const [column, words] of above.hidden) takeOver(this.setOf(this.hidden, column), words);
    for (const [column, byText] of above.masks) {
      for (const [text, words] of byText) takeOver(this.setOf(this.masksOf(column), text), words);
    }
  }

  /** Makes it new again; everything else has been left as it was. */
  clear(active: Uint32Array): void {
    for (const words of [this.owners, ...Object.values(this.given)]) for (const index of active) words[index] = 0;
    this.filters.clear();
    this.hidden.clear();
    this.masks.clear();
  }

  private masksOf(column: string): Map<string, Bitset> {
    return getOrInsert(this.masks, column, () => new Map<string, Bitset>());
  }

  private setOf(sets: Map<string, Bitset>, key: string): Bitset {
    return getOrInsert(sets, key, () => this.empty.take());
  }
}
