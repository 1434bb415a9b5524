import type { Privilege } from '../model/privilege.js';

/**
 * Trino's `rules.json` as Grantline writes it: all nine sections present, keys in the engine's order, no `role`, no `group`,
 * no `principals`. Every pattern is a whole-string match in the subset that Java and JavaScript read alike.
 * An absent pattern means "any".
 */
export interface RulesDocument {
  catalogs: CatalogRule[];
  schemas: SchemaRule[];
  tables: TableRule[];
  queries: QueryRule[];
  impersonation: ImpersonationRule[];
  functions: FunctionRule[];
  procedures: ProcedureRule[];
  system_session_properties: SystemSessionPropertyRule[];
  catalog_session_properties: CatalogSessionPropertyRule[];
}

/** How many rules there are, in all sections. */
export function ruleCount(document: RulesDocument): number {
  return Object.values<readonly unknown[]>({ ...document }).reduce((sum, section) => sum + section.length, 0);
}

/** Nobody may anything. */
export const NO_RULES: RulesDocument = {
  catalogs: [],
  schemas: [],
  tables: [],
  queries: [],
  impersonation: [],
  functions: [],
  procedures: [],
  system_session_properties: [],
  catalog_session_properties: [],
};

export interface CatalogRule {
  user?: string;
  catalog?: string;
  allow: 'all' | 'read-only' | 'none';
}

export interface SchemaRule {
  user?: string;
  catalog?: string;
  schema?: string;
  owner: boolean;
}

export interface ColumnRule {
  name: string;
  /** False: the column is hidden. */
  allow?: boolean;
  mask?: string;
}

export interface TableRule {
  user?: string;
  catalog?: string;
  schema?: string;
  table?: string;
  privileges: Privilege[];
  columns?: ColumnRule[];
  filter?: string;
}

export interface QueryRule {
  user?: string;
  allow: ('execute' | 'view' | 'kill')[];
}

export interface ImpersonationRule {
  original_user?: string;
  new_user: string;
  allow: boolean;
}

export interface FunctionRule {
  user?: string;
  catalog?: string;
  schema?: string;
  function?: string;
  privileges: ('EXECUTE' | 'GRANT_EXECUTE' | 'OWNERSHIP')[];
}

export interface ProcedureRule {
  user?: string;
  catalog?: string;
  schema?: string;
  procedure?: string;
  privileges: ('EXECUTE' | 'GRANT_EXECUTE')[];
}

export interface SystemSessionPropertyRule {
  user?: string;
  property?: string;
  allow: boolean;
}

export interface CatalogSessionPropertyRule {
  user?: string;
  catalog?: string;
  property?: string;
  allow: boolean;
}
