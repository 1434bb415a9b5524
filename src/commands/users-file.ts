import { isUtf8 } from 'node:buffer';
import type { ListedUser } from '../rules-files/foreign/audiences.js';
import { bytesOf } from './files.js';
import { Unusable } from './output.js';

/** A listed user and the line of the file. */
export interface UserLine extends ListedUser {
  line: number;
}

/** Before a name: whether the user is an engine principal. */
const MARKS = { 'engine:': true, 'user:': false };

/** One line of the list, with the e-mail address of its angle brackets. */
export interface UserEntry extends UserLine {
  email: string | null;
}

/**
 * A user a line, with the user's e-mail address in angle brackets, and the groups that the engine gives the user behind a colon and a
 * space: `ana <ana@example.org>: analysts, sales`. Before the name of an engine principal stands `engine:`; `user:` and an address mark a
 * person. Blank lines and lines that begin with `#` are skipped.
 */
function readUserEntries(text: string): UserEntry[] {
  return entryLines(text).map(({ text: written, line }) => {
    const [, head = written, list = ''] = /^(.*?)\s*:(?:\s+(.*))?$/.exec(written) ?? [];
    const [, marked = head, email = null] = /^(.*?)\s*<([^<>]*)>$/.exec(head) ?? [];
    const [mark = '', ofMark] = Object.entries(MARKS).find(([each]) => marked.startsWith(each)) ?? [];
    const isEngine = ofMark ?? (email === null ? undefined : false);
    const groups = list
      .split(',')
      .map((group) => group.trim())
      .filter((group) => group !== '');
    return { name: marked.slice(mark.length), email, groups, line, ...(isEngine !== undefined && { isEngine }) };
  });
}

/**
 * The lines about people: engine principals have no accounts.
 * @param programs names that are not marked, and are engine principals' all the same
 */
export function readPeople(text: string, programs: readonly string[] = []): UserEntry[] {
  const marked = readUsers(text).flatMap(({ name, isEngine }) => (isEngine === true ? [name] : []));
  const engines = new Set([...marked, ...programs]);
  return readUserEntries(text).filter(({ name }) => !engines.has(name));
}

/** The users of a list, without their addresses. A user on several lines has the groups of all of them. */
export function readUsers(text: string): UserLine[] {
  const users = new Map<string, UserLine>();
  for (const { name, groups, line, isEngine } of readUserEntries(text)) {
    const known = users.get(name);
    const isMarked = isEngine === true || known?.isEngine === true ? true : (isEngine ?? known?.isEngine);
    users.set(name, {
      name,
      groups: [...(known?.groups ?? []), ...groups],
      line: known?.line ?? line,
      ...(isMarked !== undefined && { isEngine: isMarked }),
    });
  }
  return [...users.values()];
}

/** The text of a list, or of another file of names. @throws Unusable */
export function readUserList(path: string): string {
  const bytes = bytesOf(path);
  if (!isUtf8(bytes)) throw new Unusable([`${path}: is not UTF-8, so its names cannot be told`]);
  return bytes.toString();
}

/** The users of a file that the command line names. @throws Unusable */
export function readListedUsers(path: string): UserLine[] {
  const users = readUsers(readUserList(path));
  const problem = listProblem(users);
  if (problem !== null) throw new Unusable([`${path}:${problem.line}:1 ${problem.message}`]);
  return users;
}

/** Why a list cannot be what was meant; null: it can. */
export function listProblem(users: readonly UserLine[]): { line: number; message: string } | null {
  if (users.length === 0) return { line: 1, message: 'there is no user in it' };
  const nameless = users.find(({ name }) => name === '');
  return nameless === undefined
    ? groupFileProblem(users)
    : { line: nameless.line, message: 'there is no name before the colon' };
}

/** Lines `group:user,user` of the engine's group file, where unmarked names show some; null: none do. */
export function groupFileProblem(users: readonly UserLine[]): { line: number; message: string } | null {
  const unmarked = users.filter(({ isEngine }) => isEngine === undefined);
  const isOfOneUserEach =
    users.length > 0 && users.every(({ name, isEngine }) => isEngine === undefined && /^[^:]+:[^:]+$/.test(name));
  const found = isOfOneUserEach ? users[0] : unmarked.find(({ name }) => /^[^:]+:[^:]*,/.test(name));
  return found === undefined ? null : { line: found.line, message: `${JSON.stringify(found.name)} ${OF_GROUP_FILE}` };
}

const OF_GROUP_FILE =
  "looks like a line of the engine's group file (group:user,user): a list has one user a line, and the user's groups behind a colon " +
  'and a blank (ana: analysts, sales); write user: before a name with a colon';

/** The lines of a list that a person keeps, without the blanks around them; blank ones and those that begin with `#` are left out. */
export function entryLines(text: string): { text: string; line: number }[] {
  return text
    .replace(/^\ufeff/, '')
    .split(/\r?\n/)
    .map((written, i) => ({ text: written.trim(), line: i + 1 }))
    .filter((entry) => entry.text !== '' && !entry.text.startsWith('#'));
}
