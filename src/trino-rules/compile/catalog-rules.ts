import type { CatalogRule } from '../document/rules-document.js';
import type { CatalogModes } from './catalog-walk.js';
import { SYSTEM } from './engine-terms.js';
import type { IntentSets } from './intent-sets.js';
import type { Sibling } from './rectangles.js';
import type { SiblingRules } from './sibling-rules.js';

/** Catalog rules: users with access to something in a catalog may enter it, in the narrowest mode. Named catalogs come first. */
export function catalogRules(intent: IntentSets, write: SiblingRules): CatalogRule[] {
  const { none, serviceAccounts } = intent.principals;
  const nobody = { all: none, readOnly: none };
  const siblings = [...intent.root.children()].map(({ name }) =>
    // `system` gets explicit rules, independent of access elsewhere.
    sibling(name, intent.catalogModes(name), name === SYSTEM ? nobody : intent.otherModes),
  );
  const system = siblings.filter(({ name }) => name === SYSTEM);
  const others = siblings.filter(({ name }) => name !== SYSTEM);
  return [
    ...write.of(others, 'catalog', {}),
    ...write.of(system, 'catalog', {}),
    ...write.of([sibling('', intent.otherModes, nobody)], 'everything', {}),
  ];

  /** @param otherwise the modes that the next broader rule gives */
  function sibling(name: string, modes: CatalogModes, otherwise: CatalogModes): Sibling<Pick<CatalogRule, 'allow'>> {
    const all = modes.all.minus(serviceAccounts);
    const readOnly = modes.readOnly.minus(serviceAccounts);
    const holders = all.or(readOnly);
    const shut = intent.otherModes.all.or(intent.otherModes.readOnly).minus(holders);
    const parts = [
      { effect: { allow: 'all' }, rank: 2, must: all.minus(otherwise.all), may: all },
      { effect: { allow: 'read-only' }, rank: 1, must: readOnly.minus(otherwise.readOnly), may: readOnly },
      { effect: { allow: 'none' }, rank: 0, must: shut, may: shut },
    ] as const;
    return { name, parts, holders };
  }
}
