import { fieldOf, isObject } from '../../kernel/json-reader.js';
import { foldedName } from '../../kernel/name.js';
import { nodeKey } from '../../trino-rules/model/node.js';
import type { Descriptions } from '../../trino-rules/model/snapshot-export.js';
import type { SnapshotProblem } from '../../trino-rules/model/snapshot-decoder.js';
import { readSnapshot } from '../../trino-rules/model/snapshot-file.js';
import { expressionProblem, policyExpressionProblem } from '../../trino-rules/model/sql-expression.js';
import type { Snapshot } from '../../trino-rules/model/snapshot.js';
import { descriptionProblem } from './grant.js';
import { MAX_EXCEPTIONS, MAX_EXPRESSION } from './policy.js';
import type { DescribedSnapshot } from './snapshot-changes.js';

export type AccessFileReading =
  | { kind: 'read'; file: DescribedSnapshot; paths: RowPaths; remarks: SnapshotProblem[] }
  | { kind: 'refused'; problems: SnapshotProblem[] };

/** The place of each row in the file, such as `grants[3]`, by the row's id in the file. */
export type RowPaths = Record<keyof Descriptions, ReadonlyMap<number, string>>;

/**
 * Reads a snapshot file to apply: its accounts must exist in the database, and it must not have settings. Lists every problem at
 * once. A revoked grant counts as absent. The field `at` has no effect, because expiry is judged by the database's clock.
 * @param database the state of the database, whose accounts the file can name without listing them
 */
export function readAccessFile(value: unknown, database: Snapshot): AccessFileReading {
  if (!isObject(value)) {
    return { kind: 'refused', problems: [{ path: '', message: 'must be an object' }] };
  }
  const body: object = Object.fromEntries(Object.entries(value).filter(([key]) => key !== 'settings' && key !== 'at'));
  const { settings, at } = database;
  const listedNames = rowsOf(body, 'users').map((row) => fieldOf(row, 'name'));
  const namesInFile = new Set(listedNames.map((name) => (typeof name === 'string' ? foldedName(name) : name)));
  const unlistedUsers = database.users
    .filter(({ name }) => !namesInFile.has(foldedName(name)))
    .map(({ name, isActive }) => ({ name, is_active: isActive }));
  const users =
    'users' in body && !Array.isArray(body.users) ? body.users : [...rowsOf(body, 'users'), ...unlistedUsers];
  const problems: SnapshotProblem[] = [];
  if ('settings' in value) problems.push({ path: 'settings', message: 'come from the environment; leave them out' });
  const accounts = new Map(database.users.map((user) => [user.name, user]));
  listedNames.forEach((name, i) => {
    if (typeof name !== 'string' || accounts.has(name)) return;
    problems.push({ path: `users[${i}].name`, message: `there is no account named ${name}, and apply makes none` });
  });
  const groupNames = new Map(database.groups.map(({ name }) => [foldedName(name), name]));
  rowsOf(body, 'groups').forEach((row, i) => {
    const name = fieldOf(row, 'name');
    const recordedName = typeof name === 'string' ? groupNames.get(foldedName(name)) : undefined;
    if (recordedName === undefined || recordedName === name) return;
    problems.push({ path: `groups[${i}].name`, message: `differs from the group ${recordedName} in case only` });
  });
  const unknownUserText = (name: string) => `there is no account ${name}`;
  const reading = readSnapshot({ ...body, users }, { settings, at, unknownUserMessage: unknownUserText });
  const allProblems = [...problems, ...limitProblems(body), ...(reading.kind === 'refused' ? reading.problems : [])];
  if (reading.kind === 'refused' || allProblems.length > 0) return { kind: 'refused', problems: allProblems };

  const { snapshot } = reading;
  const remarks = snapshot.users.slice(0, listedNames.length).flatMap(({ name, isActive }, i): SnapshotProblem[] => {
    const wasActive = accounts.get(name)?.isActive;
    if (wasActive === undefined || wasActive === isActive) return [];
    const message = `${name} is ${wasActive ? 'active' : 'deactivated'} here, which apply does not change`;
    return [{ path: `users[${i}].is_active`, message }];
  });
  const pathsById = (listName: keyof RowPaths) =>
    new Map((snapshot[listName] ?? []).map(({ id }, i) => [id, `${listName}[${i}]`] as const));
  return {
    kind: 'read',
    file: { snapshot: withoutEqualGrants(snapshot), descriptions: descriptionsOf(body, snapshot) },
    paths: mapLists(pathsById),
    remarks,
  };
}

/** Problems of fields that exceed a limit of the API. The snapshot format itself does not have these limits. */
function limitProblems(body: object): SnapshotProblem[] {
  const problems: SnapshotProblem[] = [];
  const addProblem = (path: string, message: string | null): void => {
    if (message !== null) problems.push({ path, message });
  };
  for (const listName of LIST_NAMES) {
    rowsOf(body, listName).forEach((row, i) =>
      addProblem(`${listName}[${i}].description`, descriptionProblem(fieldOf(row, 'description'))),
    );
  }
  rowsOf(body, 'policies').forEach((row, i) => {
    const [expression, except] = [fieldOf(row, 'expression'), fieldOf(row, 'except')];
    const isTooLong = typeof expression === 'string' && expression.length > MAX_EXPRESSION;
    addProblem(`policies[${i}].expression`, isTooLong ? `must have at most ${MAX_EXPRESSION} characters` : null);
    // Text that is no expression is skipped here, because the reader of the snapshot format reports it.
    const isExpression = typeof expression === 'string' && !isTooLong && expressionProblem(expression) === null;
    addProblem(`policies[${i}].expression`, isExpression ? policyExpressionProblem(expression) : null);
    const isTooMany = Array.isArray(except) && except.length > MAX_EXCEPTIONS;
    addProblem(`policies[${i}].except`, isTooMany ? `must have at most ${MAX_EXCEPTIONS} entries` : null);
  });
  return problems;
}

/** Removes revoked grants. Of equal grants only the first is kept, because granting the same again has no effect. */
function withoutEqualGrants(snapshot: Snapshot): Snapshot {
  const seenKeys = new Set<string>();
  const grants = snapshot.grants.filter(({ principal, resource, privileges, expiresAt, revokedAt }) => {
    const termsKey = JSON.stringify([principal, nodeKey(resource), privileges, expiresAt]);
    if (revokedAt !== null || seenKeys.has(termsKey)) return false;
    seenKeys.add(termsKey);
    return true;
  });
  return { ...snapshot, grants };
}

function descriptionsOf(body: object, snapshot: Snapshot): Descriptions {
  return mapLists((list) => {
    const texts = rowsOf(body, list).map((row) => fieldOf(row, 'description'));
    return new Map(
      (snapshot[list] ?? []).flatMap(({ id }, i) => {
        const text = texts[i];
        return typeof text === 'string' ? [[id, text] as const] : [];
      }),
    );
  });
}

const LIST_NAMES = ['groups', 'grants', 'policies', 'guarantees'] as const satisfies (keyof Descriptions)[];

function mapLists<T>(toValue: (listName: keyof Descriptions) => T): Record<keyof Descriptions, T> {
  return Object.fromEntries(LIST_NAMES.map((list) => [list, toValue(list)])) as Record<keyof Descriptions, T>;
}

function rowsOf(body: object, list: string): unknown[] {
  const rows: unknown = Reflect.get(body, list);
  return Array.isArray(rows) ? rows : [];
}
