import type { FunctionPrivilege, TablePrivilege } from '../document/rules-document.js';
import { isKillQuery, kindOf, LEVELS, type NamedNode, type Node, type NodeKind, nodeOf, SYSTEM } from './node.js';
import {
  type NamedPolicyPrincipal,
  POLICY_PRINCIPAL_TYPES,
  type PolicyPrincipal,
  PRINCIPAL_TYPE_TEXTS,
} from './principal.js';
import type { Question, RoutineQuestion } from './question.js';

/** All privileges, in the order in which lists show them. A new privilege needs terms in `PRIVILEGE_TERMS` and in the compiler. */
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

export const PRIVILEGE_FAMILIES = ['table', 'schema', 'routine', 'engine', 'acting'] as const;

export type PrivilegeFamily = (typeof PRIVILEGE_FAMILIES)[number];

export interface PrivilegeTerms {
  family: PrivilegeFamily;
  /** Kinds of nodes on which it can be granted and denied. */
  on: readonly NodeKind[];
  /** The kinds among these that are open in the catalog `system`. */
  inSystem: readonly NodeKind[];
  /** The privileges that make up this one; empty if it has no parts. */
  parts: readonly Privilege[];
  /** Types of principals that it can be granted to; a deny may name any. */
  to: readonly PolicyPrincipal['type'][];
  /** Further privileges that a grant of it gives. */
  contains: readonly Privilege[];
  /** Further privileges that a deny of it takes. */
  takes: readonly Privilege[];
  /** The engine's privilege on tables that it gives; null: none. */
  onTables: TablePrivilege | null;
  /** Whether its holders own the schemas that it reaches. */
  ownsSchemas: boolean;
  /** The routines that its holders run or pass on; null: none. */
  runs: Pick<RoutineQuestion, 'kind' | 'privilege'> | null;
  /** Whether any restriction of data takes it: an owner could rename the restricted object or drop its schema (seen on 483). */
  yieldsToRestrictions: boolean;
  /** Whether a row filter takes it: the engine does not filter it, or refuses it always (seen on 483). */
  yieldsToFilters: boolean;
  /** Whether a mask in effect takes it: the engine refuses it, or does not mask it (seen on 483). */
  yieldsToMasks: boolean;
  /** The catalog mode that the engine requires for it (for rights in `system`, the mode of that catalog); null: none. */
  mode: 'read-only' | 'all' | null;
  /** Whether a statement uses it, so that its holders execute queries. */
  usedByStatements: boolean;
  /** Whether the engine checks columns: reading them, also for the readers of one's views. */
  readsColumns: boolean;
  /** The question whether it is held at a node, or at a column there. Principals in the node are asked about by name. */
  asks: (resource: NamedNode, column?: string) => Question;
  /** Verb phrase before the node in a sentence. */
  phrase: string;
}

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

/** A right over the engine itself. */
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

/** A right over the queries of all others, or of some owners. */
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

/** Terms of all privileges (docs/decisions/0031). */
export const PRIVILEGE_TERMS: Readonly<Record<Privilege, PrivilegeTerms>> = {
  SELECT: {
    ...onTables('SELECT', 'SELECT from'),
    inSystem: LEVELS,
    takes: ['GRANT_SELECT'],
    mode: 'read-only',
    readsColumns: true,
  },
  INSERT: { ...onTables('INSERT', 'INSERT into'), yieldsToMasks: true },
  // TRUNCATE needs DELETE and ignores the filter (seen on 483).
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
  // Lets the readers of its holder's views run the function in them.
  GRANT_EXECUTE_FUNCTION: {
    ...onRoutines('function', 'have GRANT_EXECUTE on functions of', 'GRANT_EXECUTE'),
    contains: ['EXECUTE_FUNCTION'],
  },
  CALL_PROCEDURE: { ...onRoutines('procedure', 'call procedures of'), inSystem: ['routine'] },
  // Comes with every privilege that statements use; a deny of it takes only what its own grants give.
  EXECUTE_QUERIES: onEngine({ about: 'queries', right: 'execute' }, 'execute queries on', true),
  VIEW_QUERIES: onQueries('view'),
  // Includes the procedure `KILL_QUERY`. Where this is denied, holders can still kill by the engine's API.
  KILL_QUERIES: onQueries('kill'),
  READ_SYSTEM_INFORMATION: onEngine({ about: 'system-information', right: 'read' }, 'read the system information of'),
  // Shuts nodes down.
  WRITE_SYSTEM_INFORMATION: {
    ...onEngine({ about: 'system-information', right: 'write' }, 'write the system information of'),
    to: ['user', 'engine'],
  },
  // Users cannot impersonate. A session has the rights of the impersonated principal.
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
    // Only one routine of `system` can be granted.
    return inSystem.includes(kind) && (kind !== 'routine' || isKillQuery(node));
  });
}

/** Whether a privilege is about data: tables, their rows and columns, and schemas. */
export function isOverData(privilege: Privilege): boolean {
  const { family } = PRIVILEGE_TERMS[privilege];
  return family === 'table' || family === 'schema';
}

/** Whether a privilege is about functions and procedures. Restrictions of data take these. */
export function isOverRoutines(privilege: Privilege): boolean {
  return PRIVILEGE_TERMS[privilege].family === 'routine';
}

/** All privileges that a grant of these gives: GRANT_SELECT contains SELECT. */
export function withContained(privileges: readonly Privilege[]): Set<Privilege> {
  return new Set(privileges.flatMap((privilege) => [privilege, ...PRIVILEGE_TERMS[privilege].contains]));
}

/** Replaces parts by their sum if all of them are held. The result is in the order of `PRIVILEGES`. */
export function withSums(held: readonly Privilege[]): Privilege[] {
  const sums = SUMS.filter((sum) => PRIVILEGE_TERMS[sum].parts.every((part) => held.includes(part)));
  const said = sums.flatMap((sum) => PRIVILEGE_TERMS[sum].parts);
  const others = held.filter((privilege) => !SUMS.includes(privilege) && !said.includes(privilege));
  return orderedPrivileges([...others, ...sums]);
}

const SUMS = PRIVILEGES.filter((privilege) => PRIVILEGE_TERMS[privilege].parts.length > 0);

/** All privileges that a deny of these takes: SELECT takes GRANT_SELECT with it. */
export function withTaken(privileges: readonly Privilege[]): Set<Privilege> {
  return new Set(privileges.flatMap((privilege) => [privilege, ...PRIVILEGE_TERMS[privilege].takes]));
}

/** Why a grant of these cannot name a principal; null: it can. */
export function holderProblem(privileges: readonly Privilege[], { type }: PolicyPrincipal): string | null {
  const refused = privileges.filter((privilege) => !PRIVILEGE_TERMS[privilege].to.includes(type));
  const [first] = refused;
  if (first === undefined) return null;
  const holders = PRIVILEGE_TERMS[first].to.map((each) => PRINCIPAL_TYPE_TEXTS[each]);
  return `${refused.join(', ')} can be granted to ${holders.join(' or ')} alone`;
}
