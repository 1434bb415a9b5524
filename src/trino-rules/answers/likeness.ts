import { type Principal, principalText } from '../model/principal.js';
import type { AccessIndex } from './access-index.js';

/**
 * The same text for principals that have the same access by these indexes: users whom no entry names, in the same groups of those that
 * one names. Null for all others.
 * @param more what else must be the same, by JSON
 */
export function likenessIn(
  indexes: readonly AccessIndex[],
): (principal: Principal, more?: readonly unknown[]) => string | null {
  const entries = indexes.flatMap(({ snapshot: { grants, policies } }) => [...grants, ...policies]);
  const principals = entries.flatMap((entry) => [entry.principal, ...('except' in entry ? entry.except : [])]);
  const named = new Set(principals.map(principalText));
  return (principal, more = []) => {
    if (principal.type !== 'user' || named.has(principalText(principal))) return null;
    const groups = indexes.map((index) =>
      index.groupsWith(principal).flatMap(({ id }) => (named.has(principalText({ type: 'group', id })) ? [id] : [])),
    );
    return JSON.stringify([indexes.map((index) => index.principals.user(principal.id)?.isActive), groups, more]);
  };
}
