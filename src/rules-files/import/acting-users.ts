import type { PatternCache } from '../../trino-rules/document/pattern-cache.js';
import { FRESH_PREFIX } from '../../trino-rules/document/open-names.js';
import type { RulesDocument } from '../../trino-rules/document/rules-document.js';
import { Evaluator } from '../../trino-rules/engine/evaluator.js';
import { canBeImpersonated } from '../../trino-rules/model/acting.js';
import type { ListedUser } from '../foreign/audiences.js';

/** An engine principal, and the listed users whom it acts as; with `everyone`, also those that join later. */
export interface ActingUser {
  name: string;
  as: string[] | 'everyone';
}

/** Whom the engine principals of a list act as. Nobody acts as one that acts as others, whatever the rules say. */
export function actingUsers(
  document: RulesDocument,
  listed: readonly ListedUser[],
  patterns: PatternCache,
): ActingUser[] {
  if (document.impersonation.length === 0) return [];
  const evaluator = new Evaluator(document, patterns);
  const names = [...new Set(listed.map(({ name }) => name))].filter(canBeImpersonated);
  const engines = [...new Set(listed.filter(({ isEngine }) => isEngine === true).map(({ name }) => name))];
  const othersOf = (actor: string): string[] =>
    names.filter((name) => name !== actor && evaluator.mayImpersonate(actor, name));
  const actors = new Set(engines.filter((name) => othersOf(name).length > 0));
  const open = names.filter((name) => !actors.has(name));
  return [...actors].flatMap((name): ActingUser[] => {
    const as = othersOf(name).filter((other) => !actors.has(other));
    if (as.length === 0) return [];
    const isEverybody = as.length === open.length && evaluator.mayImpersonate(name, FRESH_PREFIX);
    return [{ name, as: isEverybody ? 'everyone' : as }];
  });
}
