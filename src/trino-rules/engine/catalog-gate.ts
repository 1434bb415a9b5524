import type { Privilege } from '../model/privilege.js';
import type { ActualAccess } from './actual-access.js';
import type { CatalogModes } from './engine-sets.js';
import { wordAt, type Bitset } from './sparse-bitset.js';

/**
 * Who really has a privilege at a table: what the rules give, behind the catalog's gate. Reading needs any mode,
 * everything else the mode `all`; GRANT_SELECT contains SELECT.
 * @param into written at the active words
 */
export function effectivePrivilege(
  { given }: ActualAccess,
  privilege: Privilege,
  { all, readOnly }: CatalogModes,
  active: Uint32Array,
  into: Bitset,
): void {
  for (const index of active) {
    into[index] =
      privilege === 'SELECT'
        ? (wordAt(given.SELECT, index) | wordAt(given.GRANT_SELECT, index)) &
          (wordAt(all, index) | wordAt(readOnly, index))
        : wordAt(given[privilege], index) & wordAt(all, index);
  }
}
