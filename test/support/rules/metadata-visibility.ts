import {
  FirstMatch,
  hidesColumn,
  INFORMATION_SCHEMA,
  type Evaluator,
  type RulePatternsOf,
  type SchemaName,
  type TableName,
} from '../../../src/trino-rules/engine/evaluator.js';

/**
 * What the engine's listings show to one person (SHOW CATALOGS, SHOW SCHEMAS, SHOW TABLES, DESCRIBE, and the rows of
 * `information_schema` and `system.jdbc`). Catalogs and schemas follow any rule, not the first: names are no secrets.
 */
export class MetadataVisibility {
  private readonly any = new FirstMatch();

  constructor(private readonly evaluator: Evaluator) {}

  showsCatalog(user: string, catalog: string): boolean {
    const { rules } = this.evaluator;
    const matches = (rule: SchemaPatterns): boolean => this.any.matches(rule, { user, catalog });
    const sets = rules.catalog_session_properties.some((rule) => rule.allow && matches(rule));
    return this.evaluator.mayReadCatalog(user, catalog) && (sets || this.givesAnything(matches));
  }

  showsSchema(user: string, { catalog, schema }: SchemaName): boolean {
    return (
      this.evaluator.mayReadCatalog(user, catalog) &&
      this.givesAnything((rule) => this.any.matches(rule, { user, catalog, schema }))
    );
  }

  /** Owned, or with any privilege at all. */
  showsTable(user: string, table: TableName): boolean {
    return this.evaluator.ownsSchema(user, table) || this.showsColumns(user, table);
  }

  /** With any privilege at all: whether there is an answer to DESCRIBE. */
  showsColumns(user: string, table: TableName): boolean {
    if (!this.evaluator.mayReadCatalog(user, table.catalog)) return false;
    if (table.schema === INFORMATION_SCHEMA) return true;
    const rule = this.evaluator.tableRuleIndex(user, table);
    return rule !== null && (this.evaluator.rules.tables[rule]?.privileges.length ?? 0) > 0;
  }

  /** Users with more than read access see hidden columns too. */
  showsColumn(user: string, table: TableName, column: string): boolean {
    if (!this.evaluator.mayReadCatalog(user, table.catalog)) return false;
    if (table.schema === INFORMATION_SCHEMA) return true;
    const index = this.evaluator.tableRuleIndex(user, table);
    const rule = index === null ? undefined : this.evaluator.rules.tables[index];
    if (rule === undefined || rule.privileges.length === 0) return false;
    const onlyReads = rule.privileges.every((privilege) => privilege === 'SELECT' || privilege === 'GRANT_SELECT');
    return !onlyReads || !hidesColumn(rule, column);
  }

  private givesAnything(matches: (rule: SchemaPatterns) => boolean): boolean {
    const { schemas, tables, functions, procedures } = this.evaluator.rules;
    return (
      schemas.some((rule) => rule.owner && matches(rule)) ||
      [...tables, ...functions, ...procedures].some((rule) => rule.privileges.length > 0 && matches(rule))
    );
  }
}

type SchemaPatterns = RulePatternsOf<'user' | 'catalog' | 'schema'>;
