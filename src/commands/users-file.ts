import { isUtf8 } from 'node:buffer';
import type { ListedUser } from '../rules-files/foreign/audiences.js';
import { readBytes } from './files.js';
import { UnusableInput } from './output.js';

export interface UserLine extends ListedUser {
  line: number;
}

/** Prefixes of a name, and whether each marks an engine principal. */
const MARK_PREFIXES = { 'engine:': true, 'user:': false };

/** One line of the list, with the e-mail address between its angle brackets. */
export interface UserEntry extends UserLine {
  email: string | null;
}

/**
 * Reads one user per line: the name, an e-mail address in angle brackets, and after a colon and a space the user's groups on the engine,
 * as in `ana <ana@example.org>: analysts, sales`. `engine:` before a name marks an engine principal (a program), and
 * `user:` or an address marks a person. Blank lines and lines that begin with `#` are skipped.
 */
function readUserEntries(text: string): UserEntry[] {
  return entryLines(text).map(({ text: entryText, line }) => {
    const [, namePart = entryText, groupList = ''] = /^(.*?)\s*:(?:\s+(.*))?$/.exec(entryText) ?? [];
    const [, markedName = namePart, email = null] = /^(.*?)\s*<([^<>]*)>$/.exec(namePart) ?? [];
    const [mark = '', engineMark] = Object.entries(MARK_PREFIXES).find(([each]) => markedName.startsWith(each)) ?? [];
    const isEngine = engineMark ?? (email === null ? undefined : false);
    const groups = groupList
      .split(',')
      .map((group) => group.trim())
      .filter((group) => group !== '');
    return { name: markedName.slice(mark.length), email, groups, line, ...(isEngine !== undefined && { isEngine }) };
  });
}

/**
 * The lines about people. Engine principals are left out, because they have no accounts.
 * @param programNames names of further engine principals, which the list does not mark
 */
export function readPeople(text: string, programNames: readonly string[] = []): UserEntry[] {
  const engineNames = readUsers(text).flatMap(({ name, isEngine }) => (isEngine === true ? [name] : []));
  const enginePrincipals = new Set([...engineNames, ...programNames]);
  return readUserEntries(text).filter(({ name }) => !enginePrincipals.has(name));
}

/** The users of a list, without e-mail addresses. A user on several lines has the groups of all those lines. */
export function readUsers(text: string): UserLine[] {
  const users = new Map<string, UserLine>();
  for (const { name, groups, line, isEngine } of readUserEntries(text)) {
    const knownUser = users.get(name);
    const engineMark = isEngine === true || knownUser?.isEngine === true ? true : (isEngine ?? knownUser?.isEngine);
    users.set(name, {
      name,
      groups: [...(knownUser?.groups ?? []), ...groups],
      line: knownUser?.line ?? line,
      ...(engineMark !== undefined && { isEngine: engineMark }),
    });
  }
  return [...users.values()];
}

/** Reads the text of a list of users, or of another file of names. @throws UnusableInput */
export function readUserList(path: string): string {
  const bytes = readBytes(path);
  if (!isUtf8(bytes)) throw new UnusableInput([`${path}: is not UTF-8, so its names cannot be told`]);
  return bytes.toString();
}

export function readListedUsers(path: string): UserLine[] {
  const users = readUsers(readUserList(path));
  const problem = listProblem(users);
  if (problem !== null) throw new UnusableInput([`${path}:${problem.line}:1 ${problem.message}`]);
  return users;
}

/** The problem of a list that is empty, lacks a name, or has another format; null: there is none. */
export function listProblem(users: readonly UserLine[]): { line: number; message: string } | null {
  if (users.length === 0) return { line: 1, message: 'there is no user in it' };
  const namelessUser = users.find(({ name }) => name === '');
  return namelessUser === undefined
    ? groupFileProblem(users)
    : { line: namelessUser.line, message: 'there is no name before the colon' };
}

/** The problem of a list that looks like the engine's group file, with lines `group:user,user`; null: it does not. */
export function groupFileProblem(users: readonly UserLine[]): { line: number; message: string } | null {
  const unmarkedUsers = users.filter(({ isEngine }) => isEngine === undefined);
  const hasOnlyGroupLines =
    users.length > 0 && users.every(({ name, isEngine }) => isEngine === undefined && /^[^:]+:[^:]+$/.test(name));
  const suspectUser = hasOnlyGroupLines ? users[0] : unmarkedUsers.find(({ name }) => /^[^:]+:[^:]*,/.test(name));
  return suspectUser === undefined
    ? null
    : { line: suspectUser.line, message: `${JSON.stringify(suspectUser.name)} ${GROUP_FILE_PROBLEM}` };
}

const GROUP_FILE_PROBLEM =
  "looks like a line of the engine's group file (group:user,user): a list has one user a line, and the user's groups behind a colon " +
  'and a blank (ana: analysts, sales); write user: before a name with a colon';

/** The trimmed lines of a list, without blank ones and those that begin with `#`. */
export function entryLines(text: string): { text: string; line: number }[] {
  return text
    .replace(/^\ufeff/, '')
    .split(/\r?\n/)
    .map((entryText, i) => ({ text: entryText.trim(), line: i + 1 }))
    .filter((entry) => entry.text !== '' && !entry.text.startsWith('#'));
}
