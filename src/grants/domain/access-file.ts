import { foldedName } from '../../kernel/name.js';
import { nodeKey } from '../../trino-rules/model/node.js';
import type { Descriptions } from '../../trino-rules/model/snapshot-export.js';
import type { SnapshotProblem } from '../../trino-rules/model/snapshot-decoder.js';
import { readSnapshot } from '../../trino-rules/model/snapshot-file.js';
import { expressionProblem, policyExpressionProblem } from '../../trino-rules/model/sql-expression.js';
import type { Snapshot } from '../../trino-rules/model/snapshot.js';
import { descriptionProblem } from './grant.js';
import { EXCEPTIONS_MOST, EXPRESSION_MOST } from './policy.js';
import type { DescribedSnapshot } from './snapshot-changes.js';

export type AccessFileReading =
  | { kind: 'read'; file: DescribedSnapshot; places: RowPlaces; remarks: SnapshotProblem[] }
  | { kind: 'refused'; problems: SnapshotProblem[] };

/** The place of each row in the file, such as `grants[3]`, by the row's id in the file. */
export type RowPlaces = Record<keyof Descriptions, ReadonlyMap<number, string>>;

/**
 * Reads a snapshot file that is to be applied: its accounts must exist in the database, and it has no settings. Lists every problem at
 * once. A revoked grant counts as absent. The field `at` has no effect, because expiry is judged by the database's clock.
 * @param recorded the state of the database, whose accounts the file can name without listing them
 */
export function readAccessFile(value: unknown, recorded: Snapshot): AccessFileReading {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { kind: 'refused', problems: [{ path: '', message: 'must be an object' }] };
  }
  const form: object = Object.fromEntries(Object.entries(value).filter(([key]) => key !== 'settings' && key !== 'at'));
  const { settings, at } = recorded;
  const listed = rowsOf(form, 'users').map((row) => fieldOf(row, 'name'));
  const inFile = new Set(listed.map((name) => (typeof name === 'string' ? foldedName(name) : name)));
  const others = recorded.users.filter(({ name }) => !inFile.has(foldedName(name)));
  const users =
    'users' in form && !Array.isArray(form.users) ? form.users : [...rowsOf(form, 'users'), ...named(others)];
  const problems: SnapshotProblem[] = [];
  if ('settings' in value) problems.push({ path: 'settings', message: 'come from the environment; leave them out' });
  const accounts = new Map(recorded.users.map((user) => [user.name, user]));
  listed.forEach((name, i) => {
    if (typeof name !== 'string' || accounts.has(name)) return;
    problems.push({ path: `users[${i}].name`, message: `there is no account named ${name}, and apply makes none` });
  });
  const groupNames = new Map(recorded.groups.map(({ name }) => [foldedName(name), name]));
  rowsOf(form, 'groups').forEach((row, i) => {
    const name = fieldOf(row, 'name');
    const spelling = typeof name === 'string' ? groupNames.get(foldedName(name)) : undefined;
    if (spelling === undefined || spelling === name) return;
    problems.push({ path: `groups[${i}].name`, message: `differs from the group ${spelling} in case only` });
  });
  const unknownUser = (name: string) => `there is no account ${name}`;
  const reading = readSnapshot({ ...form, users }, { settings, at, unknownUser });
  const all = [...problems, ...limitProblems(form), ...(reading.kind === 'refused' ? reading.problems : [])];
  if (reading.kind === 'refused' || all.length > 0) return { kind: 'refused', problems: all };

  const { snapshot } = reading;
  const remarks = snapshot.users.slice(0, listed.length).flatMap(({ name, isActive }, i): SnapshotProblem[] => {
    const state = accounts.get(name)?.isActive;
    if (state === undefined || state === isActive) return [];
    const message = `${name} is ${state ? 'active' : 'deactivated'} here, which apply does not change`;
    return [{ path: `users[${i}].is_active`, message }];
  });
  const placesOf = (list: keyof RowPlaces) =>
    new Map((snapshot[list] ?? []).map(({ id }, i) => [id, `${list}[${i}]`] as const));
  return {
    kind: 'read',
    file: { snapshot: withoutRepeats(snapshot), descriptions: descriptionsOf(form, snapshot) },
    places: ofEach(placesOf),
    remarks,
  };
}

/** Checks the API's limits on fields, which the snapshot format itself does not have. */
function limitProblems(form: object): SnapshotProblem[] {
  const problems: SnapshotProblem[] = [];
  const check = (path: string, message: string | null): void => {
    if (message !== null) problems.push({ path, message });
  };
  for (const list of LISTS) {
    rowsOf(form, list).forEach((row, i) =>
      check(`${list}[${i}].description`, descriptionProblem(fieldOf(row, 'description'))),
    );
  }
  rowsOf(form, 'policies').forEach((row, i) => {
    const [expression, except] = [fieldOf(row, 'expression'), fieldOf(row, 'except')];
    const isLong = typeof expression === 'string' && expression.length > EXPRESSION_MOST;
    check(`policies[${i}].expression`, isLong ? `must have at most ${EXPRESSION_MOST} characters` : null);
    // The reader of the format refuses text that is no expression.
    const isExpression = typeof expression === 'string' && !isLong && expressionProblem(expression) === null;
    check(`policies[${i}].expression`, isExpression ? policyExpressionProblem(expression) : null);
    const isMany = Array.isArray(except) && except.length > EXCEPTIONS_MOST;
    check(`policies[${i}].except`, isMany ? `must have at most ${EXCEPTIONS_MOST} entries` : null);
  });
  return problems;
}

/** Removes revoked grants and all but the first of equal ones, because granting is idempotent. */
function withoutRepeats(snapshot: Snapshot): Snapshot {
  const seen = new Set<string>();
  const grants = snapshot.grants.filter(({ principal, resource, privileges, expiresAt, revokedAt }) => {
    const terms = JSON.stringify([principal, nodeKey(resource), privileges, expiresAt]);
    if (revokedAt !== null || seen.has(terms)) return false;
    seen.add(terms);
    return true;
  });
  return { ...snapshot, grants };
}

function descriptionsOf(form: object, snapshot: Snapshot): Descriptions {
  return ofEach((list) => {
    const texts = rowsOf(form, list).map((row) => fieldOf(row, 'description'));
    return new Map(
      (snapshot[list] ?? []).flatMap(({ id }, i) => {
        const text = texts[i];
        return typeof text === 'string' ? [[id, text] as const] : [];
      }),
    );
  });
}

const LISTS = ['groups', 'grants', 'policies', 'guarantees'] as const satisfies (keyof Descriptions)[];

function ofEach<T>(make: (list: keyof Descriptions) => T): Record<keyof Descriptions, T> {
  return Object.fromEntries(LISTS.map((list) => [list, make(list)])) as Record<keyof Descriptions, T>;
}

function named(users: Snapshot['users']): object[] {
  return users.map(({ name, isActive }) => ({ name, is_active: isActive }));
}

function rowsOf(form: object, list: string): unknown[] {
  const rows: unknown = Reflect.get(form, list);
  return Array.isArray(rows) ? rows : [];
}

function fieldOf(row: unknown, field: string): unknown {
  return typeof row === 'object' && row !== null ? Reflect.get(row, field) : undefined;
}
