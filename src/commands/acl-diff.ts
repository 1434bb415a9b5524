import { firstNames } from '../kernel/name.js';
import { groupBy } from '../kernel/collections.js';
import { accessDiffForm, accessDiffLines } from '../trino-rules/diff/access-diff-form.js';
import { diffRules, reorderedSections } from '../trino-rules/diff/rules-diff.js';
import { WorkBudget } from '../trino-rules/document/work-budget.js';
import { diffForeign, type ForeignDiff } from '../rules-files/foreign/foreign-diff.js';
import type { ForeignRules } from '../rules-files/check/foreign-rules.js';
import { foreignPatterns, unlistedPrincipals } from '../rules-files/foreign/audiences.js';
import { readForeignRules, type ReadRulesFile, withinBudget } from './foreign-rules-file.js';
import { print, printJson, remark, Unusable } from './output.js';
import { readListedUsers, type UserLine } from './users-file.js';

const STEPS_PER_CHARACTER = 1_000;
const STEPS_AT_LEAST = 1_000_000_000;

/** Files with more characters together take more than a second to compare. */
const LARGE = 500_000;

/**
 * Prints changes from one rules file to another, in rules and in access, for everybody or the users of a list. Needs no settings. Exit
 * code 0: no change; 1: changes; 2: a file cannot be read, or a rule cannot be compared.
 */
export async function diffRulesFiles(
  before: string,
  after: string,
  { users, json }: { users?: string; json?: true },
): Promise<number> {
  const [former, next] = [await readForeignRules(before), await readForeignRules(after)];
  const listed = users === undefined ? null : readListedUsers(users);
  const compared = compare(former, next, listed);
  if (compared.kind === 'incomparable') {
    const alike = groupBy(compared.problems, ({ file, message }) => `${file} ${message}`);
    const problems = [...alike.values()].map(([{ file, rule, at, message }, ...others]) => {
      const [path, read] = file === 'before' ? [before, former] : [after, next];
      const { line, column } = read.placeOf(at);
      const more = others.length > 0 ? ` (and ${others.length} more)` : '';
      return `${path}:${line}:${column} ${rule}: ${message}${more}`;
    });
    if (users === undefined) problems.push('name the users and their groups with --users FILE');
    throw new Unusable(problems);
  }
  if (listed !== null) {
    for (const missing of notListed([former.rules, next.rules], listed)) remark(`${users}: ${missing}`);
  }
  const { access } = compared;
  const rules = diffRules(former.text, next.text);
  const isSame = [rules.added, rules.removed, access.gained, access.lost].every(({ length }) => length === 0);
  if ([...rules.added, ...rules.removed].some((rule) => rule.startsWith('principals ')))
    remark('rules of "principals" differ: which principal is which user is not compared');
  if (json) {
    printJson({ rules, access: accessDiffForm(access) });
    return isSame ? 0 : 1;
  }
  const changes = accessDiffLines(access);
  const lines = [
    ...rules.removed.map((rule) => `- ${rule}`),
    ...rules.added.map((rule) => `+ ${rule}`),
    ...reorderedSections(former.text, next.text).map((section) => `~ ${section}: rules are in another order`),
    ...changes,
  ];
  if (changes.length === 0) lines.push(lines.length === 0 ? 'no difference' : 'nobody gains or loses anything');
  print(lines);
  return isSame ? 0 : 1;
}

const MOST_NAMED = 10;

/** Remarks on users and groups that the rules name but the list lacks. Their access is not compared. */
function notListed(files: readonly ForeignRules[], listed: readonly UserLine[]): string[] {
  // No limit is needed here, because the comparison has already read the same patterns within its budget.
  const patterns = foreignPatterns(new WorkBudget(Infinity));
  const found = (type: 'users' | 'groups'): string => {
    const names = [
      ...new Set(files.flatMap((rules) => unlistedPrincipals(type, rules, listed, patterns).names)),
    ].sort();
    return firstNames(names, MOST_NAMED);
  };
  const [users, groups] = [found('users'), found('groups')];
  return [
    ...(users === '' ? [] : [`the rules name ${users}, which the list lacks: their access is not compared`]),
    ...(groups === '' ? [] : [`the rules name the groups ${groups}, in which the list has nobody`]),
  ];
}

function compare(before: ReadRulesFile, after: ReadRulesFile, users: readonly UserLine[] | null): ForeignDiff {
  const ruleCount = ({ rules }: ReadRulesFile): number => [...rules.values()].flat().length;
  if (before.text.length + after.text.length > LARGE)
    remark(`comparing ${ruleCount(before)} rules with ${ruleCount(after)}`);
  const steps = STEPS_AT_LEAST + STEPS_PER_CHARACTER * (before.text.length + after.text.length);
  return withinBudget('the rules combine more names and users than can be compared', () =>
    diffForeign(before.rules, after.rules, users, new WorkBudget(steps)),
  );
}
