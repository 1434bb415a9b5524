import { FRESH_PREFIX } from '../document/open-names.js';
import { PatternCache } from '../document/pattern-cache.js';
import { matches } from '../document/pattern-meaning.js';
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

export interface SchemaName {
  catalog: string;
  schema: string;
}

export interface TableName extends SchemaName {
  table: string;
}

/** The schema that all users with access to its catalog may read, independent of the table rules. */
export const INFORMATION_SCHEMA = 'information_schema';

/**
 * Answers for one user like Trino's file access control: the first matching rule of a section decides, and everything in a catalog also
 * needs access to the catalog. The suite `test/stack` compares the answers with the engine's classes. Names are as the engine passes them:
 * objects in lower case, users as typed. Groups and roles are not supported, because `readRules` refuses them.
 */
export class Evaluator {
  readonly firstMatch: FirstMatch;

  /** @param rules must come from `readRules`, not from the compiler, so that the written text is what is evaluated */
  constructor(
    readonly rules: RulesDocument,
    patterns = new PatternCache(),
  ) {
    this.firstMatch = new FirstMatch(patterns);
  }

  /** Whether a user has the right in question. An absent level of the node means a name that no rule names. */
  allows(user: string, question: Question): boolean {
    switch (question.about) {
      case 'privilege': {
        const { privilege, resource, column } = question;
        return this.hasTablePrivilege(user, privilege, tableAt(resource), column === undefined ? [] : [column]);
      }
      case 'table-procedures':
        return this.mayRunTableProcedures(user, tableAt(question.resource));
      case 'schema-ownership':
        return this.ownsSchema(user, tableAt(question.resource));
      case 'catalog-mode':
        return this.catalogMode(user, question.resource.catalog) === question.mode;
      case 'queries':
        return this.hasQueryRight(user, question.right, question.owner);
      case 'impersonation':
        return this.mayImpersonate(user, question.newUser);
      case 'routine':
        return this.mayRunRoutine(user, question);
      case 'system-information':
        return this.hasSystemInformationRight(user, question.right);
      case 'session-property':
        return question.catalog === null
          ? this.maySetSystemSessionProperty(user, question.property)
          : this.maySetCatalogSessionProperty(user, question.catalog, question.property);
    }
  }

  /**
   * Whether statements of a user may use a privilege on these columns of a table. DELETE is also needed for TRUNCATE, and OWNERSHIP for
   * DDL and SHOW CREATE TABLE. GRANT_SELECT is checked for the owner of a view when another user reads the view.
   */
  hasTablePrivilege(
    user: string,
    privilege: TablePrivilege,
    table: TableName,
    columns: readonly string[] = [],
  ): boolean {
    const { catalog, schema } = table;
    if (!(privilege === 'SELECT' ? this.mayReadCatalog(user, catalog) : this.mayWriteCatalog(user, catalog)))
      return false;
    if (schema === INFORMATION_SCHEMA) return true;
    const rule = this.rules.tables[this.tableRuleIndex(user, table) ?? -1];
    if (privilege !== 'SELECT' && rule?.privileges.includes(privilege) !== true) return false;
    if (privilege !== 'SELECT' && privilege !== 'GRANT_SELECT') return true;
    const allowsReading = rule?.privileges.some((each) => each === 'SELECT' || each === 'GRANT_SELECT');
    return rule !== undefined && allowsReading === true && columns.every((column) => !hidesColumn(rule, column));
  }

  catalogMode(user: string, catalog: string): CatalogRule['allow'] {
    const rule = this.firstMatch.rule(this.rules.catalogs, { catalog, user });
    // The engine adds a last catalog rule that gives all users the mode `all` in `system`.
    return rule?.allow ?? (catalog === 'system' ? 'all' : 'none');
  }

  /** Whether a user owns a schema, which CREATE, DROP, RENAME and SHOW CREATE SCHEMA need. */
  ownsSchema(user: string, { catalog, schema }: SchemaName): boolean {
    if (!this.mayWriteCatalog(user, catalog)) return false;
    return this.firstMatch.rule(this.rules.schemas, { catalog, schema, user })?.owner === true;
  }

  tableRuleIndex(user: string, { catalog, schema, table }: TableName): number | null {
    return this.firstMatch.index(this.rules.tables, { catalog, schema, table, user });
  }

  /** Whether a user may `ALTER TABLE … EXECUTE`: this needs SELECT, and the engine refuses it if a filter or mask applies (seen on 483). */
  mayRunTableProcedures(user: string, table: TableName): boolean {
    if (!this.hasTablePrivilege(user, 'SELECT', table)) return false;
    if (table.schema === INFORMATION_SCHEMA) return true;
    const rule = this.rules.tables[this.tableRuleIndex(user, table) ?? -1];
    return rule?.filter === undefined && rule?.columns?.some(({ mask }) => mask !== undefined) !== true;
  }

  /** @param queryOwner the owner of the queries to `view` or `kill`; by default an invented user, whom no rule names */
  hasQueryRight(user: string, right: QueryRight, queryOwner = FRESH_PREFIX): boolean {
    const { queries } = this.rules;
    const rule =
      right === 'execute' // a rule with `queryOwner` does not decide about executing queries
        ? queries.find((each) => each.queryOwner === undefined && this.firstMatch.matches(each, { user }))
        : this.firstMatch.rule(queries, { user, queryOwner });
    return rule?.allow.includes(right) === true;
  }

  mayImpersonate(original_user: string, new_user: string): boolean {
    return this.firstMatch.rule(this.rules.impersonation, { original_user, new_user })?.allow === true;
  }

  /** Whether a user may read metrics and threads of a node (`read`), or shut a node down (`write`). */
  hasSystemInformationRight(user: string, right: SystemInformationRight): boolean {
    return this.firstMatch.rule(this.rules.system_information, { user })?.allow.includes(right) === true;
  }

  maySetSystemSessionProperty(user: string, property: string): boolean {
    return this.firstMatch.rule(this.rules.system_session_properties, { user, property })?.allow === true;
  }

  maySetCatalogSessionProperty(user: string, catalog: string, property: string): boolean {
    if (!this.mayReadCatalog(user, catalog)) return false;
    return this.firstMatch.rule(this.rules.catalog_session_properties, { user, catalog, property })?.allow === true;
  }

  mayReadCatalog(user: string, catalog: string): boolean {
    return this.catalogMode(user, catalog) !== 'none';
  }

  mayWriteCatalog(user: string, catalog: string): boolean {
    return this.catalogMode(user, catalog) === 'all';
  }

  /**
   * Whether a user may run a connector's procedure, function or table function. All users may run built-in functions. GRANT_EXECUTE is
   * checked for the owner of a view when another user reads the view.
   */
  mayRunRoutine(user: string, { kind, resource, privilege }: Omit<RoutineQuestion, 'about'>): boolean {
    const { catalog, schema, routine } = routineAt(resource);
    if (!this.mayReadCatalog(user, catalog)) return false;
    const rule =
      kind === 'function'
        ? this.firstMatch.rule(this.rules.functions, { user, catalog, schema, function: routine })
        : this.firstMatch.rule(this.rules.procedures, { user, catalog, schema, procedure: routine });
    // GRANT_EXECUTE includes EXECUTE.
    const sufficientPrivileges = privilege === 'EXECUTE' ? ['EXECUTE', 'GRANT_EXECUTE'] : [privilege];
    return rule?.privileges.some((each) => sufficientPrivileges.includes(each)) === true;
  }
}

/** A rule's patterns by key. An absent pattern matches any name. */
export type RulePatternsOf<Key extends string> = Partial<Record<Key, string>>;

/** Finds the first rule of a section whose patterns all match. */
export class FirstMatch {
  constructor(private readonly patterns = new PatternCache()) {}

  index<Key extends string>(
    rules: readonly RulePatternsOf<NoInfer<Key>>[],
    names: Readonly<Record<Key, string>>,
  ): number | null {
    const index = rules.findIndex((rule) => this.matches(rule, names));
    return index < 0 ? null : index;
  }

  rule<Key extends string, Rule extends RulePatternsOf<Key>>(
    rules: readonly Rule[],
    names: Readonly<Record<Key, string>>,
  ): Rule | undefined {
    return rules.find((rule) => this.matches(rule, names));
  }

  matches<Key extends string>(rule: RulePatternsOf<NoInfer<Key>>, names: Readonly<Record<Key, string>>): boolean {
    for (const key in names) {
      const pattern = rule[key];
      if (pattern !== undefined && !matches(this.patterns.pattern(pattern), names[key], this.patterns.budget))
        return false;
    }
    return true;
  }
}

/** The names of a table. An absent level gets a fresh name, which occurs in no rule. */
export function tableAt({ catalog = FRESH_PREFIX, schema = FRESH_PREFIX, table = FRESH_PREFIX }: Node): TableName {
  return { catalog, schema, table };
}

/** The names of a routine. An absent level gets a fresh name, which occurs in no rule. */
export function routineAt({
  catalog = FRESH_PREFIX,
  schema = FRESH_PREFIX,
  routine = FRESH_PREFIX,
}: Node): SchemaName & { routine: string } {
  return { catalog, schema, routine };
}

export function hidesColumn(rule: TableRule, column: string): boolean {
  return rule.columns?.some(({ name, allow }) => name === column && allow === false) === true;
}
