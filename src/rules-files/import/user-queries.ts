import type { PatternCache } from '../../trino-rules/document/pattern-cache.js';
import { NO_RULES, type RulesDocument } from '../../trino-rules/document/rules-document.js';
import { Evaluator } from '../../trino-rules/engine/evaluator.js';
import { isAny } from './nearly-any.js';

export type QueryPrivilege = 'VIEW_QUERIES' | 'KILL_QUERIES';

/** What a user may do with the queries of others. */
export interface UserQueries {
  /** With those of all. */
  ofAll: QueryPrivilege[];
  /** With those of these listed users, or with those of all but these. */
  ofSome: { owners: string[]; privileges: QueryPrivilege[]; isDenied: boolean }[];
}

const RIGHTS = [
  ['view', 'VIEW_QUERIES'],
  ['kill', 'KILL_QUERIES'],
] as const;

/**
 * By the rules that are about one user. Of owners whom a pattern matches those whom the list has: where it is all but some, these must
 * be spelled out, so that nobody who comes later is among them.
 */
export function userQueries(
  { queries }: Pick<RulesDocument, 'queries'>,
  user: string,
  listed: readonly string[],
  patterns: PatternCache,
): UserQueries {
  const found: UserQueries = { ofAll: [], ofSome: [] };
  const about = queries.slice(0, queries.findIndex(({ queryOwner }) => isAny(queryOwner)) + 1);
  const evaluator = new Evaluator({ ...NO_RULES, queries }, patterns);
  const isListed = new Set(listed);
  for (const [right, privilege] of RIGHTS) {
    const refusing = about.filter(({ allow }) => !allow.includes(right));
    const isOfAll =
      about.length > 0 &&
      refusing.every(({ queryOwner }) => {
        const language = patterns.language(queryOwner);
        return language.kind === 'names' && [...language.names].every((name) => isListed.has(name));
      });
    if (isOfAll) found.ofAll.push(privilege);
    // Without such a rule, it is had over all or over none.
    if (queries.every(({ queryOwner }) => isAny(queryOwner))) continue;
    const owners = listed.filter((owner) => evaluator.mayWithQueries(user, right, owner) !== isOfAll);
    if (owners.length === 0) continue;
    const alike = found.ofSome.find((each) => each.isDenied === isOfAll && each.owners.join() === owners.join());
    if (alike === undefined) found.ofSome.push({ owners, privileges: [privilege], isDenied: isOfAll });
    else alike.privileges.push(privilege);
  }
  return found;
}

/** Without what is about one's own alone, which the engine opens without asking. */
export function ofOthers({ ofAll, ofSome }: UserQueries, user: string): UserQueries {
  return { ofAll, ofSome: ofSome.filter(({ owners }) => owners.some((owner) => owner !== user)) };
}
