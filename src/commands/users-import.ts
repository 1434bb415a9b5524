import { planLine, type PlanStep } from '../grants/domain/snapshot-changes.js';
import { type Imported, type LineProblem, UserImportService } from '../grants/user-import.service.js';
import { rulesForUsers, writersWithoutMark } from '../rules-files/import/file-findings.js';
import { foreignPatterns } from '../rules-files/foreign/audiences.js';
import { BY_COMMAND, applyWithProgress } from './from-database.js';
import { importBudget, readForeignRules, withinBudget } from './foreign-rules-file.js';
import { placedLines, print, printJson, remark, Unusable } from './output.js';
import { groupFileProblem, readPeople, readUserList, readUsers } from './users-file.js';

interface Options {
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
  const list = readUserList(path);
  const problem = groupFileProblem(readUsers(list));
  if (problem !== null) throw new Unusable([`${path}:${problem.line}:1 ${problem.message}`]);
  const programs = rules === undefined ? [] : await programsOf(rules, list);
  const entries = readPeople(
    list,
    programs.filter(({ isTaken }) => isTaken).map(({ name }) => name),
  );
  const options = { dryRun: dryRun === true, withRegistered: withRegistered === true };
  const imported = await applyWithProgress(path, 'users import', (modules, report) =>
    modules.get(UserImportService, { strict: false }).import(entries, options, BY_COMMAND, report),
  );
  const remarks = [...programs.map(({ line, message }) => ({ line, message })), ...imported.remarks];
  if (json) printJson({ ...imported, remarks });
  else printImported({ ...imported, remarks }, path);
  return imported.outcome === 'refused' || imported.outcome === 'planned' ? 1 : 0;
}

/** A user of the list that, by the rules, is or may be a program. */
interface Program extends LineProblem {
  name: string;
  /** Whether the user counts as a program and gets no account. */
  isTaken: boolean;
}

/** Users that `acl import` of these rules treats as programs, and users that look like programs. @throws Unusable */
async function programsOf(path: string, list: string): Promise<Program[]> {
  const file = await readForeignRules(path);
  const users = readUsers(list).filter(({ name }) => name !== '');
  const lineOf = (name: string): number | null => users.find((user) => user.name === name)?.line ?? null;
  const placeText = (at: number, rule: string | null): string => {
    const { line, column } = file.placeOf(at);
    return `${path}:${line}:${column} ${rule ?? ''}`;
  };
  const budget = importBudget(file);
  return withinBudget(`${path}: the rules combine more names and users than can be compared`, () => {
    const known = rulesForUsers(file.rules, users, budget);
    const taken = known.programs.flatMap(({ people, what, rule, at }) => {
      const why = `${placeText(at, rule)} lets it act as others`;
      return people.map((name, i) => {
        const message = `${JSON.stringify(name)} gets no account, because ${why}: write ${what[i] ?? ''}, or user: before the name of a person`;
        return { name, line: lineOf(name), message, isTaken: true };
      });
    });
    const writers = [...writersWithoutMark(file.rules, known, foreignPatterns(budget))].map(([name, { at, place }]) => {
      const why = `${placeText(at, place)} lets it own or write, and the list has neither an address nor a group of it`;
      const message = `${JSON.stringify(name)} looks like a program, because ${why}: write engine:${name}, or user:${name} for a person`;
      return { name, line: lineOf(name), message, isTaken: false };
    });
    return [...taken, ...writers].sort((a, b) => (a.line ?? 0) - (b.line ?? 0));
  });
}

function printImported({ outcome, plan, problems, remarks, warnings }: Imported, path: string): void {
  const placed = [...remarks, ...problems].map(({ line, message }) => ({ line: line ?? 1, column: 1, message }));
  placedLines(path, placed).forEach(remark);
  if (outcome === 'refused') return;
  for (const warning of warnings) remark(warning);
  const summary =
    outcome === 'no_change'
      ? 'no change'
      : `${outcome === 'planned' ? 'would import' : 'imported'}: ${countsText(plan)}`;
  print([...plan.map(planLine), summary]);
}

function countsText(plan: readonly PlanStep[]): string {
  const count = (of: PlanStep['kind'], one: string): string => {
    const { length } = plan.filter(({ kind }) => kind === of);
    return `${length} ${one}${length === 1 ? '' : 's'}`;
  };
  return [count('user', 'account'), count('group', 'group'), count('member', 'membership')].join(', ');
}
