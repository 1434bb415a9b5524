import { compareNames, LEVELS, type Level, type Node, namesOf } from '../../trino-rules/model/node.js';

/** Children of everything, of a catalog or of a schema, ordered by name. */
export interface ChildrenRequest {
  under: Node;
  /** A part of the name; empty: any name. */
  q: string;
  after: string | null;
  limit: number;
}

/** A child, with the number of grants and of policies on it or on something in it. */
export interface NamedChild {
  name: string;
  grants: number;
  policies: number;
}

export interface EngineListing {
  /** The names of the page, and the next one where there are more. */
  names: readonly string[];
  /** Number of names on all pages. */
  total: number;
  /** Whether a name that is not listed does not exist in the engine; false: the engine may hide it. */
  isJudge: (name: string) => boolean;
}

/** `none`: no engine is asked. `closed`: the engine shows nothing of this node to the caller. `unavailable`: it does not answer. */
export type NoListing = 'none' | 'closed' | 'unavailable';

export interface Child extends NamedChild {
  level: Level;
  inEngine: boolean | null;
}

export interface Children {
  /** One more than the page holds, where there is a next page. */
  items: Child[];
  /** Number of children that the engine lists on all pages; null: no listing. */
  total: number | null;
  engine: NoListing | 'listed';
}

/** Asks for tables of any schema of a catalog by a part of their name. */
export interface TablesRequest {
  catalog: string;
  q: string;
  limit: number;
}

/** The first tables that the engine lists, and how many there are. */
export interface EngineTables {
  tables: readonly { schema: string; name: string }[];
  total: number;
}

export interface NamedTable extends NamedChild {
  schema: string;
}

export interface FoundTables {
  items: (NamedTable & { inEngine: boolean | null })[];
  total: number | null;
  engine: Children['engine'];
}

/** Port: names in the engine's catalogs. `query-engine` implements it. */
export abstract class EngineCatalog {
  /** @param username the engine's user for the request; null: the service account */
  abstract children(
    request: ChildrenRequest,
    username: string | null,
    signal: AbortSignal,
  ): Promise<EngineListing | NoListing>;

  abstract tables(request: TablesRequest, signal: AbortSignal): Promise<EngineTables | NoListing>;
}

/** The level of a node's children; null for a table, which has none. */
export function levelBelow(under: Node): Level | null {
  return LEVELS[namesOf(under).length] ?? null;
}

/** The children of a page that the nodes of these grants name. */
export function namedChildren(grants: readonly Node[], { under, q, after, limit }: ChildrenRequest): NamedChild[] {
  const path = namesOf(under);
  const counts = new Map<string, number>();
  for (const node of grants) {
    const names = namesOf(node);
    const child = names[path.length];
    if (child === undefined || !path.every((name, at) => names[at] === name)) continue;
    if (child.includes(q) && (after === null || compareNames(child, after) > 0))
      counts.set(child, (counts.get(child) ?? 0) + 1);
  }
  const named = Array.from(counts, ([name, count]) => ({ name, grants: count, policies: 0 }));
  return named.sort((a, b) => compareNames(a.name, b.name)).slice(0, limit + 1);
}

/** Merges named children with those that the engine lists. Both begin after the same name and hold one more than the page. */
export function mergeChildren(
  { under, limit }: ChildrenRequest,
  named: readonly NamedChild[],
  listing: EngineListing | NoListing,
): Children {
  const level = levelBelow(under);
  if (level === null) return { items: [], total: null, engine: 'none' };
  const listed = typeof listing === 'string' ? null : listing;
  const byName = new Map(listed?.names.map((name) => [name, { name, grants: 0, policies: 0 }]));
  const inEngine = new Set(byName.keys());
  for (const child of named) byName.set(child.name, child);
  const absent = (name: string): false | null => (listed?.isJudge(name) === true ? false : null);
  const items = [...byName.values()]
    .sort((a, b) => compareNames(a.name, b.name))
    .slice(0, limit + 1)
    .map((child) => ({ ...child, level, inEngine: inEngine.has(child.name) || absent(child.name) }));
  return { items, total: listed?.total ?? null, engine: typeof listing === 'string' ? listing : 'listed' };
}

/** Merges named tables with those that the engine lists. An unlisted table is reported as missing only if the engine listed all. */
export function mergeTables(
  { limit }: TablesRequest,
  named: readonly NamedTable[],
  listing: EngineTables | NoListing,
): FoundTables {
  const listed = typeof listing === 'string' ? null : listing;
  const keyOf = ({ schema, name }: { schema: string; name: string }): string => `${schema}\0${name}`;
  const inEngine = new Set(listed?.tables.map(keyOf));
  const all = new Map(listed?.tables.map((table) => [keyOf(table), { ...table, grants: 0, policies: 0 }]));
  for (const table of named) all.set(keyOf(table), table);
  const absent = listed !== null && listed.total <= listed.tables.length ? false : null;
  const items = [...all]
    .sort(([a], [b]) => compareNames(a, b))
    .slice(0, limit)
    .map(([key, table]) => ({ ...table, inEngine: inEngine.has(key) || absent }));
  return { items, total: listed?.total ?? null, engine: typeof listing === 'string' ? listing : 'listed' };
}
