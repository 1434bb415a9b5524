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

interface RoutineName extends SchemaName {
  routine: string;
}

/** Readable with any mode of the catalog, independent of table rules. */
export const INFORMATION_SCHEMA = 'information_schema';

/**
 * Answers for one user as Trino's file access control does: the first matching rule of a section decides, and catalog modes gate
 * everything below. Compared with the engine's own classes by the stack suite. Names are as the engine passes them: objects in lower
 * case, users as typed. Has no groups and roles, which `readRules` refuses.
 */
export class Evaluator {
  readonly first: FirstMatch;

  /** @param rules the result of `readRules`, never the compiler's own structures */
  constructor(
    readonly rules: RulesDocument,
    patterns = new PatternCache(),
  ) {
    this.first = new FirstMatch(patterns);
  }

  /** An unnamed level of the node represents any name without a rule of its own. */
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

  /**
   * Whether statements may use a privilege on these columns of a table (`SELECT *` needs all). DELETE includes TRUNCATE; OWNERSHIP is for
   * DDL of tables and views, and SHOW CREATE TABLE. GRANT_SELECT is checked for a view's owner when another user reads the view.
   */
  mayUse(user: string, privilege: TablePrivilege, table: TableName, columns: readonly string[] = []): boolean {
    const { catalog, schema } = table;
    if (!(privilege === 'SELECT' ? this.mayRead(user, catalog) : this.mayWrite(user, catalog))) return false;
    if (schema === INFORMATION_SCHEMA) return true;
    const rule = this.decidingTableRule(user, table);
    if (privilege !== 'SELECT' && rule?.privileges.includes(privilege) !== true) return false;
    return (privilege !== 'SELECT' && privilege !== 'GRANT_SELECT') || opensColumns(rule, columns);
  }

  maySelect(user: string, table: TableName, columns: readonly string[]): boolean {
    return this.mayUse(user, 'SELECT', table, columns);
  }

  catalogMode(user: string, catalog: string): CatalogRule['allow'] {
    const rule = this.first.rule(this.rules.catalogs, { catalog, user });
    // The engine adds a last rule to the section: all users, `system`, all.
    return rule?.allow ?? (catalog === 'system' ? 'all' : 'none');
  }

  /** Ownership of a schema is for CREATE, DROP and RENAME SCHEMA, and SHOW CREATE SCHEMA. */
  ownsSchema(user: string, { catalog, schema }: SchemaName): boolean {
    if (!this.mayWrite(user, catalog)) return false;
    return this.first.rule(this.rules.schemas, { catalog, schema, user })?.owner === true;
  }

  tableRule(user: string, { catalog, schema, table }: TableName): RuleIndex {
    return this.first.index(this.rules.tables, { catalog, schema, table, user });
  }

  /** `ALTER TABLE … EXECUTE`: the engine asks for SELECT, and refuses it beside a row filter or a mask of the user's own (seen on 483). */
  mayRunTableProcedures(user: string, table: TableName): boolean {
    if (!this.maySelect(user, table, [])) return false;
    if (table.schema === INFORMATION_SCHEMA) return true;
    const rule = this.decidingTableRule(user, table);
    return rule?.filter === undefined && rule?.columns?.some(({ mask }) => mask !== undefined) !== true;
  }

  /** `view` and `kill` are about queries of another user; by default, one whom no rule names. One's own queries need no rule. */
  mayWithQueries(user: string, right: QueryRight, queryOwner = FRESH_PREFIX): boolean {
    const { queries } = this.rules;
    const rule =
      right === 'execute' // a rule about the queries of some users is none about executing
        ? queries.find((each) => each.queryOwner === undefined && this.first.matches(each, { user }))
        : this.first.rule(queries, { user, queryOwner });
    return rule?.allow.includes(right) === true;
  }

  /** Whether `original_user` may impersonate `new_user`, another name than its own. */
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

  private decidingTableRule(user: string, { catalog, schema, table }: TableName): TableRule | undefined {
    return this.first.rule(this.rules.tables, { catalog, schema, table, user });
  }
}

/** Index of the decidingTableRule rule in its section; null: no rule matches. */
export type RuleIndex = number | null;

/** The patterns of a rule, by the keys of the names that they are matched with; an absent one matches any name. */
export type Patterned<Key extends string> = Partial<Record<Key, string>>;

/** Finds the first rule of a section whose patterns all match. */
export class FirstMatch {
  constructor(private readonly patterns = new PatternCache()) {}

  index<Key extends string>(
    rules: readonly Patterned<NoInfer<Key>>[],
    names: Readonly<Record<Key, string>>,
  ): RuleIndex {
    const index = rules.findIndex((rule) => this.matches(rule, names));
    return index < 0 ? null : index;
  }

  rule<Key extends string, Rule extends Patterned<Key>>(
    rules: readonly Rule[],
    names: Readonly<Record<Key, string>>,
  ): Rule | undefined {
    return rules.find((rule) => this.matches(rule, names));
  }

  matches<Key extends string>(rule: Patterned<NoInfer<Key>>, names: Readonly<Record<Key, string>>): boolean {
    for (const key in names) {
      const pattern = rule[key];
      if (pattern !== undefined && !matches(this.patterns.pattern(pattern), names[key], this.patterns.budget))
        return false;
    }
    return true;
  }
}

/** A table at a node: an unnamed level has a fresh name. */
export function tableAt({ catalog = FRESH_PREFIX, schema = FRESH_PREFIX, table = FRESH_PREFIX }: Node): TableName {
  return { catalog, schema, table };
}

/** A routine at a node: an unnamed level has a fresh name. */
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
