import { planLine, type PlanStep } from '../grants/domain/snapshot-changes.js';
import { type ImportResult, type LineProblem, UserImportService } from '../grants/user-import.service.js';
import { rulesForUsers, writersWithoutMark } from '../rules-files/import/file-findings.js';
import { newPatternCache } from '../rules-files/foreign/audiences.js';
import { CLI_CONTEXT, applyWithProgress } from './from-database.js';
import { importBudget, readForeignRules, withinBudget } from './foreign-rules-file.js';
import { placedLines, print, printJson, printRemark, UnusableInput } from './output.js';
import { groupFileProblem, readPeople, readUserList, readUsers } from './users-file.js';

interface Options {
  /** Path of a rules file. Users whose rights in it look like those of a program get no account. */
  rules?: string;
  withRegistered?: true;
  dryRun?: true;
  json?: true;
}

/**
 * Creates accounts without passwords for a list of users, and adds them to groups. Exit code 0: done, or nothing to do; 1: refused, or a
 * dry run with changes; 2: the file cannot be read, or the database cannot be reached.
 */
export async function importUsers(path: string, { rules, withRegistered, dryRun, json }: Options): Promise<number> {
  const userList = readUserList(path);
  const problem = groupFileProblem(readUsers(userList));
  if (problem !== null) throw new UnusableInput([`${path}:${problem.line}:1 ${problem.message}`]);
  const programs = rules === undefined ? [] : await programsOf(rules, userList);
  const userEntries = readPeople(
    userList,
    programs.filter(({ isCertain }) => isCertain).map(({ name }) => name),
  );
  const options = { isDryRun: dryRun === true, acceptsRegistered: withRegistered === true };
  const result = await applyWithProgress(path, 'users import', (modules, report) =>
    modules.get(UserImportService, { strict: false }).import(userEntries, options, CLI_CONTEXT, report),
  );
  const remarks = [...programs.map(({ line, message }) => ({ line, message })), ...result.remarks];
  if (json) printJson({ ...result, remarks });
  else printImported({ ...result, remarks }, path);
  return result.outcome === 'refused' || result.outcome === 'planned' ? 1 : 0;
}

/** A user of the list that is or may be a program, by the rights that the rules give. */
interface Program extends LineProblem {
  name: string;
  isCertain: boolean;
}

/** Users that `acl import` of these rules treats as programs, and users that look like programs. @throws UnusableInput */
async function programsOf(path: string, userList: string): Promise<Program[]> {
  const rulesFile = await readForeignRules(path);
  const users = readUsers(userList).filter(({ name }) => name !== '');
  const lineOf = (name: string): number | null => users.find((user) => user.name === name)?.line ?? null;
  const budget = importBudget(rulesFile);
  return withinBudget(`${path}: the rules combine more names and users than can be compared`, () => {
    const userRules = rulesForUsers(rulesFile.rules, users, budget);
    const certainPrograms = userRules.programFindings.flatMap(({ people, what, rule, at }) => {
      const reason = `${rulesFile.placeText(path, at)} ${rule ?? ''} lets it act as others`;
      return people.map((name, i) => {
        const message = `${JSON.stringify(name)} gets no account, because ${reason}: write ${what[i] ?? ''}, or user: before the name of a person`;
        return { name, line: lineOf(name), message, isCertain: true };
      });
    });
    const likelyPrograms = [...writersWithoutMark(rulesFile.rules, userRules, newPatternCache(budget))].map(
      ([name, { at, place }]) => {
        const reason = `${rulesFile.placeText(path, at)} ${place} lets it own or write, and the list has neither an address nor a group of it`;
        const message = `${JSON.stringify(name)} looks like a program, because ${reason}: write engine:${name}, or user:${name} for a person`;
        return { name, line: lineOf(name), message, isCertain: false };
      },
    );
    return [...certainPrograms, ...likelyPrograms].sort((a, b) => (a.line ?? 0) - (b.line ?? 0));
  });
}

function printImported({ outcome, plan, problems, remarks, warnings }: ImportResult, path: string): void {
  const placedRemarks = [...remarks, ...problems].map(({ line, message }) => ({ line: line ?? 1, column: 1, message }));
  placedLines(path, placedRemarks).forEach(printRemark);
  if (outcome === 'refused') return;
  for (const warning of warnings) printRemark(warning);
  const summary =
    outcome === 'no_change'
      ? 'no change'
      : `${outcome === 'planned' ? 'would import' : 'imported'}: ${countsText(plan)}`;
  print([...plan.map(planLine), summary]);
}

function countsText(plan: readonly PlanStep[]): string {
  const countOf = (stepKind: PlanStep['kind'], noun: string): string => {
    const { length } = plan.filter(({ kind }) => kind === stepKind);
    return `${length} ${noun}${length === 1 ? '' : 's'}`;
  };
  return [countOf('user', 'account'), countOf('group', 'group'), countOf('member', 'membership')].join(', ');
}
