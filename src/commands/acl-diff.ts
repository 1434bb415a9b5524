import { namesText } from '../kernel/name.js';
import { groupBy } from '../kernel/collections.js';
import { accessDiffForm, accessDiffLines } from '../trino-rules/diff/access-diff-form.js';
import { diffRules, reorderedSections } from '../trino-rules/diff/rules-diff.js';
import { WorkBudget } from '../trino-rules/document/work-budget.js';
import { diffForeign, type ForeignDiff } from '../rules-files/foreign/foreign-diff.js';
import type { ForeignRules } from '../rules-files/check/foreign-rules.js';
import { newPatternCache, unlistedPrincipals } from '../rules-files/foreign/audiences.js';
import { readForeignRules, type ParsedRulesFile, withinBudget } from './foreign-rules-file.js';
import { print, printJson, printRemark, UnusableInput } from './output.js';
import { readListedUsers, type UserLine } from './users-file.js';

const COST_PER_CHARACTER = 1_000;
const MIN_STEPS = 1_000_000_000;

/**
 * Prints changes from one rules file to another, in rules and in access, for everybody or the users of a list. Needs no settings. Exit
 * code 0: no change; 1: changes; 2: a file cannot be read, or a rule cannot be compared.
 */
export async function diffRulesFiles(
  oldPath: string,
  newPath: string,
  { users, json }: { users?: string; json?: true },
): Promise<number> {
  const [oldFile, newFile] = [await readForeignRules(oldPath), await readForeignRules(newPath)];
  const listedUsers = users === undefined ? null : readListedUsers(users);
  const comparison = compare(oldFile, newFile, listedUsers);
  if (comparison.kind === 'incomparable') {
    const problemsByText = groupBy(comparison.problems, ({ file, message }) => `${file} ${message}`);
    const problems = [...problemsByText.values()].map(([{ file, rule, at, message }, ...otherProblems]) => {
      const [path, rulesFile] = file === 'before' ? [oldPath, oldFile] : [newPath, newFile];
      const moreText = otherProblems.length > 0 ? ` (and ${otherProblems.length} more)` : '';
      return `${rulesFile.placeText(path, at)} ${rule}: ${message}${moreText}`;
    });
    if (users === undefined) problems.push('name the users and their groups with --users FILE');
    throw new UnusableInput(problems);
  }
  if (listedUsers !== null) {
    for (const text of unlistedRemarks([oldFile.rules, newFile.rules], listedUsers)) printRemark(`${users}: ${text}`);
  }
  const { access } = comparison;
  const rulesDiff = diffRules(oldFile.text, newFile.text);
  const isEqual = [rulesDiff.added, rulesDiff.removed, access.gained, access.lost].every(({ length }) => length === 0);
  if ([...rulesDiff.added, ...rulesDiff.removed].some((rule) => rule.startsWith('principals ')))
    printRemark('rules of "principals" differ: which principal is which user is not compared');
  if (json) {
    printJson({ rules: rulesDiff, access: accessDiffForm(access) });
    return isEqual ? 0 : 1;
  }
  const accessLines = accessDiffLines(access);
  const lines = [
    ...rulesDiff.removed.map((rule) => `- ${rule}`),
    ...rulesDiff.added.map((rule) => `+ ${rule}`),
    ...reorderedSections(oldFile.text, newFile.text).map((section) => `~ ${section}: rules are in another order`),
    ...accessLines,
  ];
  if (accessLines.length === 0) lines.push(lines.length === 0 ? 'no difference' : 'nobody gains or loses anything');
  print(lines);
  return isEqual ? 0 : 1;
}

const MAX_SHOWN_NAMES = 10;

/** Remarks on users and groups that the rules name but the list lacks. Their access is not compared. */
function unlistedRemarks(files: readonly ForeignRules[], listedUsers: readonly UserLine[]): string[] {
  // No limit is needed here, because the comparison has already read the same patterns within its budget.
  const patternCache = newPatternCache(new WorkBudget(Infinity));
  const unlistedNames = (type: 'users' | 'groups'): string => {
    const names = [
      ...new Set(files.flatMap((rules) => unlistedPrincipals(type, rules, listedUsers, patternCache).names)),
    ].sort();
    return namesText(names, MAX_SHOWN_NAMES);
  };
  const [users, groups] = [unlistedNames('users'), unlistedNames('groups')];
  return [
    ...(users === '' ? [] : [`the rules name ${users}, which the list lacks: their access is not compared`]),
    ...(groups === '' ? [] : [`the rules name the groups ${groups}, in which the list has nobody`]),
  ];
}

function compare(oldFile: ParsedRulesFile, newFile: ParsedRulesFile, users: readonly UserLine[] | null): ForeignDiff {
  const maxSteps = MIN_STEPS + COST_PER_CHARACTER * (oldFile.text.length + newFile.text.length);
  return withinBudget('the rules combine more names and users than can be compared', () =>
    diffForeign(oldFile.rules, newFile.rules, users, new WorkBudget(maxSteps)),
  );
}
