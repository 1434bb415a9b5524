import { attributePath, isCoreSchema, parsePatchPath, type PatchPath } from './filter.js';
import { refusal, membersOf, jsonExcerpt } from './values.js';

/** A change of one attribute. `isPathGiven`: the request named the attribute in `path`, not as a key of `value`. */
export interface Operation {
  op: 'add' | 'replace' | 'remove';
  path: PatchPath;
  value: unknown;
  isPathGiven: boolean;
}

const MAX_OPERATIONS = 10_000;
const OPERATIONS = ['add', 'replace', 'remove'] as const;

/**
 * The operations of a PATCH (RFC 7644 section 3.5.2), also as Okta and Microsoft Entra write them: `op` in upper or lower case, values without a
 * path, keys with dots, brackets and URNs. An operation without a path becomes one operation for each key of its value.
 * @throws Refused 400
 */
export function operationsOf(body: unknown): Operation[] {
  const operations = membersOf(body, 'the body').get('operations');
  if (!Array.isArray(operations)) throw refusal('invalidSyntax', 'Operations must be a list.');
  const result: Operation[] = [];
  for (const entry of operations as unknown[]) {
    result.push(...operationOf(membersOf(entry, 'an operation')));
    if (result.length > MAX_OPERATIONS) throw refusal('tooMany', `There are more than ${MAX_OPERATIONS} operations.`);
  }
  return result;
}

/** The attributes in the body of a whole resource, each as an operation that replaces the attribute. @throws Refused 400 */
export function attributesOf(body: unknown): Operation[] {
  return operationsOfKeys('replace', originalEntries(body));
}

function operationOf(members: ReadonlyMap<string, unknown>): Operation[] {
  const name = members.get('op');
  const op = OPERATIONS.find((each) => typeof name === 'string' && each === name.toLowerCase());
  if (op === undefined) throw refusal('invalidSyntax', `${jsonExcerpt(name)} is no operation: add, replace or remove.`);
  const path = members.get('path') ?? null;
  const value = members.get('value');
  if (path !== null && typeof path !== 'string') throw refusal('invalidPath', 'A path must be a string.');
  if (path !== null && path !== '') return [{ op, path: parsePatchPath(path), value, isPathGiven: true }];
  if (op === 'remove') throw refusal('noTarget', 'An operation that removes must have a path.');
  return operationsOfKeys(op, originalEntries(value));
}

function operationsOfKeys(op: 'add' | 'replace', entries: readonly [string, unknown][]): Operation[] {
  return entries.flatMap(([key, value]): Operation[] => {
    if (isCoreSchema(key)) return operationsOfKeys(op, originalEntries(value));
    const path = key.includes('[') ? parsePatchPath(key) : attributePath(key);
    // A key that is no path is dropped, as unknown attributes are.
    return path === null ? [] : [{ op, path: { filter: null, ...path }, value, isPathGiven: false }];
  });
}

function originalEntries(value: unknown): [string, unknown][] {
  membersOf(value, 'the value');
  return Object.entries(value as object);
}
