import { READERS_FILTER, type TablePrivilege } from '../document/rules-document.js';
import { AccessSets } from '../engine/access-sets.js';
import type { TableAccess } from '../engine/schema-comparison.js';
import { addSparse, type SparseBitset, type Bitset } from '../engine/sparse-bitset.js';
import { type Access, readsAlone } from '../model/intent.js';
import { PRIVILEGE_TERMS } from '../model/privilege.js';

/** Access at one node by the grants: the counterpart of `ActualAccess`, with which the proof compares it. */
export class ExpectedAccess implements TableAccess {
  readonly sets: AccessSets;
  /** Of the schemas here. */
  readonly owners: Bitset;

  /** @param isOpenToReaders whether those who only read keep table procedures */
  constructor(
    width: number,
    private readonly isOpenToReaders: boolean,
  ) {
    this.sets = new AccessSets(width, null);
    this.owners = new Uint32Array(width);
  }

  holders(privilege: TablePrivilege): Bitset {
    return this.sets.given[privilege];
  }

  /** Adds the access of users that are not in it yet. */
  add(people: SparseBitset, access: Access): void {
    const { privileges, filters, hidden, masks } = access;
    const record = (into: Bitset): void => addSparse(into, people);
    for (const privilege of privileges) {
      const { onTables, ownsSchemas } = PRIVILEGE_TERMS[privilege];
      if (onTables !== null) record(this.sets.given[onTables]);
      if (ownsSchemas) record(this.owners);
    }
    if (!this.isOpenToReaders && filters.length === 0 && readsAlone(access))
      record(this.sets.filteredBy(READERS_FILTER));
    for (const expression of filters) record(this.sets.filteredBy(`(${expression})`));
    for (const column of hidden) record(this.sets.hiddenFrom(column));
    for (const { column, expression } of masks) record(this.sets.maskedBy(column, expression));
  }

  /** Inherits from the node above, at these words, the access of users without an entry here. */
  inherit(above: ExpectedAccess, active: Uint32Array, saidHere: Bitset): void {
    this.sets.inherit(above.sets, active, saidHere);
  }

  /** Makes it new again; everything else has been left as it was. */
  clear(active: Uint32Array): void {
    for (const index of active) this.owners[index] = 0;
    this.sets.clear(active);
  }
}
