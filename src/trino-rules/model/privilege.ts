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
  /** Kinds of nodes on which the privilege can be granted and denied. */
  nodeKinds: readonly NodeKind[];
  /** Kinds of nodes in the catalog `system` on which the privilege can be granted and denied. */
  systemNodeKinds: readonly NodeKind[];
  /** The privileges that a composite privilege consists of; empty for all others. */
  components: readonly Privilege[];
  /** Types of principals that the privilege can be granted to. A deny may name principals of any type. */
  holderTypes: readonly PolicyPrincipal['type'][];
  /** Further privileges that a grant gives: GRANT_SELECT also gives SELECT. */
  alsoGives: readonly Privilege[];
  /** Further privileges that a deny takes away: a deny of SELECT also takes away GRANT_SELECT. */
  alsoTakes: readonly Privilege[];
  /** The engine's table privilege that the privilege gives; null: none. */
  tablePrivilege: TablePrivilege | null;
  /** Whether holders of the privilege own the schemas at the node and below. */
  ownsSchemas: boolean;
  /** The engine's right over routines that the privilege gives; null: none. */
  routineRight: Pick<RoutineQuestion, 'kind' | 'privilege'> | null;
  /** Whether every kind of restriction takes the privilege away. True for ownership: an owner could rename the restricted table or drop its schema (seen on 483). */
  yieldsToRestrictions: boolean;
  /** Whether a row filter takes the privilege away, because the engine would ignore the filter or refuse every statement (seen on 483). */
  yieldsToFilters: boolean;
  /** Whether a mask takes the privilege away, because the engine would ignore the mask or refuse every statement (seen on 483). */
  yieldsToMasks: boolean;
  /** The access to the catalog (`allow` of a catalog rule) that the engine requires for the privilege; null: none. */
  catalogMode: 'read-only' | 'all' | null;
  /** Whether SQL statements use the privilege, so that its holders may also execute queries. */
  isUsedByStatements: boolean;
  /** Whether the engine checks the privilege for each column: SELECT, and GRANT_SELECT for views that others read. */
  readsColumns: boolean;
  /** The question whether a user holds the privilege at a node, or for a column there. */
  questionAt: (resource: NamedNode, column?: string) => Question;
  /** The privilege as a verb phrase, which the name of the node completes: `SELECT from`. */
  phrase: string;
}

const DEFAULT_TERMS = {
  holderTypes: POLICY_PRINCIPAL_TYPES,
  systemNodeKinds: [],
  components: [],
  alsoGives: [],
  alsoTakes: [],
  tablePrivilege: null,
  ownsSchemas: false,
  yieldsToRestrictions: false,
  yieldsToFilters: false,
  yieldsToMasks: false,
  routineRight: null,
  catalogMode: null,
  isUsedByStatements: true,
  readsColumns: false,
} as const satisfies Partial<PrivilegeTerms>;

function tableTerms(privilege: TablePrivilege, phrase: string) {
  return {
    ...DEFAULT_TERMS,
    family: 'table',
    nodeKinds: ['everything', ...LEVELS],
    tablePrivilege: privilege,
    catalogMode: 'all',
    questionAt: (resource, column) => ({ about: 'privilege', resource, privilege, column }),
    phrase,
  } as const satisfies PrivilegeTerms;
}

/** Describes a privilege on routines. To use it, a user also needs access to the catalog. */
function routineTerms(kind: RoutineQuestion['kind'], phrase: string, privilege: FunctionPrivilege = 'EXECUTE') {
  return {
    ...DEFAULT_TERMS,
    family: 'routine',
    nodeKinds: ['everything', 'catalog', 'schema', 'routine'],
    routineRight: { kind, privilege },
    catalogMode: 'read-only',
    questionAt: (resource) => ({ about: 'routine', kind, resource, privilege }),
    phrase,
  } as const satisfies PrivilegeTerms;
}

function engineTerms(question: Question, phrase: string, isUsedByStatements = false) {
  return {
    ...DEFAULT_TERMS,
    family: 'engine',
    nodeKinds: ['engine'],
    isUsedByStatements,
    questionAt: () => question,
    phrase,
  } as const satisfies PrivilegeTerms;
}

function queryTerms(right: 'view' | 'kill') {
  const queryQuestion = { about: 'queries', right } as const;
  return {
    ...engineTerms(queryQuestion, `${right} other people's queries on`),
    nodeKinds: ['engine', 'queries'],
    questionAt: ({ queries }) => (queries === undefined ? queryQuestion : { ...queryQuestion, owner: nameOf(queries) }),
  } as const satisfies PrivilegeTerms;
}

function nameOf(principal: NamedPolicyPrincipal | undefined): string {
  return principal !== undefined && 'name' in principal ? principal.name : '';
}

/** Properties of each privilege: where it can be granted, and its effect (docs/decisions/0031). */
export const PRIVILEGE_TERMS: Readonly<Record<Privilege, PrivilegeTerms>> = {
  SELECT: {
    ...tableTerms('SELECT', 'SELECT from'),
    systemNodeKinds: LEVELS,
    alsoTakes: ['GRANT_SELECT'],
    catalogMode: 'read-only',
    readsColumns: true,
  },
  INSERT: { ...tableTerms('INSERT', 'INSERT into'), yieldsToMasks: true },
  // A filter takes DELETE away, because TRUNCATE also uses DELETE and ignores filters (seen on 483).
  DELETE: { ...tableTerms('DELETE', 'DELETE from'), yieldsToFilters: true, yieldsToMasks: true },
  UPDATE: { ...tableTerms('UPDATE', 'UPDATE'), yieldsToFilters: true, yieldsToMasks: true },
  SCHEMA_OWNERSHIP: {
    ...tableTerms('OWNERSHIP', 'have OWNERSHIP of the schema'),
    family: 'schema',
    nodeKinds: ['everything', 'catalog', 'schema'],
    alsoTakes: ['OWNERSHIP'],
    tablePrivilege: null,
    ownsSchemas: true,
    yieldsToRestrictions: true,
    questionAt: ({ catalog, schema }, column) => ({
      about: 'schema-ownership',
      resource: nodeOf({ catalog, schema }),
      column,
    }),
  },
  TABLE_OWNERSHIP: {
    ...tableTerms('OWNERSHIP', 'have OWNERSHIP of'),
    alsoTakes: ['OWNERSHIP'],
    yieldsToRestrictions: true,
  },
  OWNERSHIP: {
    ...tableTerms('OWNERSHIP', 'have OWNERSHIP of'),
    components: ['SCHEMA_OWNERSHIP', 'TABLE_OWNERSHIP'],
    alsoGives: ['SCHEMA_OWNERSHIP', 'TABLE_OWNERSHIP'],
    alsoTakes: ['SCHEMA_OWNERSHIP', 'TABLE_OWNERSHIP'],
    ownsSchemas: true,
    yieldsToRestrictions: true,
    questionAt: (resource, column) =>
      resource.table === undefined
        ? { about: 'schema-ownership', resource, column }
        : { about: 'privilege', resource, privilege: 'OWNERSHIP', column },
  },
  GRANT_SELECT: { ...tableTerms('GRANT_SELECT', 'have GRANT_SELECT on'), alsoGives: ['SELECT'], readsColumns: true },
  EXECUTE_FUNCTION: { ...routineTerms('function', 'execute functions of'), alsoTakes: ['GRANT_EXECUTE_FUNCTION'] },
  // Lets the readers of a view run the functions that its owner used in the view.
  GRANT_EXECUTE_FUNCTION: {
    ...routineTerms('function', 'have GRANT_EXECUTE on functions of', 'GRANT_EXECUTE'),
    alsoGives: ['EXECUTE_FUNCTION'],
  },
  CALL_PROCEDURE: { ...routineTerms('procedure', 'call procedures of'), systemNodeKinds: ['routine'] },
  // Every privilege with `isUsedByStatements` also gives this right, even to users to whom EXECUTE_QUERIES is denied.
  EXECUTE_QUERIES: engineTerms({ about: 'queries', right: 'execute' }, 'execute queries on', true),
  VIEW_QUERIES: queryTerms('view'),
  // Includes the procedure `KILL_QUERY`. If the procedure is denied, holders can still kill queries by the engine's API.
  KILL_QUERIES: queryTerms('kill'),
  READ_SYSTEM_INFORMATION: engineTerms(
    { about: 'system-information', right: 'read' },
    'read the system information of',
  ),
  // Allows shutting nodes down.
  WRITE_SYSTEM_INFORMATION: {
    ...engineTerms({ about: 'system-information', right: 'write' }, 'write the system information of'),
    holderTypes: ['user', 'engine'],
  },
  // Only engine principals can hold this privilege. A session has the rights of the impersonated principal.
  IMPERSONATE: {
    ...DEFAULT_TERMS,
    family: 'acting',
    nodeKinds: ['acting'],
    holderTypes: ['engine'],
    isUsedByStatements: false,
    questionAt: ({ as }) => ({ about: 'impersonation', newUser: nameOf(as) }),
    phrase: 'act',
  },
};

/** The distinct privileges in the order of `PRIVILEGES`. */
export function orderedPrivileges(privileges: readonly Privilege[]): Privilege[] {
  return PRIVILEGES.filter((privilege) => privileges.includes(privilege));
}

/** The privileges that can be granted and denied on a node. */
export function privilegesOn(node: Node): Privilege[] {
  const kind = kindOf(node);
  return PRIVILEGES.filter((privilege) => {
    const { nodeKinds, systemNodeKinds } = PRIVILEGE_TERMS[privilege];
    if (node.catalog !== SYSTEM) return nodeKinds.includes(kind);
    // Only one routine of `system` can be granted.
    return systemNodeKinds.includes(kind) && (kind !== 'routine' || isKillQuery(node));
  });
}

/** Whether a privilege is about data: tables, their rows and columns, and schemas. */
export function isDataPrivilege(privilege: Privilege): boolean {
  const { family } = PRIVILEGE_TERMS[privilege];
  return family === 'table' || family === 'schema';
}

/** Whether a privilege is about functions and procedures. Restrictions of data take these privileges away. */
export function isRoutinePrivilege(privilege: Privilege): boolean {
  return PRIVILEGE_TERMS[privilege].family === 'routine';
}

/** All privileges that a grant of these privileges gives, including SELECT for GRANT_SELECT. */
export function privilegesGivenBy(privileges: readonly Privilege[]): Set<Privilege> {
  return new Set(privileges.flatMap((privilege) => [privilege, ...PRIVILEGE_TERMS[privilege].alsoGives]));
}

/** Replaces composite privileges by their parts: OWNERSHIP by SCHEMA_OWNERSHIP and TABLE_OWNERSHIP. */
export function splitComposites(privileges: readonly Privilege[]): Privilege[] {
  return privileges.flatMap((privilege) => {
    const { components } = PRIVILEGE_TERMS[privilege];
    return components.length === 0 ? [privilege] : [...components];
  });
}

/** Replaces components by their composite privilege if the list has every component. The result is in the order of `PRIVILEGES`. */
export function mergeIntoComposites(privileges: readonly Privilege[]): Privilege[] {
  const composites = COMPOSITE_PRIVILEGES.filter((composite) =>
    PRIVILEGE_TERMS[composite].components.every((component) => privileges.includes(component)),
  );
  const coveredComponents = splitComposites(composites);
  const otherPrivileges = privileges.filter(
    (privilege) => !COMPOSITE_PRIVILEGES.includes(privilege) && !coveredComponents.includes(privilege),
  );
  return orderedPrivileges([...otherPrivileges, ...composites]);
}

const COMPOSITE_PRIVILEGES = PRIVILEGES.filter((privilege) => PRIVILEGE_TERMS[privilege].components.length > 0);

/** All privileges that a deny of these privileges takes away, including GRANT_SELECT for SELECT. */
export function privilegesTakenBy(privileges: readonly Privilege[]): Set<Privilege> {
  return new Set(privileges.flatMap((privilege) => [privilege, ...PRIVILEGE_TERMS[privilege].alsoTakes]));
}

/** The reason why these privileges cannot be granted to a principal; null: they can. */
export function holderProblem(privileges: readonly Privilege[], { type }: PolicyPrincipal): string | null {
  const refusedPrivileges = privileges.filter((privilege) => !PRIVILEGE_TERMS[privilege].holderTypes.includes(type));
  const [first] = refusedPrivileges;
  if (first === undefined) return null;
  const holderTexts = PRIVILEGE_TERMS[first].holderTypes.map((type) => PRINCIPAL_TYPE_TEXTS[type]);
  return `${refusedPrivileges.join(', ')} can be granted to ${holderTexts.join(' or ')} alone`;
}
