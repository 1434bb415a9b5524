import { getOrInsert } from '../../kernel/collections.js';
import { resourceNameProblem } from '../../kernel/name.js';
import type { PatternCache } from '../../trino-rules/document/pattern-cache.js';
import { namesExcludedBy } from '../../trino-rules/document/rule-language.js';
import type { RulesDocument } from '../../trino-rules/document/rules-document.js';
import type { EngineSets } from '../../trino-rules/engine/engine-sets.js';
import { type Level, SYSTEM, type Node } from '../../trino-rules/model/node.js';
import { privilegesOn } from '../../trino-rules/model/privilege.js';
import { closedProblem } from '../../trino-rules/model/resource.js';
import type { SnapshotSettings } from '../../trino-rules/model/snapshot.js';

/** A catalog, a schema or a table that exists on the engine. */
export interface ListedName {
  catalog: string;
  schema?: string;
  table?: string;
}

export interface NamedNode {
  resource: Node;
  children: NamedNode[];
}

const COST_PER_NODE = 1_000;

/** The catalogs, schemas and tables in rules, settings and the listing, as trees. */
export function namedNodes(
  engineNames: EngineSets,
  settings: SnapshotSettings,
  listedNodes: readonly ListedName[],
): NamedNode[] {
  const { functions, procedures, patterns, rules } = engineNames;
  const settingCatalogs = [...settings.writableCatalogs, ...settings.readableCatalogs];
  patterns.markSpelled(settingCatalogs);
  const knownNames = new KnownNames(listedNodes, rules, patterns);
  // Keeps out the invented names that `engineNames` also returns.
  const spelledOutNames = knownNames.spelledNames();
  const nodesOf = (
    parent: Node,
    level: Level,
    { ruleNames, listedNames }: { ruleNames: Iterable<string>; listedNames: Iterable<string> },
    childrenOf: (node: Node, name: string) => NamedNode[],
  ): NamedNode[] => {
    const names = new Set([...[...ruleNames].filter((name) => spelledOutNames.has(name)), ...listedNames]);
    return [...names].sort().flatMap((name) => {
      const resource = { ...parent, [level]: name };
      if (resourceNameProblem(name) !== null || !isGrantable(resource, settings)) return [];
      return [{ resource, children: childrenOf(resource, name) }];
    });
  };
  const routineCatalogs = [functions, procedures].flatMap((trie) => [...trie.branch([]).names()]);
  const listedCatalogs = [...knownNames.catalogs(), ...settingCatalogs];
  const catalogInput = { ruleNames: [...engineNames.catalogNames(), ...routineCatalogs], listedNames: listedCatalogs };
  return nodesOf({}, 'catalog', catalogInput, (catalogNode, catalog) => {
    const schemaInput = { ruleNames: engineNames.schemaNames(catalog), listedNames: knownNames.schemas(catalog) };
    return nodesOf(catalogNode, 'schema', schemaInput, (schemaNode, schema) => {
      const ruleNames = [...engineNames.tables.branch([catalog, schema]).names()];
      const tableInput = { ruleNames, listedNames: knownNames.tables(catalog, schema) };
      const tableNodes = nodesOf(schemaNode, 'table', tableInput, () => []);
      engineNames.spend(COST_PER_NODE * (tableNodes.length + 1));
      return tableNodes;
    });
  });
}

/** Whether access to data can be granted on a node. */
export function isGrantable(resource: Node, { metadataCatalog }: SnapshotSettings): boolean {
  const isClosed = resource.catalog === SYSTEM || closedProblem(resource, metadataCatalog) !== null;
  return !isClosed && privilegesOn(resource).includes('SELECT');
}

interface NamedRule {
  catalog?: string | undefined;
  schema?: string | undefined;
  name?: string | undefined;
}

/** Names that need a node although no rule lists them: names in a listing of the engine, and names that a pattern excludes. */
class KnownNames {
  private readonly namesByCatalog = new Map<string, Map<string, Set<string>>>();
  private readonly rules: readonly NamedRule[];

  constructor(
    listedNodes: readonly ListedName[],
    { catalogs, schemas, tables, functions, procedures }: RulesDocument,
    private readonly patterns: PatternCache,
  ) {
    for (const { catalog, schema, table } of listedNodes) {
      if ([catalog, schema, table].some((name) => name !== undefined && resourceNameProblem(name) !== null)) continue;
      patterns.markSpelled([catalog, schema, table].filter((name) => name !== undefined));
      const schemaNames = getOrInsert(this.namesByCatalog, catalog, () => new Map<string, Set<string>>());
      if (schema === undefined) continue;
      const tableNames = getOrInsert(schemaNames, schema, () => new Set<string>());
      if (table !== undefined) tableNames.add(table);
    }
    const routineRules = [...functions, ...procedures].map(({ catalog, schema }) => ({ catalog, schema }));
    const tableRules = tables.map(({ catalog, schema, table }) => ({ catalog, schema, name: table }));
    this.rules = [...catalogs, ...schemas, ...tableRules, ...routineRules];
  }

  spelledNames(): Set<string> {
    const patternTexts = new Set(this.rules.flatMap(({ catalog, schema, name }: NamedRule) => [catalog, schema, name]));
    return new Set([...patternTexts].flatMap((text) => [...spelledNames(text, this.patterns)]));
  }

  catalogs(): Iterable<string> {
    return [...this.namesByCatalog.keys(), ...this.excludedNames(this.rules, 'catalog')];
  }

  schemas(catalog: string): Iterable<string> {
    const rules = this.rules.filter((rule) => this.patterns.matches(rule.catalog, catalog));
    const areNamesNeeded = rules.some(({ schema, name }) => !(matchesAny(schema) && matchesAny(name)));
    const listedSchemas = areNamesNeeded ? this.namesByCatalog.get(catalog)?.keys() : undefined;
    return [...(listedSchemas ?? []), ...this.excludedNames(rules, 'schema')];
  }

  tables(catalog: string, schema: string): Iterable<string> {
    const { patterns } = this;
    const rules = this.rules.filter(
      (rule) => patterns.matches(rule.catalog, catalog) && patterns.matches(rule.schema, schema),
    );
    const listedTables = rules.every(({ name }) => matchesAny(name))
      ? undefined
      : this.namesByCatalog.get(catalog)?.get(schema);
    return [...(listedTables ?? []), ...this.excludedNames(rules, 'name')];
  }

  private excludedNames(rules: readonly NamedRule[], level: keyof NamedRule): string[] {
    const patternTexts = new Set(rules.map((rule) => rule[level]));
    return [...patternTexts].flatMap((text) => [...(excludedNames(text, this.patterns) ?? [])]);
  }
}

export function spelledNames(text: string | undefined, patterns: PatternCache): Iterable<string> {
  const language = patterns.language(text);
  if (language.kind === 'names') return language.names;
  return language.kind === 'open' ? language.spelledNames : [];
}

/** Whether a pattern matches every name. */
export function matchesAny(text: string | undefined): boolean {
  return text === undefined || text === '.*';
}

const NEGATIVE_LOOK_AHEAD = '(?!';
const MAX_EXCLUDED_NAMES = 100;
const MAX_NODES = 2_000;

/** Cache of `excludedNames` by pattern: the few patterns of a file are looked up for each user and node. */
const excludedNamesByPattern = new WeakMap<object, ReadonlySet<string> | null>();

/** The names that a pattern such as `(?!secret$).*` excludes. Null: the pattern has no negative look-ahead, or excludes too many names. */
export function excludedNames(text: string | undefined, patterns: PatternCache): ReadonlySet<string> | null {
  if (text === undefined || matchesAny(text)) return NO_NAMES;
  if (!text.includes(NEGATIVE_LOOK_AHEAD)) return null;
  const language = patterns.language(text);
  if (language.kind !== 'open') return null;
  const { pattern } = language;
  return getOrInsert(excludedNamesByPattern, pattern, () => {
    const names = namesExcludedBy(pattern, MAX_EXCLUDED_NAMES, MAX_NODES);
    return names && new Set(names);
  });
}

const NO_NAMES: ReadonlySet<string> = new Set();
