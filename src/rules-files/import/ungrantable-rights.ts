import { anyName } from '../check/foreign-language.js';
import type { SectionName } from '../check/engine-format.js';
import type { ForeignRule, ForeignRules } from '../check/foreign-rules.js';
import { importFinding, type ImportFinding } from './import-finding.js';
import type { PatternCache } from '../../trino-rules/document/pattern-cache.js';
import { isJudged, type ListedUsers } from '../foreign/audiences.js';

/** Rights that Grantline never gives to people, of sections and fields that it never writes. */
export function ungrantableRights(rules: ForeignRules, listed: ListedUsers): ImportFinding[] {
  return UNGRANTABLE.flatMap((right) => {
    const found = rules.get(right.section);
    return found === undefined ? [] : givenBy(found, right, listed);
  });
}

interface UngrantableRight {
  section: SectionName;
  /** The pattern of what a rule is about besides users. */
  object: string;
  /** What a rule gives of it, for people. */
  given: (rule: ForeignRule) => string[];
  why: string;
}

const UNGRANTABLE: readonly UngrantableRight[] = [
  {
    section: 'catalogs',
    object: 'catalog',
    given: ({ gives }) => (gives.includes('owner') ? ['CREATE CATALOG and DROP CATALOG'] : []),
    why: 'nobody makes catalogs by a grant',
  },
  {
    section: 'authorization',
    object: 'new_user',
    given: (rule) => {
      const owner = textOf(rule, 'new_user') || `the role ${textOf(rule, 'new_role')}`;
      return isAllowed(rule) ? [`SET AUTHORIZATION to ${owner}`] : [];
    },
    why: 'no grant changes an owner',
  },
];

function isAllowed({ gives }: ForeignRule): boolean {
  return gives.includes('true');
}

function textOf({ patterns }: ForeignRule, field: string): string {
  return patterns.get(field)?.text ?? '';
}

/** The rules that give it to somebody for whom no earlier rule has decided about everything. */
function givenBy(
  rules: readonly ForeignRule[],
  { object, given, why }: UngrantableRight,
  listed: ListedUsers,
): ImportFinding[] {
  const decided = new Set<string>();
  return rules.flatMap((rule) => {
    const names = listed.namesOf(rule);
    const reached = names.filter((name) => !decided.has(name));
    const isForAll = anyName(object, rule.patterns.get(object)?.text) === undefined;
    if (listed.isJudged(rule) && isForAll) for (const name of names) decided.add(name);
    const what = given(rule);
    if (reached.length === 0 || what.length === 0) return [];
    return [importFinding('import-right', reached, what, why, { rule: rule.place, at: rule.at })];
  });
}

/** Users whom no rule of `principals` lets in, whatever their principal; without the section everybody is. */
export function usersWithoutPrincipal(rules: ForeignRules, listed: ListedUsers): string[] {
  const letIn = usersLetIn(rules)?.map((text) => listed.matcherOf(text));
  if (letIn === undefined) return [];
  return listed.users.map(({ name }) => name).filter((name) => !letIn.some((mayMatch) => mayMatch(name)));
}

/** Whether `principals` lets in somebody whom it does not spell out. */
export function letsJoinersIn(rules: ForeignRules, patterns: PatternCache): boolean {
  const isOpen = (text: string | undefined): boolean => !isJudged(text) || patterns.language(text).kind !== 'names';
  return usersLetIn(rules)?.some(isOpen) ?? true;
}

function usersLetIn(rules: ForeignRules): (string | undefined)[] | undefined {
  const letting = rules.get('principals')?.filter(({ gives }) => gives.includes('true'));
  return letting?.map(({ patterns }) => patterns.get('user')?.text);
}
