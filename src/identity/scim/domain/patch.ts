import { attributePath, isCoreSchema, parsePatchPath, type PatchPath } from './filter.js';
import { invalid, membersOf, jsonExcerpt } from './values.js';

/** A change of one attribute. `isExplicit`: a path named it, not a key of the value. */
export interface Operation {
  op: 'add' | 'replace' | 'remove';
  path: PatchPath;
  value: unknown;
  isExplicit: boolean;
}

const MAX_OPERATIONS = 10_000;
const OPERATIONS = ['add', 'replace', 'remove'] as const;

/**
 * The operations of a PATCH (RFC 7644 section 3.5.2), also as Okta and Microsoft Entra write them: `op` in any case, values without a
 * path, keys with dots, brackets and URNs. An operation without a path becomes one for each key.
 * @throws Refused 400
 */
export function operationsOf(body: unknown): Operation[] {
  const operations = membersOf(body, 'the body').get('operations');
  if (!Array.isArray(operations)) throw invalid('invalidSyntax', 'Operations must be a list.');
  const found: Operation[] = [];
  for (const each of operations as unknown[]) {
    found.push(...operationOf(membersOf(each, 'an operation')));
    if (found.length > MAX_OPERATIONS) throw invalid('tooMany', `There are more than ${MAX_OPERATIONS} operations.`);
  }
  return found;
}

/** The attributes of a whole resource, each as a replacement. @throws Refused 400 */
export function attributesOf(body: unknown): Operation[] {
  return expanded('replace', membersWithCase(body));
}

function operationOf(members: ReadonlyMap<string, unknown>): Operation[] {
  const named = members.get('op');
  const op = OPERATIONS.find((each) => typeof named === 'string' && each === named.toLowerCase());
  if (op === undefined)
    throw invalid('invalidSyntax', `${jsonExcerpt(named)} is no operation: add, replace or remove.`);
  const path = members.get('path') ?? null;
  const value = members.get('value');
  if (path !== null && typeof path !== 'string') throw invalid('invalidPath', 'A path must be a string.');
  if (path !== null && path !== '') return [{ op, path: parsePatchPath(path), value, isExplicit: true }];
  if (op === 'remove') throw invalid('noTarget', 'An operation that removes must have a path.');
  return expanded(op, membersWithCase(value));
}

function expanded(op: 'add' | 'replace', entries: readonly [string, unknown][]): Operation[] {
  return entries.flatMap(([key, value]): Operation[] => {
    if (isCoreSchema(key)) return expanded(op, membersWithCase(value));
    const path = key.includes('[') ? parsePatchPath(key) : attributePath(key);
    // A key that is no path is dropped like unknown attributes.
    return path === null ? [] : [{ op, path: { filter: null, ...path }, value, isExplicit: false }];
  });
}

function membersWithCase(value: unknown): [string, unknown][] {
  membersOf(value, 'the value');
  return Object.entries(value as object);
}
