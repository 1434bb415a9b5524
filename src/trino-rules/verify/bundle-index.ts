import { getOrInsert } from '../../kernel/collections.js';
import { addAll, type Bitset, bitset, removeAll, type SparseBitset, toSparseBitset } from '../engine/sparse-bitset.js';
import type { RoutineQuestion } from '../model/question.js';
import { isInTree, principalIn, type Node } from '../model/node.js';
import type { PolicyPrincipal } from '../model/principal.js';
import { type Privilege, privilegesOn, privilegesGivenBy } from '../model/privilege.js';
import { isLive, type Snapshot } from '../model/snapshot.js';
import { PrincipalIndex } from './principal-index.js';

/** The value under a path of keys in parsed JSON; undefined: there is none. */
export function fieldAt(value: unknown, ...keys: readonly string[]): unknown {
  return keys.reduce<unknown>(
    (parent, key) =>
      typeof parent === 'object' && parent !== null && Object.hasOwn(parent, key)
        ? (parent as Record<string, unknown>)[key]
        : undefined,
    value,
  );
}

export function fields(value: unknown): [string, unknown][] {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.entries(value) : [];
}

/** The values that are `depth` objects below `value`, each with the path of its keys. */
function* leavesOf(
  value: unknown,
  depth: number,
  path: readonly string[] = [],
): Iterable<[readonly string[], unknown]> {
  if (depth === 0) yield [path, value];
  else for (const [key, child] of fields(value)) yield* leavesOf(child, depth - 1, [...path, key]);
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

export function textsIn(value: unknown): string[] {
  return listOf(value).filter((each) => typeof each === 'string');
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** A policy, with the users to whom it applies. An entry under LOSSES_KEY only lists rights that a policy takes away. */
export interface BundleEntry {
  users: Bitset;
  kind: string;
  expression: string;
  column: string;
  letters: string;
  restrictsReading: boolean;
}

interface KeyedRights {
  key: string;
  letters: string;
}

/** The rights of a grant, each as a letter, and the users to whom the grant applies. */
interface GrantedLetters extends KeyedRights {
  users: SparseBitset;
}

export interface NodeData {
  grants: readonly GrantedLetters[];
  entries: readonly BundleEntry[];
  rightsBelow: readonly (KeyedRights & { children: readonly string[] })[];
}

type MutableNodeData = { -readonly [K in keyof NodeData]: NodeData[K][number][] };

/** Rights over queries: as the engine names them, as privileges, and as letters. */
export const QUERY_RIGHTS = [
  ['view', 'VIEW_QUERIES', 'V'],
  ['kill', 'KILL_QUERIES', 'K'],
] as const;
/** Rights over routines, by letter. */
export const ROUTINE_RIGHTS = [
  ['F', { kind: 'function', privilege: 'EXECUTE' }],
  ['H', { kind: 'function', privilege: 'GRANT_EXECUTE' }],
  ['P', { kind: 'procedure', privilege: 'EXECUTE' }],
] as const satisfies [string, Pick<RoutineQuestion, 'kind' | 'privilege'>][];

const NO_DATA: NodeData = { grants: [], entries: [], rightsBelow: [] };
/** A key instead of a table name, for rights that a restriction takes away on the whole schema or catalog. */
export const LOSSES_KEY = '\n';

/** The grants and policies of a bundle by node, without rights that have expired. Each principal is resolved to a set of users. */
export class BundleIndex {
  readonly grantsOverUsers: readonly (KeyedRights & { targetKey: string })[];
  readonly deniesOverUsers: readonly { targetKey: string; letters: string; users: Bitset }[];
  private readonly members: ReadonlyMap<string, Bitset>;
  private readonly sparseMembers = new Map<string, SparseBitset>();
  /** Grants and policies by catalog, schema and table. The key of an absent level is `''`. */
  private readonly nodesByPath = new Map<string, Map<string, Map<string, MutableNodeData>>>();

  /**
   * @param data `access` of a bundle
   * @param users names. The index of a name is the user's position in the bit sets
   * @param now milliseconds since 1970
   */
  constructor(
    readonly data: unknown,
    users: readonly string[],
    private readonly now: number,
    readonly wordCount: number,
  ) {
    const positionsByKey = new Map<string, number[]>();
    for (const [position, name] of users.entries())
      for (const key of this.principalKeysOf(name)) getOrInsert(positionsByKey, key, () => []).push(position);
    this.members = new Map([...positionsByKey].map(([key, positionList]) => [key, bitset(wordCount, positionList)]));
    for (const [[key = '', catalog = '', schema = '', name = ''], rights] of leavesOf(fieldAt(data, 'grants'), 4)) {
      const grant = { key, letters: this.rightLettersOf(rights), users: this.sparseMembersOf(key) };
      this.mutableNodeAt(catalog, schema, name).grants.push(grant);
    }
    for (const [[catalog = '', schema = '', name = '', key = ''], list] of leavesOf(fieldAt(data, 'policies'), 4)) {
      const entries = listOf(list).map((each) => this.entryOf(key, each));
      this.mutableNodeAt(catalog, schema, name).entries.push(...entries);
    }
    for (const [[key = '', catalog = '', schema = ''], below] of leavesOf(fieldAt(data, 'below'), 3)) {
      const [letters, children] = [this.rightLettersOf(fieldAt(below, 'l')), textsIn(fieldAt(below, 'n'))];
      this.mutableNodeAt(catalog, schema, '').rightsBelow.push({ key, letters, children });
    }
    this.grantsOverUsers = [...leavesOf(fieldAt(data, 'over', 'grants'), 2)].map(
      ([[key = '', targetKey = ''], rights]) => ({ key, targetKey, letters: this.rightLettersOf(rights) }),
    );
    this.deniesOverUsers = [...leavesOf(fieldAt(data, 'over', 'denies'), 2)].flatMap(
      ([[key = '', targetKey = ''], list]) => listOf(list).map((each) => ({ targetKey, ...this.entryOf(key, each) })),
    );
  }

  membersOf(key: string): Bitset | undefined {
    return this.members.get(key);
  }

  private sparseMembersOf(key: string): SparseBitset {
    return getOrInsert(this.sparseMembers, key, () => toSparseBitset(this.members.get(key) ?? new Uint32Array(0)));
  }

  nodeAt(catalog: string, schema: string, name: string): NodeData {
    return this.schemaData(catalog, schema)?.get(name) ?? NO_DATA;
  }

  /** The data of a schema by name of table or routine; `''` for the schema itself. */
  schemaData(catalog: string, schema: string): ReadonlyMap<string, NodeData> | undefined {
    return this.nodesByPath.get(catalog)?.get(schema);
  }

  childNames(catalog?: string, schema?: string): string[] {
    const catalogData = catalog === undefined ? this.nodesByPath : this.nodesByPath.get(catalog);
    const childData = schema === undefined ? catalogData : this.schemaData(catalog ?? '', schema);
    return [...(childData?.keys() ?? [])].filter((name) => name !== '');
  }

  routineNames(catalog: string, schema: string): string[] {
    return this.childNames(catalog, schema).flatMap((name) => (name.startsWith('\t') ? [name.slice(1)] : []));
  }

  principalKeysOf(name: string): string[] {
    const user = fieldAt(this.data, 'users', name);
    const keys = textsIn(fieldAt(user, 'k'));
    return user !== undefined && this.isLive(fieldAt(user, 'u')) ? [...keys, '*'] : keys;
  }

  ownerKeysOf(name: string): string[] {
    const user = fieldAt(this.data, 'users', name);
    if (user === undefined) return [`u${name}`];
    return fieldAt(user, 'o') === undefined ? this.principalKeysOf(name) : textsIn(fieldAt(user, 'o'));
  }

  isLive(end: unknown): boolean {
    return typeof end === 'number' && this.now < end;
  }

  private rightLettersOf(rights: unknown): string {
    if (!Array.isArray(rights)) return textOf(rights);
    const liveTimedRights = fields(rights[1]).filter(([, until]) => this.isLive(until));
    return rights.length === 2 ? textOf(rights[0]) + liveTimedRights.map(([letter]) => letter).join('') : '';
  }

  private entryOf(key: string, entry: unknown): BundleEntry {
    const users = new Uint32Array(this.wordCount);
    addAll(users, this.members.get(key));
    for (const [excepted] of fields(fieldAt(entry, 'x'))) removeAll(users, this.members.get(excepted));
    const [kind, expression, column, letters] = ['k', 'e', 'c', 'l'].map((name) => textOf(fieldAt(entry, name)));
    return {
      ...{ users, kind: kind ?? '', expression: expression ?? '', column: column ?? '', letters: letters ?? '' },
      restrictsReading: fieldAt(entry, 'r') === true,
    };
  }

  private mutableNodeAt(catalog: string, schema: string, name: string) {
    const catalogData = getOrInsert(this.nodesByPath, catalog, () => new Map<string, Map<string, MutableNodeData>>());
    const schemaData = getOrInsert(catalogData, schema, () => new Map<string, MutableNodeData>());
    return getOrInsert(schemaData, name, (): MutableNodeData => ({ grants: [], entries: [], rightsBelow: [] }));
  }
}

/** The letters of privileges in a bundle. OWNERSHIP has no letter, because it consists of SCHEMA_OWNERSHIP and TABLE_OWNERSHIP. */
const LETTER_OF_PRIVILEGE: Readonly<Partial<Record<Privilege, string>>> = {
  ...{ SELECT: 'S', INSERT: 'I', UPDATE: 'U', DELETE: 'D', GRANT_SELECT: 'G' },
  ...{ SCHEMA_OWNERSHIP: 'O', TABLE_OWNERSHIP: 'T' },
  ...{ EXECUTE_FUNCTION: 'F', GRANT_EXECUTE_FUNCTION: 'H', CALL_PROCEDURE: 'P' },
  ...{ EXECUTE_QUERIES: 'X', VIEW_QUERIES: 'V', KILL_QUERIES: 'K', IMPERSONATE: 'A' },
  ...{ READ_SYSTEM_INFORMATION: 'R', WRITE_SYSTEM_INFORMATION: 'W' },
};

export function endTimesInBundle(data: unknown): Map<string, number> {
  const endsByKey = new Map<string, number>();
  const addMoments = (path: readonly string[], rights: unknown): void => {
    if (!Array.isArray(rights)) return;
    for (const [letter, end] of fields(rights[1])) endsByKey.set(JSON.stringify([...path, letter]), Number(end));
  };
  for (const [path, rights] of leavesOf(fieldAt(data, 'grants'), 4)) addMoments(path, rights);
  for (const [path, rights] of leavesOf(fieldAt(data, 'over', 'grants'), 2)) addMoments(path, rights);
  for (const [name, user] of fields(fieldAt(data, 'users')))
    for (const fieldName of ['u', 'i']) {
      const expiry = fieldAt(user, fieldName);
      if (typeof expiry === 'number' && expiry < LAST_MOMENT) endsByKey.set(JSON.stringify([fieldName, name]), expiry);
    }
  return endsByKey;
}

/** The last moment that a `Date` can hold. It represents a right without an end. */
const LAST_MOMENT = 8.64e15;

/** The moment at which each right of a principal at a node expires: the last end of the grants that give the right. */
export function expectedEndTimes(snapshot: Snapshot): Map<string, number> {
  const { users, groups, grants, settings, at } = snapshot;
  if (grants.every(({ expiresAt }) => expiresAt === null)) return new Map();
  const principals = new PrincipalIndex(snapshot);
  const nameById = new Map(users.map(({ id, name }) => [id, name]));
  const expiryByRight = new Map<string, number>();
  const extendExpiry = (path: readonly string[], end: number): void => {
    const key = JSON.stringify(path);
    expiryByRight.set(key, Math.max(end, expiryByRight.get(key) ?? 0));
  };
  const keyOf = (principal: PolicyPrincipal): string => {
    if (principal.type === 'everyone') return '*';
    if (principal.type === 'group') return `g${principal.id}`;
    return `u${principal.type === 'user' ? (nameById.get(principal.id) ?? '') : principal.name}`;
  };
  for (const name of groups.flatMap(({ engines }) => engines)) extendExpiry(['u', name], Infinity);
  for (const { principal, resource, privileges, expiresAt, ...grant } of grants) {
    const isClosed = resource.catalog !== undefined && resource.catalog === settings.metadataCatalog;
    const isIneffective = !isLive({ principal, resource, privileges, expiresAt, ...grant }, at) || isClosed;
    if (isIneffective || !principals.exists(principal) || !principals.exists(principalIn(resource))) continue;
    const end = expiresAt?.getTime() ?? Infinity;
    if (principal.type === 'engine') extendExpiry(['u', principal.name], end);
    if (principal.type === 'engine' && resource.as !== undefined) extendExpiry(['i', principal.name], end);
    const possiblePrivileges = privilegesOn(resource);
    for (const privilege of privilegesGivenBy(privileges)) {
      const letter = LETTER_OF_PRIVILEGE[privilege];
      if (letter !== undefined && possiblePrivileges.includes(privilege))
        extendExpiry([keyOf(principal), ...pathOf(resource, keyOf), letter], end);
    }
  }
  return new Map([...expiryByRight].filter(([, end]) => end < Infinity));
}

function pathOf(node: Node, keyOf: (principal: PolicyPrincipal) => string): string[] {
  const principal = principalIn(node);
  if (principal !== undefined) return [keyOf(principal)];
  if (node.engine === true) return [''];
  const { catalog = '', schema = '', table = '', routine } = node;
  return [catalog, schema, isInTree(node) ? table : `\t${routine ?? ''}`];
}
