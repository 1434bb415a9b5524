import type { FunctionPrivilege, TablePrivilege } from '../document/rules-document.js';
import { isKillQuery, kindOf, LEVELS, nodeOf, SYSTEM, type NamedNode, type Node, type NodeKind } from './node.js';
import { type NamedPolicyPrincipal, POLICY_PRINCIPAL_TYPES, type PolicyPrincipal } from './principal.js';
import type { Question, RoutineQuestion } from './question.js';

/** What can be granted and denied, in the order in which it is written. One more needs its terms below, and the compiler's own. */
export const PRIVILEGES = [
  'SELECT',
  'INSERT',
  'DELETE',
  'UPDATE',
  'SCHEMA_OWNERSHIP',
  'TABLE_OWNERSHIP',
  'OWNERSHIP',
  'GRANT_SELECT',
  'EXECUTE_FUNCTION',
  'GRANT_EXECUTE_FUNCTION',
  'CALL_PROCEDURE',
  'EXECUTE_QUERIES',
  'VIEW_QUERIES',
  'KILL_QUERIES',
  'READ_SYSTEM_INFORMATION',
  'WRITE_SYSTEM_INFORMATION',
  'IMPERSONATE',
] as const;

export type Privilege = (typeof PRIVILEGES)[number];

/** What a privilege is about: tables and their rows, schemas, functions and procedures, the engine itself, acting as others. */
export const PRIVILEGE_FAMILIES = ['table', 'schema', 'routine', 'engine', 'acting'] as const;

export type PrivilegeFamily = (typeof PRIVILEGE_FAMILIES)[number];

/** All that sets one privilege apart from another. */
export interface PrivilegeTerms {
  family: PrivilegeFamily;
  /** The kinds of nodes on which it can be granted and denied. */
  on: readonly NodeKind[];
  /** Those of these on which the same holds in the catalog `system`. */
  inSystem: readonly NodeKind[];
  /** What it is the sum of: whoever has all of these has it, and nothing else. */
  parts: readonly Privilege[];
  /** The types of principals that it can be granted to; a deny may name any. */
  to: readonly PolicyPrincipal['type'][];
  /** All that a grant of it gives besides. */
  contains: readonly Privilege[];
  /** All that a deny of it takes besides. */
  takes: readonly Privilege[];
  /** What the engine calls it on the tables that it reaches; null: nothing there. */
  onTables: TablePrivilege | null;
  /** Whether its holders own the schemas that it reaches. */
  ownsSchemas: boolean;
  /** What its holders run, or pass on; null: nothing. */
  runs: Pick<RoutineQuestion, 'kind' | 'privilege'> | null;
  /**
   * Whether it would lead around a filter, a mask, a hidden column or a deny, so that these take it: an owner renames what they are
   * bound to, or drops the schema above it (seen on 483).
   */
  yieldsToRestrictions: boolean;
  /** Whether a row filter takes it: the engine does not filter it, or refuses it always (seen on 483). */
  yieldsToFilters: boolean;
  /** Whether a mask in effect takes it: the engine refuses it, or does not mask it (seen on 483). */
  yieldsToMasks: boolean;
  /** The catalog mode without which the engine does not let it be used, of `system` for its own rights; null: none is needed. */
  mode: 'read-only' | 'all' | null;
  /** Whether a statement uses it, so that its holders execute queries. */
  usedByStatements: boolean;
  /** Whether the engine checks columns: reading them, also for the readers of one's views. */
  readsColumns: boolean;
  /** What is asked about who has it at a node, or at a column in its tables; of acting as others and of queries, one of this name. */
  asks: (resource: NamedNode, column?: string) => Question;
  /** In a sentence, before the node. */
  phrase: string;
}

/** What most have in common. */
const TERMS = {
  to: POLICY_PRINCIPAL_TYPES,
  inSystem: [],
  parts: [],
  contains: [],
  takes: [],
  onTables: null,
  ownsSchemas: false,
  yieldsToRestrictions: false,
  yieldsToFilters: false,
  yieldsToMasks: false,
  runs: null,
  mode: null,
  usedByStatements: true,
  readsColumns: false,
} as const satisfies Partial<PrivilegeTerms>;

function onTables(privilege: TablePrivilege, phrase: string) {
  return {
    ...TERMS,
    family: 'table',
    on: ['everything', ...LEVELS],
    onTables: privilege,
    mode: 'all',
    asks: (resource, column) => ({ about: 'privilege', resource, privilege, column }),
    phrase,
  } as const satisfies PrivilegeTerms;
}

/** A pass-through routine is as wide as the catalog's connection; the engine asks for the catalog itself first (seen on 483). */
function onRoutines(kind: RoutineQuestion['kind'], phrase: string, privilege: FunctionPrivilege = 'EXECUTE') {
  return {
    ...TERMS,
    family: 'routine',
    on: ['everything', 'catalog', 'schema', 'routine'],
    runs: { kind, privilege },
    mode: 'read-only',
    asks: (resource) => ({ about: 'routine', kind, resource, privilege }),
    phrase,
  } as const satisfies PrivilegeTerms;
}

/** Of the engine itself, where it is no right over data. */
function onEngine(question: Question, phrase: string, usedByStatements = false) {
  return {
    ...TERMS,
    family: 'engine',
    on: ['engine'],
    usedByStatements,
    asks: () => question,
    phrase,
  } as const satisfies PrivilegeTerms;
}

/** Over the queries of all others, or of some. */
function onQueries(right: 'view' | 'kill') {
  const about = { about: 'queries', right } as const;
  return {
    ...onEngine(about, `${right} other people's queries on`),
    on: ['engine', 'queries'],
    asks: ({ queries }) => (queries === undefined ? about : { ...about, owner: nameOf(queries) }),
  } as const satisfies PrivilegeTerms;
}

function nameOf(named: NamedPolicyPrincipal | undefined): string {
  return named !== undefined && 'name' in named ? named.name : '';
}

/** What each privilege is and does (docs/decisions/0031). */
export const PRIVILEGE_TERMS: Readonly<Record<Privilege, PrivilegeTerms>> = {
  SELECT: {
    ...onTables('SELECT', 'SELECT from'),
    inSystem: LEVELS,
    takes: ['GRANT_SELECT'],
    mode: 'read-only',
    readsColumns: true,
  },
  INSERT: { ...onTables('INSERT', 'INSERT into'), yieldsToMasks: true },
  // TRUNCATE asks for DELETE and for no filter (seen on 483).
  DELETE: { ...onTables('DELETE', 'DELETE from'), yieldsToFilters: true, yieldsToMasks: true },
  UPDATE: { ...onTables('UPDATE', 'UPDATE'), yieldsToFilters: true, yieldsToMasks: true },
  SCHEMA_OWNERSHIP: {
    ...onTables('OWNERSHIP', 'have OWNERSHIP of the schema'),
    family: 'schema',
    on: ['everything', 'catalog', 'schema'],
    takes: ['OWNERSHIP'],
    onTables: null,
    ownsSchemas: true,
    yieldsToRestrictions: true,
    asks: ({ catalog, schema }, column) => ({
      about: 'schema-ownership',
      resource: nodeOf({ catalog, schema }),
      column,
    }),
  },
  TABLE_OWNERSHIP: {
    ...onTables('OWNERSHIP', 'have OWNERSHIP of'),
    takes: ['OWNERSHIP'],
    yieldsToRestrictions: true,
  },
  OWNERSHIP: {
    ...onTables('OWNERSHIP', 'have OWNERSHIP of'),
    parts: ['SCHEMA_OWNERSHIP', 'TABLE_OWNERSHIP'],
    contains: ['SCHEMA_OWNERSHIP', 'TABLE_OWNERSHIP'],
    takes: ['SCHEMA_OWNERSHIP', 'TABLE_OWNERSHIP'],
    ownsSchemas: true,
    yieldsToRestrictions: true,
    asks: (resource, column) =>
      resource.table === undefined
        ? { about: 'schema-ownership', resource, column }
        : { about: 'privilege', resource, privilege: 'OWNERSHIP', column },
  },
  GRANT_SELECT: { ...onTables('GRANT_SELECT', 'have GRANT_SELECT on'), contains: ['SELECT'], readsColumns: true },
  EXECUTE_FUNCTION: { ...onRoutines('function', 'execute functions of'), takes: ['GRANT_EXECUTE_FUNCTION'] },
  // In a view of its holder's, the readers run the function.
  GRANT_EXECUTE_FUNCTION: {
    ...onRoutines('function', 'have GRANT_EXECUTE on functions of', 'GRANT_EXECUTE'),
    contains: ['EXECUTE_FUNCTION'],
  },
  CALL_PROCEDURE: { ...onRoutines('procedure', 'call procedures of'), inSystem: ['routine'] },
  // It comes with all that statements use; a deny takes the grant alone.
  EXECUTE_QUERIES: onEngine({ about: 'queries', right: 'execute' }, 'execute queries on', true),
  VIEW_QUERIES: onQueries('view'),
  // It brings a statement, the procedure `KILL_QUERY`; where that is denied, the engine's API is left.
  KILL_QUERIES: onQueries('kill'),
  READ_SYSTEM_INFORMATION: onEngine({ about: 'system-information', right: 'read' }, 'read the system information of'),
  // It shuts nodes down.
  WRITE_SYSTEM_INFORMATION: {
    ...onEngine({ about: 'system-information', right: 'write' }, 'write the system information of'),
    to: ['user', 'engine'],
  },
  // People do not become other people. What such a session may do are the rights of the one who is acted as.
  IMPERSONATE: {
    ...TERMS,
    family: 'acting',
    on: ['acting'],
    to: ['engine'],
    usedByStatements: false,
    asks: ({ as }) => ({ about: 'impersonation', newUser: nameOf(as) }),
    phrase: 'act',
  },
};

/** In the order of `PRIVILEGES`, each once. */
export function orderedPrivileges(privileges: readonly Privilege[]): Privilege[] {
  return PRIVILEGES.filter((privilege) => privileges.includes(privilege));
}

/** What can be granted and denied on a node. */
export function privilegesOn(node: Node): Privilege[] {
  const kind = kindOf(node);
  return PRIVILEGES.filter((privilege) => {
    const { on, inSystem } = PRIVILEGE_TERMS[privilege];
    if (node.catalog !== SYSTEM) return on.includes(kind);
    // Of routines there, one alone is given.
    return inSystem.includes(kind) && (kind !== 'routine' || isKillQuery(node));
  });
}

/** Whether it is about data: tables, their rows and columns, and schemas. */
export function isOverData(privilege: Privilege): boolean {
  const { family } = PRIVILEGE_TERMS[privilege];
  return family === 'table' || family === 'schema';
}

/** Whether it is about functions and procedures: a restriction of data wins over it. */
export function isOverRoutines(privilege: Privilege): boolean {
  return PRIVILEGE_TERMS[privilege].family === 'routine';
}

/** What a grant of these gives: GRANT_SELECT contains SELECT. */
export function withContained(privileges: readonly Privilege[]): Set<Privilege> {
  return new Set(privileges.flatMap((privilege) => [privilege, ...PRIVILEGE_TERMS[privilege].contains]));
}

/** In the order of `PRIVILEGES`: those that are the sum of others in place of these, where all of these are held. */
export function combined(held: readonly Privilege[]): Privilege[] {
  const sums = SUMS.filter((sum) => PRIVILEGE_TERMS[sum].parts.every((part) => held.includes(part)));
  const said = sums.flatMap((sum) => PRIVILEGE_TERMS[sum].parts);
  const others = held.filter((privilege) => !SUMS.includes(privilege) && !said.includes(privilege));
  return orderedPrivileges([...others, ...sums]);
}

const SUMS = PRIVILEGES.filter((privilege) => PRIVILEGE_TERMS[privilege].parts.length > 0);

/** What a deny of these takes: one of SELECT takes GRANT_SELECT too. */
export function taken(privileges: readonly Privilege[]): Set<Privilege> {
  return new Set(privileges.flatMap((privilege) => [privilege, ...PRIVILEGE_TERMS[privilege].takes]));
}
