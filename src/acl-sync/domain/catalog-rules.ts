import type { Bits } from '../../grants/domain/bits.js';
import type { IntentSets } from '../../grants/domain/intent-sets.js';
import { audience } from './audience.js';
import { literal } from './name-pattern.js';
import type { CatalogRule } from './rules-document.js';

/** Who may enter a catalog: only those who can reach something in it, and no further than that needs. */
export function catalogRules(intent: IntentSets): CatalogRule[] {
  return [...intent.catalogs()].flatMap(({ resource: { catalog } }) => {
    const { all, readOnly } = intent.catalogModes(catalog);
    return [...rule(catalog, all, 'all'), ...rule(catalog, readOnly, 'read-only')];
  });

  function rule(catalog: string, people: Bits, allow: CatalogRule['allow']): CatalogRule[] {
    const others = people.minus(intent.subjects.serviceAccounts);
    return others.isEmpty() ? [] : [{ user: audience(others, intent.subjects.list), catalog: literal(catalog), allow }];
  }
}
