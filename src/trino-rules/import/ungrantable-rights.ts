import { anyName } from '../check/foreign-language.js';
import type { SectionName } from '../check/engine-format.js';
import type { ForeignRule, ForeignRules } from '../check/foreign-rules.js';
import { importFinding, type ImportFinding } from './import-finding.js';
import type { ListedUsers } from '../foreign/audiences.js';

/** Rights that Grantline never gives to people, of sections and fields that it never writes. */
export function ungrantableRights(rules: ForeignRules, at: number, listed: ListedUsers): ImportFinding[] {
  const given = (
    section: SectionName,
    object: string | null,
    rights: (rule: ForeignRule) => string[],
    why: string,
  ): ImportFinding[] => {
    const decided = new Set<string>();
    return (rules.get(section) ?? []).flatMap((rule) => {
      const names = listed.namesOf(rule);
      const reached = names.filter((name) => !decided.has(name));
      const isForAll = object === null || anyName(object, rule.patterns.get(object)?.text) === undefined;
      if (listed.isJudged(rule) && isForAll) for (const name of names) decided.add(name);
      const what = rights(rule);
      if (reached.length === 0 || what.length === 0) return [];
      return [importFinding('import-right', reached, what, why, { rule: rule.place, at: rule.at })];
    });
  };
  const allowed = (rule: ForeignRule, what: string): string[] => (rule.gives.includes('true') ? [what] : []);
  const text = ({ patterns }: ForeignRule, key: string): string => patterns.get(key)?.text ?? '';
  return [
    ...given(
      'catalogs',
      'catalog',
      ({ gives }) => (gives.includes('owner') ? ['CREATE CATALOG and DROP CATALOG'] : []),
      'nobody makes catalogs by a grant',
    ),
    ...given(
      'queries',
      'queryOwner',
      (rule) =>
        rule.patterns.has('queryOwner')
          ? rule.gives.map((right) => `${right} queries of ${text(rule, 'queryOwner')}`)
          : [],
      "nobody views or kills another user's queries",
    ),
    ...given(
      'impersonation',
      'new_user',
      (rule) => allowed(rule, `impersonate ${text(rule, 'new_user')}`),
      'only service accounts impersonate',
    ),
    ...(rules.has('principals') && !rules.has('impersonation')
      ? [
          importFinding(
            'import-right',
            listed.users.map(({ name }) => name),
            ['impersonate everybody'],
            'only service accounts impersonate',
            { rule: null, at },
          ),
        ]
      : []),
    ...given(
      'system_information',
      null,
      ({ gives }) => gives.map((right) => `${right} system information`),
      'no grant is about the engine itself',
    ),
    ...given(
      'authorization',
      'new_user',
      (rule) => allowed(rule, `SET AUTHORIZATION to ${text(rule, 'new_user') || `the role ${text(rule, 'new_role')}`}`),
      'no grant changes an owner',
    ),
  ];
}

/**
 * Users whom no rule of `principals` lets in, whatever their principal; without the section everybody is.
 */
export function usersWithoutPrincipal(rules: ForeignRules, listed: ListedUsers): string[] {
  const principals = rules.get('principals');
  if (principals === undefined) return [];
  const letsIn = ({ patterns, gives }: ForeignRule, name: string): boolean =>
    gives.includes('true') && listed.mayMatch(patterns.get('user')?.text, name);
  return listed.users.map(({ name }) => name).filter((name) => !principals.some((rule) => letsIn(rule, name)));
}
