import { resourceNameProblem } from '../../kernel/name.js';
import { getOrInsert } from '../../kernel/get-or-insert.js';
import type { PatternCache } from '../../trino-rules/document/pattern-cache.js';
import type { RulesDocument } from '../../trino-rules/document/rules-document.js';

/** What the engine has: a catalog, a schema, or a table. */
export interface ListedName {
  catalog: string;
  schema?: string;
  table?: string;
}

interface NamedRule {
  catalog?: string | undefined;
  schema?: string | undefined;
  name?: string | undefined;
}

/** The names of a listing over which patterns are resolved: those where a rule is about some of the names alone. */
export class KnownNames {
  private readonly byCatalog = new Map<string, Map<string, Set<string>>>();
  private readonly rules: readonly NamedRule[];

  constructor(
    listing: readonly ListedName[],
    { catalogs, schemas, tables, functions, procedures }: RulesDocument,
    private readonly patterns: PatternCache,
  ) {
    for (const { catalog, schema, table } of listing) {
      if ([catalog, schema, table].some((name) => name !== undefined && resourceNameProblem(name) !== null)) continue;
      patterns.take([catalog, schema, table].filter((name) => name !== undefined));
      const known = getOrInsert(this.byCatalog, catalog, () => new Map<string, Set<string>>());
      if (schema === undefined) continue;
      const inSchema = getOrInsert(known, schema, () => new Set<string>());
      if (table !== undefined) inSchema.add(table);
    }
    const routines = [...functions, ...procedures].map(({ catalog, schema }) => ({ catalog, schema }));
    const onTables = tables.map(({ catalog, schema, table }) => ({ catalog, schema, name: table }));
    this.rules = this.byCatalog.size === 0 ? [] : [...catalogs, ...schemas, ...onTables, ...routines];
  }

  catalogs(): Iterable<string> {
    return this.rules.length > 0 ? this.byCatalog.keys() : [];
  }

  schemas(catalog: string): Iterable<string> {
    const isNeeded = this.rules.some(
      ({ catalog: catalogs, schema, name }) =>
        !(isAny(schema) && isAny(name)) && this.patterns.matches(catalogs, catalog),
    );
    return isNeeded ? (this.byCatalog.get(catalog)?.keys() ?? []) : [];
  }

  tables(catalog: string, schema: string): Iterable<string> {
    const isNeeded = this.rules.some(
      ({ catalog: catalogs, schema: schemas, name }) =>
        !isAny(name) && this.patterns.matches(catalogs, catalog) && this.patterns.matches(schemas, schema),
    );
    return isNeeded ? (this.byCatalog.get(catalog)?.get(schema) ?? []) : [];
  }
}

function isAny(pattern: string | undefined): boolean {
  return pattern === undefined || pattern === '.*';
}
