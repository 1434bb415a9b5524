import { getOrInsert } from '../../kernel/collections.js';
import { resourceNameProblem } from '../../kernel/name.js';
import type { PatternCache } from '../../trino-rules/document/pattern-cache.js';
import { namesLeftOut } from '../../trino-rules/document/rule-language.js';
import type { RulesDocument } from '../../trino-rules/document/rules-document.js';
import type { EngineSets } from '../../trino-rules/engine/engine-sets.js';
import { type Level, SYSTEM, type Node } from '../../trino-rules/model/node.js';
import { privilegesOn } from '../../trino-rules/model/privilege.js';
import { closedProblem } from '../../trino-rules/model/resource.js';
import type { SnapshotSettings } from '../../trino-rules/model/snapshot.js';

/** A name of the engine: a catalog, a schema, or a table. */
export interface ListedName {
  catalog: string;
  schema?: string;
  table?: string;
}

export interface NamedNode {
  resource: Node;
  below: NamedNode[];
}

const STEPS_PER_NODE = 1_000;

/** The nodes that rules, settings and a listing name, the widest first. */
export function namedNodes(
  engine: EngineSets,
  settings: SnapshotSettings,
  listing: readonly ListedName[],
): NamedNode[] {
  const { functions, procedures, patterns, rules } = engine;
  const ofSettings = [...settings.writableCatalogs, ...settings.readableCatalogs];
  patterns.markSpelled(ofSettings);
  const known = new KnownNames(listing, rules, patterns);
  // Names of the engine's sets include witnesses of open patterns, which are not named by rules.
  const spelled = known.spelledNames();
  const nodesOf = (
    above: Node,
    level: Level,
    { ruled, listed }: { ruled: Iterable<string>; listed: Iterable<string> },
    below: (node: Node, name: string) => NamedNode[],
  ): NamedNode[] => {
    const names = new Set([...[...ruled].filter((name) => spelled.has(name)), ...listed]);
    return [...names].sort().flatMap((name) => {
      const resource = { ...above, [level]: name };
      if (resourceNameProblem(name) !== null || !isOpen(resource, settings)) return [];
      return [{ resource, below: below(resource, name) }];
    });
  };
  const routines = [functions, procedures].flatMap((trie) => [...trie.branch([]).names()]);
  const catalogs = { ruled: [...engine.catalogNames(), ...routines], listed: [...known.catalogs(), ...ofSettings] };
  return nodesOf({}, 'catalog', catalogs, (inCatalog, catalog) => {
    const schemas = { ruled: engine.schemaNames(catalog), listed: known.schemas(catalog) };
    return nodesOf(inCatalog, 'schema', schemas, (inSchema, schema) => {
      const ruled = [...engine.tables.branch([catalog, schema]).names()];
      const tables = nodesOf(inSchema, 'table', { ruled, listed: known.tables(catalog, schema) }, () => []);
      engine.spend(STEPS_PER_NODE * (tables.length + 1));
      return tables;
    });
  });
}

/** Whether access to data can be granted on a node. */
export function isOpen(resource: Node, { metadataCatalog }: SnapshotSettings): boolean {
  const isClosed = resource.catalog === SYSTEM || closedProblem(resource, metadataCatalog) !== null;
  return !isClosed && privilegesOn(resource).includes('SELECT');
}

interface NamedRule {
  catalog?: string | undefined;
  schema?: string | undefined;
  name?: string | undefined;
}

/** Further names with nodes of their own: those of a listing, where a rule matches only some names, and those that patterns exclude. */
class KnownNames {
  private readonly byCatalog = new Map<string, Map<string, Set<string>>>();
  private readonly rules: readonly NamedRule[];

  constructor(
    listing: readonly ListedName[],
    { catalogs, schemas, tables, functions, procedures }: RulesDocument,
    private readonly patterns: PatternCache,
  ) {
    for (const { catalog, schema, table } of listing) {
      if ([catalog, schema, table].some((name) => name !== undefined && resourceNameProblem(name) !== null)) continue;
      patterns.markSpelled([catalog, schema, table].filter((name) => name !== undefined));
      const known = getOrInsert(this.byCatalog, catalog, () => new Map<string, Set<string>>());
      if (schema === undefined) continue;
      const inSchema = getOrInsert(known, schema, () => new Set<string>());
      if (table !== undefined) inSchema.add(table);
    }
    const routines = [...functions, ...procedures].map(({ catalog, schema }) => ({ catalog, schema }));
    const onTables = tables.map(({ catalog, schema, table }) => ({ catalog, schema, name: table }));
    this.rules = [...catalogs, ...schemas, ...onTables, ...routines];
  }

  /** Names that rules spell out. */
  spelledNames(): Set<string> {
    const texts = new Set(this.rules.flatMap(({ catalog, schema, name }: NamedRule) => [catalog, schema, name]));
    return new Set([...texts].flatMap((text) => [...spelledNames(text, this.patterns)]));
  }

  catalogs(): Iterable<string> {
    return [...this.byCatalog.keys(), ...this.excludedNames(this.rules, 'catalog')];
  }

  schemas(catalog: string): Iterable<string> {
    const about = this.rules.filter((rule) => this.patterns.matches(rule.catalog, catalog));
    const isNeeded = about.some(({ schema, name }) => !(isAny(schema) && isAny(name)));
    const listed = isNeeded ? this.byCatalog.get(catalog)?.keys() : undefined;
    return [...(listed ?? []), ...this.excludedNames(about, 'schema')];
  }

  tables(catalog: string, schema: string): Iterable<string> {
    const { patterns } = this;
    const about = this.rules.filter(
      (rule) => patterns.matches(rule.catalog, catalog) && patterns.matches(rule.schema, schema),
    );
    const listed = about.every(({ name }) => isAny(name)) ? undefined : this.byCatalog.get(catalog)?.get(schema);
    return [...(listed ?? []), ...this.excludedNames(about, 'name')];
  }

  private excludedNames(rules: readonly NamedRule[], level: keyof NamedRule): string[] {
    return [...new Set(rules.map((rule) => rule[level]))].flatMap((text) => [...(leftOut(text, this.patterns) ?? [])]);
  }
}

/** Names that a pattern spells out. */
export function spelledNames(text: string | undefined, patterns: PatternCache): Iterable<string> {
  const language = patterns.language(text);
  if (language.kind === 'names') return language.names;
  return language.kind === 'open' ? language.spelled : [];
}

/** Whether a pattern matches every name. */
export function isAny(text: string | undefined): boolean {
  return text === undefined || text === '.*';
}

const LOOK_AHEAD = '(?!';
const MOST_NAMES = 100;
const MOST_NODES = 2_000;

/** Kept, because the few patterns of a file are looked up for each user and node. */
const found = new WeakMap<object, ReadonlySet<string> | null>();

/** The names that a pattern excludes if it matches nearly any, as `(?!secret$).*` does; null: it matches only some names. */
export function leftOut(text: string | undefined, patterns: PatternCache): ReadonlySet<string> | null {
  if (text === undefined || isAny(text)) return NONE;
  if (!text.includes(LOOK_AHEAD)) return null;
  const language = patterns.language(text);
  if (language.kind !== 'open') return null;
  const { pattern } = language;
  return getOrInsert(found, pattern, () => {
    const names = namesLeftOut(pattern, MOST_NAMES, MOST_NODES);
    return names && new Set(names);
  });
}

const NONE: ReadonlySet<string> = new Set();
