import { getOrInsert } from '../../kernel/get-or-insert.js';
import type { PatternCache } from '../../trino-rules/document/pattern-cache.js';
import type { Evaluator } from '../../trino-rules/engine/evaluator.js';
import { canBeImpersonated } from '../../trino-rules/model/acting.js';
import type { ForeignRule, ForeignRules } from '../check/foreign-rules.js';
import { isJudged, type ListedUser, type ListedUsers } from '../foreign/audiences.js';
import { importFinding, type ImportFinding } from './import-finding.js';
import type { ListedRules } from './listed-rules.js';

/**
 * The users of a list, with those marked as programs whom the list does not mark and a rule of `impersonation` names and lets act as
 * another of them; and a finding for each such rule. A pattern that matches everybody is about people, and names nobody.
 */
export function withPrograms(
  rules: ForeignRules,
  { document, sourceOf }: Pick<ListedRules, 'document' | 'sourceOf'>,
  listed: ListedUsers,
  evaluator: Evaluator,
  patterns: PatternCache,
): { users: readonly ListedUser[]; findings: ImportFinding[] } {
  const naming = new Map<ForeignRule, Set<string>>();
  for (const rule of rules.get('impersonation') ?? []) {
    const text = rule.patterns.get('original_user')?.text;
    if (text === undefined || !isJudged(text) || !rule.gives.includes('true')) continue;
    const named = new Set(listed.namesOf(rule));
    const isOfSome = named.size < listed.users.length || patterns.language(text).kind === 'names';
    if (isOfSome) naming.set(rule, named);
  }
  const targets = listed.users.map(({ name }) => name).filter(canBeImpersonated);
  const programs = new Map<ForeignRule, ListedUser[]>();
  const users = listed.users.map((user) => {
    const { name: original_user, isEngine } = user;
    if (isEngine !== undefined || ![...naming.values()].some((named) => named.has(original_user))) return user;
    for (const new_user of targets) {
      const index = evaluator.first.index(document.impersonation, { original_user, new_user });
      const deciding = document.impersonation[index ?? -1];
      const rule = deciding?.allow === true ? sourceOf(deciding) : null;
      if (new_user === original_user || rule === null || !naming.has(rule)) continue;
      getOrInsert(programs, rule, () => []).push(user);
      return { ...user, isEngine: true };
    }
    return user;
  });
  const why =
    'this rule lets it act as others; write it so into the list, for "users import" to make no account, and user: before the name of a person';
  return {
    users,
    findings: [...programs].map(([{ place, at }, found]) =>
      importFinding(
        'import-program',
        found.map(({ name }) => name),
        found.map(lineOf),
        why,
        { rule: place, at },
      ),
    ),
  };
}

/** As the list marks it. */
function lineOf({ name, groups }: ListedUser): string {
  return `engine:${name}${groups.length === 0 ? '' : `: ${groups.join(', ')}`}`;
}
