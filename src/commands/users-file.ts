import { isUtf8 } from 'node:buffer';
import type { ListedUser } from '../rules-files/foreign/audiences.js';
import { bytesOf } from './files.js';
import { Unusable } from './output.js';

/** A listed user, with the number of the line. */
export interface UserLine extends ListedUser {
  line: number;
}

/** Marks before a name, and whether the user is then an engine principal. */
const MARKS = { 'engine:': true, 'user:': false };

/** One line of the list, with the e-mail address in its angle brackets. */
export interface UserEntry extends UserLine {
  email: string | null;
}

/**
 * Reads one user per line: the name, an e-mail address in angle brackets, and after a colon and a space the user's groups on the engine,
 * as in `ana <ana@example.org>: analysts, sales`. `engine:` before a name marks an engine principal; `user:` or an address marks a person.
 * Blank lines and lines that begin with `#` are skipped.
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
 * The lines about people, without those about engine principals, which have no accounts.
 * @param programs names of further engine principals, which the list does not mark
 */
export function readPeople(text: string, programs: readonly string[] = []): UserEntry[] {
  const marked = readUsers(text).flatMap(({ name, isEngine }) => (isEngine === true ? [name] : []));
  const engines = new Set([...marked, ...programs]);
  return readUserEntries(text).filter(({ name }) => !engines.has(name));
}

/** The users of a list, without e-mail addresses. A user on several lines has the groups of all those lines. */
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

/** Reads the text of a list of users, or of another file of names. @throws Unusable */
export function readUserList(path: string): string {
  const bytes = bytesOf(path);
  if (!isUtf8(bytes)) throw new Unusable([`${path}: is not UTF-8, so its names cannot be told`]);
  return bytes.toString();
}

/** Reads the users in a file. @throws Unusable */
export function readListedUsers(path: string): UserLine[] {
  const users = readUsers(readUserList(path));
  const problem = listProblem(users);
  if (problem !== null) throw new Unusable([`${path}:${problem.line}:1 ${problem.message}`]);
  return users;
}

/** The problem of a list that is empty, lacks a name, or has another format; null: there is none. */
export function listProblem(users: readonly UserLine[]): { line: number; message: string } | null {
  if (users.length === 0) return { line: 1, message: 'there is no user in it' };
  const nameless = users.find(({ name }) => name === '');
  return nameless === undefined
    ? groupFileProblem(users)
    : { line: nameless.line, message: 'there is no name before the colon' };
}

/** The problem of a list that looks like the engine's group file, with lines `group:user,user`; null: it does not. */
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

/** The trimmed lines of a list, without blank ones and those that begin with `#`. */
export function entryLines(text: string): { text: string; line: number }[] {
  return text
    .replace(/^\ufeff/, '')
    .split(/\r?\n/)
    .map((written, i) => ({ text: written.trim(), line: i + 1 }))
    .filter((entry) => entry.text !== '' && !entry.text.startsWith('#'));
}
