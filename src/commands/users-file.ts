import type { ListedUser } from '../rules-files/foreign/audiences.js';

/** A listed user and the line of the file. */
export interface UserLine extends ListedUser {
  line: number;
}

/**
 * A user a line, with the groups that the engine gives the user behind a colon and a space: `ana: analysts, sales`. Blank lines and
 * lines that begin with `#` are skipped. A user on several lines has the groups of all of them.
 */
export function readUsers(text: string): UserLine[] {
  const users = new Map<string, UserLine>();
  text
    .replace(/^\ufeff/, '')
    .split(/\r?\n/)
    .forEach((written, i) => {
      const line = written.trim();
      if (line === '' || line.startsWith('#')) return;
      const [, name = line, list = ''] = /^(.*?)\s*:(?:\s+(.*))?$/.exec(line) ?? [];
      const groups = list
        .split(',')
        .map((group) => group.trim())
        .filter((group) => group !== '');
      const known = users.get(name);
      users.set(name, { name, groups: [...(known?.groups ?? []), ...groups], line: known?.line ?? i + 1 });
    });
  return [...users.values()];
}
