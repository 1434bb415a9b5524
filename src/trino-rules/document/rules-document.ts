/** The engine's words for privileges, in the engine's order: a file may name a privilege by its index (Trino, file-based access control). */
export const TABLE_PRIVILEGES = ['SELECT', 'INSERT', 'DELETE', 'UPDATE', 'OWNERSHIP', 'GRANT_SELECT'] as const;
export const FUNCTION_PRIVILEGES = ['EXECUTE', 'GRANT_EXECUTE', 'OWNERSHIP'] as const;
export const PROCEDURE_PRIVILEGES = ['EXECUTE', 'GRANT_EXECUTE'] as const;
/** Rights over queries: `execute` for own queries, `view` and `kill` for queries of other users. */
export const QUERY_RIGHTS = ['execute', 'view', 'kill'] as const;
/** Rights over nodes of the engine. `read`: metrics and threads of a node. `write`: shutting a node down. */
export const SYSTEM_INFORMATION_RIGHTS = ['read', 'write'] as const;

export type TablePrivilege = (typeof TABLE_PRIVILEGES)[number];
export type FunctionPrivilege = (typeof FUNCTION_PRIVILEGES)[number];
export type ProcedurePrivilege = (typeof PROCEDURE_PRIVILEGES)[number];
export type QueryRight = (typeof QUERY_RIGHTS)[number];
export type SystemInformationRight = (typeof SYSTEM_INFORMATION_RIGHTS)[number];

/**
 * Trino's `rules.json` as Grantline writes it: all sections, keys in the engine's order, no `role`, no `group`, no `principals`. Patterns
 * match whole names, and are in the common subset of Java and JavaScript. An absent pattern matches any name.
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

/** A filter that passes every row. The engine refuses table procedures on filtered tables (seen on 483), so users who only read get this filter. */
export const READERS_FILTER = 'true';

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
  /** Hides the column if false. */
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
  /** If present, the rule only decides about viewing and killing queries of owners who match this pattern. */
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

const MAX_PATTERN_LENGTH = 160;

/** A rule as text for people: one line of JSON, in which long patterns are cut. */
export function ruleText(rule: object): string {
  return JSON.stringify(rule, (_key, value: unknown) =>
    typeof value === 'string' && value.length > MAX_PATTERN_LENGTH
      ? `${value.slice(0, MAX_PATTERN_LENGTH)}… (${value.length} characters)`
      : value,
  );
}

/** The keys of patterns in each section: first users, then catalog, schema and so on. */
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

/** The pattern of a rule under a key; undefined matches any name. */
export function patternOf(rule: object, key: string): string | undefined {
  const value: unknown = Reflect.get(rule, key);
  return typeof value === 'string' ? value : undefined;
}

/** Prefix of the session property that marks the version of the rules in force. The hash of the version follows. */
export const MARKER_PREFIX = 'grantline_rules_';

export function withoutMarker({ system_session_properties: properties, ...document }: RulesDocument): RulesDocument {
  const unmarked = properties.filter(({ property }) => !property?.startsWith(MARKER_PREFIX));
  return { ...document, system_session_properties: unmarked };
}
