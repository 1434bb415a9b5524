import { compareNames, LEVELS, type Level, type Node, namesOf } from '../../trino-rules/model/node.js';

/** A request for one page of the children of `parent` (everything, a catalog or a schema), ordered by name. */
export interface ChildrenRequest {
  parent: Node;
  /** A part of the name; empty: any name. */
  namePart: string;
  after: string | null;
  limit: number;
}

/** A child node that is named in grants or policies, with the numbers of grants and policies on it and below it. */
export interface NamedChild {
  name: string;
  grants: number;
  policies: number;
}

export interface EngineListing {
  /** The names of the page, plus the next name if there is a next page. */
  names: readonly string[];
  total: number;
  /** Whether a name that is not listed surely does not exist in the engine. False if the engine may only hide it from the caller. */
  provesAbsence: (name: string) => boolean;
}

/** `none`: no engine is configured. `closed`: the engine shows nothing of this node to the caller. `unavailable`: it does not answer. */
export type NoListing = 'none' | 'closed' | 'unavailable';

export interface Child extends NamedChild {
  level: Level;
  isInEngine: boolean | null;
}

export interface Children {
  /** The children of the page, plus one if there is a next page. */
  items: Child[];
  /** Number of children that the engine lists on all pages; null if the engine gave no listing. */
  total: number | null;
  engine: NoListing | 'listed';
}

/** A request for the tables of a catalog, in any schema, that have `namePart` in their name. */
export interface TablesRequest {
  catalog: string;
  namePart: string;
  limit: number;
}

/** The first matching tables in the engine. `total` counts all matching tables. */
export interface EngineTables {
  tables: readonly { schema: string; name: string }[];
  total: number;
}

export interface NamedTable extends NamedChild {
  schema: string;
}

export interface FoundTables {
  items: (NamedTable & { isInEngine: boolean | null })[];
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

/** The level of a node's children; null for a table, which has no children. */
export function childLevel(parent: Node): Level | null {
  return LEVELS[namesOf(parent).length] ?? null;
}

/** The children of `request.parent` that are named in grants, for one page. `grants` has the node of each grant. */
export function namedChildren(grants: readonly Node[], request: ChildrenRequest): NamedChild[] {
  const { parent, namePart, after, limit } = request;
  const path = namesOf(parent);
  const counts = new Map<string, number>();
  for (const node of grants) {
    const names = namesOf(node);
    const child = names[path.length];
    if (child === undefined || !path.every((name, position) => names[position] === name)) continue;
    if (child.includes(namePart) && (after === null || compareNames(child, after) > 0))
      counts.set(child, (counts.get(child) ?? 0) + 1);
  }
  const grantedChildren = Array.from(counts, ([name, count]) => ({ name, grants: count, policies: 0 }));
  return grantedChildren.sort((a, b) => compareNames(a.name, b.name)).slice(0, limit + 1);
}

/** Merges the children that grants or policies name with those that the engine lists. */
export function mergeChildren(
  { parent, limit }: ChildrenRequest,
  namedEntries: readonly NamedChild[],
  answer: EngineListing | NoListing,
): Children {
  const level = childLevel(parent);
  if (level === null) return { items: [], total: null, engine: 'none' };
  const listing = typeof answer === 'string' ? null : answer;
  const childrenByName = new Map(listing?.names.map((name) => [name, { name, grants: 0, policies: 0 }]));
  const engineNames = new Set(childrenByName.keys());
  for (const child of namedEntries) childrenByName.set(child.name, child);
  const falseIfProvedAbsent = (name: string): false | null => (listing?.provesAbsence(name) === true ? false : null);
  const items = [...childrenByName.values()]
    .sort((a, b) => compareNames(a.name, b.name))
    .slice(0, limit + 1)
    .map((child) => ({ ...child, level, isInEngine: engineNames.has(child.name) || falseIfProvedAbsent(child.name) }));
  return { items, total: listing?.total ?? null, engine: typeof answer === 'string' ? answer : 'listed' };
}

/** Merges the tables named in grants or policies with those that the engine lists. A table counts as missing only if the engine listed all tables. */
export function mergeTables(
  { limit }: TablesRequest,
  namedEntries: readonly NamedTable[],
  answer: EngineTables | NoListing,
): FoundTables {
  const listing = typeof answer === 'string' ? null : answer;
  const keyOf = ({ schema, name }: { schema: string; name: string }): string => `${schema}\0${name}`;
  const engineNames = new Set(listing?.tables.map(keyOf));
  const tablesByKey = new Map(listing?.tables.map((table) => [keyOf(table), { ...table, grants: 0, policies: 0 }]));
  for (const table of namedEntries) tablesByKey.set(keyOf(table), table);
  const unlistedInEngine = listing !== null && listing.total <= listing.tables.length ? false : null;
  const items = [...tablesByKey]
    .sort(([a], [b]) => compareNames(a, b))
    .slice(0, limit)
    .map(([key, table]) => ({ ...table, isInEngine: engineNames.has(key) || unlistedInEngine }));
  return { items, total: listing?.total ?? null, engine: typeof answer === 'string' ? answer : 'listed' };
}
