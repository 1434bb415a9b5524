import { resourceNameProblem } from '../../kernel/name.js';
import { getOrInsert } from '../../kernel/collections.js';
import type { PatternCache } from '../../trino-rules/document/pattern-cache.js';
import type { RulesDocument } from '../../trino-rules/document/rules-document.js';
import { isAny, leftOut } from './nearly-any.js';

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

/**
 * The names of a listing over which patterns are resolved: those where a rule is about some of the names alone. And the names that
 * a pattern leaves out of all.
 */
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
    this.rules = [...catalogs, ...schemas, ...onTables, ...routines];
  }

  catalogs(): Iterable<string> {
    return [...this.byCatalog.keys(), ...this.leftOut(this.rules, 'catalog')];
  }

  schemas(catalog: string): Iterable<string> {
    const about = this.rules.filter((rule) => this.patterns.matches(rule.catalog, catalog));
    const isNeeded = about.some(({ schema, name }) => !(isAny(schema) && isAny(name)));
    const listed = isNeeded ? this.byCatalog.get(catalog)?.keys() : undefined;
    return [...(listed ?? []), ...this.leftOut(about, 'schema')];
  }

  tables(catalog: string, schema: string): Iterable<string> {
    const { patterns } = this;
    const about = this.rules.filter(
      (rule) => patterns.matches(rule.catalog, catalog) && patterns.matches(rule.schema, schema),
    );
    const listed = about.every(({ name }) => isAny(name)) ? undefined : this.byCatalog.get(catalog)?.get(schema);
    return [...(listed ?? []), ...this.leftOut(about, 'name')];
  }

  private leftOut(rules: readonly NamedRule[], level: keyof NamedRule): string[] {
    return [...new Set(rules.map((rule) => rule[level]))].flatMap((text) => [...(leftOut(text, this.patterns) ?? [])]);
  }
}
