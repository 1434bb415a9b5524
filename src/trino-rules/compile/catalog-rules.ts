import type { CatalogRule } from '../document/rules-document.js';
import type { IntentSets } from './intent-sets.js';
import type { Part } from './rectangles.js';
import type { SiblingRules } from './sibling-rules.js';

/** Catalog modes: only users with access to something in the catalog may enter it, in the narrowest mode that allows it. */
export function catalogRules(intent: IntentSets, write: SiblingRules): CatalogRule[] {
  const { serviceAccounts } = intent.principals;
  const siblings = [...intent.root.children()].map(({ name }) => {
    const modes = intent.catalogModes(name);
    const all = modes.all.minus(serviceAccounts);
    const readOnly = modes.readOnly.minus(serviceAccounts);
    const parts: Part<Pick<CatalogRule, 'allow'>>[] = [
      { effect: { allow: 'all' }, rank: 2, must: all, may: all },
      { effect: { allow: 'read-only' }, rank: 1, must: readOnly, may: readOnly },
    ];
    return { name, parts, holders: all.or(readOnly) };
  });
  const [system, others] = [siblings.filter(isSystem), siblings.filter((sibling) => !isSystem(sibling))];
  return [...write.of(others, 'catalog', {}), ...write.of(system, 'catalog', {})];
}

/** Gets rules of its own, which are easier to find. */
function isSystem({ name }: { name: string }): boolean {
  return name === 'system';
}
