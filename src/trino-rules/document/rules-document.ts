/** The engine's words in its order, because a file may hold a word's index instead (Trino, file-based access control). */
export const TABLE_PRIVILEGES = ['SELECT', 'INSERT', 'DELETE', 'UPDATE', 'OWNERSHIP', 'GRANT_SELECT'] as const;
export const FUNCTION_PRIVILEGES = ['EXECUTE', 'GRANT_EXECUTE', 'OWNERSHIP'] as const;
export const PROCEDURE_PRIVILEGES = ['EXECUTE', 'GRANT_EXECUTE'] as const;
/** Rights over queries: one's own, then other users'. */
export const QUERY_RIGHTS = ['execute', 'view', 'kill'] as const;
/** `read`: metrics and threads of a node; `write`: shutting it down. */
export const SYSTEM_INFORMATION_RIGHTS = ['read', 'write'] as const;

export type TablePrivilege = (typeof TABLE_PRIVILEGES)[number];
export type FunctionPrivilege = (typeof FUNCTION_PRIVILEGES)[number];
export type ProcedurePrivilege = (typeof PROCEDURE_PRIVILEGES)[number];
export type QueryRight = (typeof QUERY_RIGHTS)[number];
export type SystemInformationRight = (typeof SYSTEM_INFORMATION_RIGHTS)[number];

/**
 * Trino's `rules.json` as Grantline writes it: all sections, keys in the engine's order, no `role`, no `group`, no `principals`. Patterns
 * match whole strings, in the common subset of Java and JavaScript; an absent one matches any name.
 */
export interface RulesDocument {
  catalogs: CatalogRule[];
  schemas: SchemaRule[];
  tables: TableRule[];
  queries: QueryRule[];
  impersonation: ImpersonationRule[];
  functions: FunctionRule[];
  procedures: ProcedureRule[];
  system_information: SystemInformationRule[];
  system_session_properties: SystemSessionPropertyRule[];
  catalog_session_properties: CatalogSessionPropertyRule[];
}

/** The filter of users who only read: it passes every row, and the engine refuses table procedures beside it (seen on 483). */
export const READERS_FILTER = 'true';

/** Number of rules in all sections. */
export function ruleCount(document: RulesDocument): number {
  return Object.values<readonly unknown[]>({ ...document }).reduce((sum, section) => sum + section.length, 0);
}

export interface CatalogRule {
  user?: string;
  catalog?: string;
  allow: 'all' | 'read-only' | 'none';
}

interface RuleInSchema {
  user?: string;
  catalog?: string;
  schema?: string;
}

export interface SchemaRule extends RuleInSchema {
  owner: boolean;
}

export interface ColumnRule {
  name: string;
  /** False: the column is hidden. */
  allow?: boolean;
  mask?: string;
}

export interface TableRule extends RuleInSchema {
  table?: string;
  privileges: TablePrivilege[];
  columns?: ColumnRule[];
  filter?: string;
}

export interface QueryRule {
  user?: string;
  /** Pattern of owners: the rule is then only about viewing and killing the queries of these users. */
  queryOwner?: string;
  allow: QueryRight[];
}

export interface ImpersonationRule {
  original_user?: string;
  new_user: string;
  allow: boolean;
}

export interface FunctionRule extends RuleInSchema {
  function?: string;
  privileges: FunctionPrivilege[];
}

export interface ProcedureRule extends RuleInSchema {
  procedure?: string;
  privileges: ProcedurePrivilege[];
}

export interface SystemInformationRule {
  user?: string;
  allow: SystemInformationRight[];
}

export interface SystemSessionPropertyRule {
  user?: string;
  property?: string;
  allow: boolean;
}

export interface CatalogSessionPropertyRule extends SystemSessionPropertyRule {
  catalog?: string;
}

const LONGEST = 160;

/** A rule for people: one line of JSON with long patterns cut. */
export function ruleText(rule: object): string {
  return JSON.stringify(rule, (_key, value: unknown) =>
    typeof value === 'string' && value.length > LONGEST
      ? `${value.slice(0, LONGEST)}… (${value.length} characters)`
      : value,
  );
}

/** Pattern keys of each section: users, then objects from the widest level down. */
export const RULE_PATTERNS: readonly (readonly [section: keyof RulesDocument, ...keys: string[]])[] = [
  ['catalogs', 'user', 'catalog'],
  ['schemas', 'user', 'catalog', 'schema'],
  ['tables', 'user', 'catalog', 'schema', 'table'],
  ['queries', 'user', 'queryOwner'],
  ['impersonation', 'original_user', 'new_user'],
  ['functions', 'user', 'catalog', 'schema', 'function'],
  ['procedures', 'user', 'catalog', 'schema', 'procedure'],
  ['system_information', 'user'],
  ['system_session_properties', 'user', 'property'],
  ['catalog_session_properties', 'user', 'catalog', 'property'],
];

/** A document without rules, which denies everything. */
export const NO_RULES = Object.fromEntries(RULE_PATTERNS.map(([section]) => [section, []])) as unknown as RulesDocument;

/** A pattern of a rule; undefined matches any name. */
export function patternOf(rule: object, key: string): string | undefined {
  const value: unknown = Reflect.get(rule, key);
  return typeof value === 'string' ? value : undefined;
}

/** Prefix of the session property that marks the version in force, before its hash. */
export const MARKER = 'grantline_rules_';
