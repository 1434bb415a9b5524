import { resourceNameProblem } from '../../kernel/name.js';
import type { TableRule } from '../../trino-rules/document/rules-document.js';
import type { EngineSets } from '../../trino-rules/engine/engine-sets.js';
import { type Level, SYSTEM, type Node } from '../../trino-rules/model/node.js';
import { privilegesOn } from '../../trino-rules/model/privilege.js';
import { closedProblem } from '../../trino-rules/model/resource.js';
import type { SnapshotSettings } from '../../trino-rules/model/snapshot.js';
import type { KnownNames } from './known-names.js';

/** Those that the settings name. */
export function catalogsOf({ writableCatalogs, readableCatalogs }: SnapshotSettings): string[] {
  return [...writableCatalogs, ...readableCatalogs];
}

/** A named node; `null` tables and schemas are the unnamed ones, which every node has. */
export interface NamedNode {
  resource: Node;
  below: NamedNode[];
}

/** The nodes that rules, settings and a listing name, the widest first. */
export function namedNodes(engine: EngineSets, settings: SnapshotSettings, known: KnownNames): NamedNode[] {
  // An open pattern brings up one of the names that it matches, which nobody named.
  const spelled = new Set(spelledNames(engine));
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
  const { functions, procedures } = engine;
  const routines = [functions, procedures].flatMap((trie) => [...trie.branch([]).names()]);
  const catalogs = {
    ruled: [...engine.catalogNames(), ...routines],
    listed: [...known.catalogs(), ...catalogsOf(settings)],
  };
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

/** Whether access to data can be granted there. */
export function isOpen(resource: Node, { metadataCatalog }: SnapshotSettings): boolean {
  const isClosed = resource.catalog === SYSTEM || closedProblem(resource, metadataCatalog) !== null;
  return !isClosed && privilegesOn(resource).includes('SELECT');
}

const STEPS_PER_NODE = 1_000;

function* spelledNames({ rules: document, patterns }: EngineSets): Generator<string> {
  const { catalogs, schemas, tables, functions, procedures } = document;
  const onData: readonly Pick<TableRule, 'catalog' | 'schema' | 'table'>[] = [...catalogs, ...schemas, ...tables];
  const onRoutines = [...functions, ...procedures].map(({ catalog, schema }) => ({
    catalog,
    schema,
    table: undefined,
  }));
  const rules = [...onData, ...onRoutines];
  const texts = new Set(rules.flatMap(({ catalog, schema, table }) => [catalog, schema, table]));
  for (const text of texts) {
    const language = patterns.language(text);
    if (language.kind === 'names') yield* language.names;
    if (language.kind === 'open') yield* language.spelled;
  }
}
