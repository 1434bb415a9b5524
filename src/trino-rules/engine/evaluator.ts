import { FRESH_PREFIX } from '../document/open-names.js';
import { PatternCache } from '../document/pattern-cache.js';
import type {
  CatalogRule,
  QueryRight,
  RulesDocument,
  SystemInformationRight,
  TablePrivilege,
  TableRule,
} from '../document/rules-document.js';
import type { Question, RoutineQuestion } from '../model/question.js';
import type { Node } from '../model/node.js';
import { FirstMatch, type RuleIndex } from './first-match.js';

export interface SchemaName {
  catalog: string;
  schema: string;
}

export interface TableName extends SchemaName {
  table: string;
}

interface RoutineName extends SchemaName {
  routine: string;
}

/** Trino's own schema of names, which table rules do not govern: once a catalog may be read, so may this. */
export const INFORMATION_SCHEMA = 'information_schema';

/**
 * What Trino's file access control answers to one person at a time, written from the engine's documented behaviour
 * (the first rule of a section that matches decides; catalog modes gate everything below them) and compared with the
 * engine's own classes by the stack suite. Names are as the engine hands them in: objects in lower case, users as typed.
 * Knows nothing of groups and roles, which a document that `readRules` accepts never uses.
 */
export class Evaluator {
  /** Finds the rule of a section that decides. */
  readonly first: FirstMatch;

  /**
   * @param rules what `readRules` made of a text; the evaluator never sees the compiler's output structures
   * @param patterns where they are parsed already
   */
  constructor(
    readonly rules: RulesDocument,
    patterns = new PatternCache(),
  ) {
    this.first = new FirstMatch(patterns);
  }

  /** An unnamed level of the node stands for any name without a rule of its own. */
  allows(user: string, question: Question): boolean {
    switch (question.about) {
      case 'privilege': {
        const { privilege, column } = question;
        return this.mayUse(user, privilege, tableAt(question.resource), column === undefined ? [] : [column]);
      }
      case 'table-procedures':
        return this.mayRunTableProcedures(user, tableAt(question.resource));
      case 'schema-ownership':
        return this.ownsSchema(user, tableAt(question.resource));
      case 'catalog-mode':
        return this.catalogMode(user, question.resource.catalog) === question.mode;
      case 'queries':
        return this.mayWithQueries(user, question.right, question.owner);
      case 'impersonation':
        return this.mayImpersonate(user, question.newUser);
      case 'routine':
        return this.mayRun(user, question);
      case 'system-information':
        return this.mayWithSystemInformation(user, question.right);
      case 'session-property':
        return question.catalog === null
          ? this.maySetSystemSessionProperty(user, question.property)
          : this.maySetCatalogSessionProperty(user, question.catalog, question.property);
    }
  }

  /** The statements that a privilege is for, on these columns of a table. */
  mayUse(user: string, privilege: TablePrivilege, table: TableName, columns: readonly string[] = []): boolean {
    switch (privilege) {
      case 'SELECT':
        return this.maySelect(user, table, columns);
      case 'GRANT_SELECT':
        return this.mayShareInView(user, table, columns);
      case 'INSERT':
      case 'DELETE':
      case 'UPDATE':
      case 'OWNERSHIP':
        return this.mayWriteTable(user, table, privilege);
    }
  }

  catalogMode(user: string, catalog: string): CatalogRule['allow'] {
    const rule = this.first.rule(this.rules.catalogs, { catalog, user });
    // Where there is a catalogs section, the engine adds a last rule of its own: all users, `system`, all.
    return rule?.allow ?? (catalog === 'system' ? 'all' : 'none');
  }

  /** CREATE, DROP and RENAME SCHEMA, SHOW CREATE SCHEMA. */
  ownsSchema(user: string, { catalog, schema }: SchemaName): boolean {
    if (!this.mayWrite(user, catalog)) return false;
    return this.first.rule(this.rules.schemas, { catalog, schema, user })?.owner === true;
  }

  tableRule(user: string, { catalog, schema, table }: TableName): RuleIndex {
    return this.first.index(this.rules.tables, { catalog, schema, table, user });
  }

  /** SELECT of these columns; every one of them must be open, and `SELECT *` touches all. */
  maySelect(user: string, table: TableName, columns: readonly string[]): boolean {
    if (!this.mayRead(user, table.catalog)) return false;
    return table.schema === INFORMATION_SCHEMA || opensColumns(this.deciding(user, table), columns);
  }

  /** INSERT, UPDATE, DELETE (and TRUNCATE); OWNERSHIP: create, drop and alter tables and views, SHOW CREATE TABLE. */
  mayWriteTable(
    user: string,
    table: TableName,
    privilege: Exclude<TablePrivilege, 'SELECT' | 'GRANT_SELECT'>,
  ): boolean {
    if (!this.mayWrite(user, table.catalog)) return false;
    return table.schema === INFORMATION_SCHEMA || this.deciding(user, table)?.privileges.includes(privilege) === true;
  }

  /** Checked for a view's owner when another user reads the view: the owner needs the catalog mode `all`. */
  mayShareInView(owner: string, table: TableName, columns: readonly string[]): boolean {
    if (!this.mayWrite(owner, table.catalog)) return false;
    if (table.schema === INFORMATION_SCHEMA) return true;
    const rule = this.deciding(owner, table);
    return opensColumns(rule, columns) && rule?.privileges.includes('GRANT_SELECT') === true;
  }

  /** `ALTER TABLE … EXECUTE`: the engine asks for SELECT, and refuses it beside a row filter or a mask of the user's own (seen on 483). */
  mayRunTableProcedures(user: string, table: TableName): boolean {
    if (!this.maySelect(user, table, [])) return false;
    if (table.schema === INFORMATION_SCHEMA) return true;
    const rule = this.deciding(user, table);
    return rule?.filter === undefined && rule?.columns?.some(({ mask }) => mask !== undefined) !== true;
  }

  rowFilter(user: string, table: TableName): string | null {
    return table.schema === INFORMATION_SCHEMA ? null : (this.deciding(user, table)?.filter ?? null);
  }

  columnMask(user: string, table: TableName, column: string): string | null {
    if (table.schema === INFORMATION_SCHEMA) return null;
    return this.deciding(user, table)?.columns?.find(({ name }) => name === column)?.mask ?? null;
  }

  /** `view` and `kill` are about the queries of another user, or of one whom no rule names; one's own the engine opens without asking. */
  mayWithQueries(user: string, right: QueryRight, owner?: string): boolean {
    return this.rules.queries[this.queryRule(user, right, owner) ?? -1]?.allow.includes(right) === true;
  }

  /** A rule about the queries of some users is none about executing. */
  queryRule(user: string, right: QueryRight, queryOwner = FRESH_PREFIX): RuleIndex {
    const { queries } = this.rules;
    if (right !== 'execute') return this.first.index(queries, { user, queryOwner });
    const index = queries.findIndex((rule) => rule.queryOwner === undefined && this.first.matches(rule, { user }));
    return index < 0 ? null : index;
  }

  /** May `original_user` become `new_user`, another name than its own? */
  mayImpersonate(original_user: string, new_user: string): boolean {
    return this.first.rule(this.rules.impersonation, { original_user, new_user })?.allow === true;
  }

  /** `read`: metrics and threads of a node; `write`: shutting it down. */
  mayWithSystemInformation(user: string, right: SystemInformationRight): boolean {
    return this.first.rule(this.rules.system_information, { user })?.allow.includes(right) === true;
  }

  maySetSystemSessionProperty(user: string, property: string): boolean {
    return this.first.rule(this.rules.system_session_properties, { user, property })?.allow === true;
  }

  maySetCatalogSessionProperty(user: string, catalog: string, property: string): boolean {
    if (!this.mayRead(user, catalog)) return false;
    return this.first.rule(this.rules.catalog_session_properties, { user, catalog, property })?.allow === true;
  }

  mayRead(user: string, catalog: string): boolean {
    return this.catalogMode(user, catalog) !== 'none';
  }

  mayWrite(user: string, catalog: string): boolean {
    return this.catalogMode(user, catalog) === 'all';
  }

  /**
   * A connector's procedure, function or table function; built-in functions are open to all users. GRANT_EXECUTE is checked for a
   * view's owner when another user reads the view.
   */
  mayRun(user: string, { kind, resource, privilege }: Omit<RoutineQuestion, 'about'>): boolean {
    const { catalog, schema, routine } = routineAt(resource);
    if (!this.mayRead(user, catalog)) return false;
    const rule =
      kind === 'function'
        ? this.first.rule(this.rules.functions, { user, catalog, schema, function: routine })
        : this.first.rule(this.rules.procedures, { user, catalog, schema, procedure: routine });
    // GRANT_EXECUTE contains EXECUTE.
    const giving = privilege === 'EXECUTE' ? ['EXECUTE', 'GRANT_EXECUTE'] : [privilege];
    return rule?.privileges.some((each) => giving.includes(each)) === true;
  }

  private deciding(user: string, { catalog, schema, table }: TableName): TableRule | undefined {
    return this.first.rule(this.rules.tables, { catalog, schema, table, user });
  }
}

/** A table at a node: an unnamed level has a fresh name. */
export function tableAt({ catalog = FRESH_PREFIX, schema = FRESH_PREFIX, table = FRESH_PREFIX }: Node): TableName {
  return { catalog, schema, table };
}

/** The same of a routine. */
export function routineAt({
  catalog = FRESH_PREFIX,
  schema = FRESH_PREFIX,
  routine = FRESH_PREFIX,
}: Node): RoutineName {
  return { catalog, schema, routine };
}

function opensColumns(rule: TableRule | undefined, columns: readonly string[]): boolean {
  if (rule === undefined) return false;
  const reads = rule.privileges.includes('SELECT') || rule.privileges.includes('GRANT_SELECT');
  return reads && columns.every((column) => !hides(rule, column));
}

export function hides(rule: TableRule, column: string): boolean {
  return rule.columns?.some(({ name, allow }) => name === column && allow === false) === true;
}
