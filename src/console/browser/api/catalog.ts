import { useQuery } from '@tanstack/react-query';
import { type HolderCounts, countText, moreText } from '../domain/count-text.js';
import { sqlPath } from '../domain/node-path.js';
import { useDebounced } from '../parts/address.js';
import { api, bodyOf, runInTurn, type Schemas } from './client.js';
import { keepFormerSearch, type PageQuery, usePages } from './pages.js';
import { queryClient, useConsoleStart } from './session.js';

export type Child = Schemas['AnyChildResponse'];
export type Children = Schemas['AnyChildrenResponse'];
export type FoundTable = Schemas['FoundTableResponse'];

function childrenQuery(parentPath: readonly string[], searchText: string, page: PageQuery) {
  const parentParameter = parentPath.length > 0 && { under: sqlPath(parentPath) };
  return { query: { ...page, ...parentParameter, ...(searchText !== '' && { q: searchText }) } };
}

function readChildren(...parameters: Parameters<typeof childrenQuery>): Promise<Children> {
  return bodyOf(api.GET('/api/admin/catalog', { params: childrenQuery(...parameters) }));
}

function readOwnChildren(...parameters: Parameters<typeof childrenQuery>): Promise<Schemas['ChildrenResponse']> {
  return bodyOf(api.GET('/api/catalog', { params: childrenQuery(...parameters) }));
}

/** The first tables of a catalog whose names contain a text. @param catalog undefined: nothing is read */
export function useFoundTables(catalog: string | undefined, searchText: string) {
  const isEnabled = catalog !== undefined && searchText.length >= 2;
  const query = { catalog: catalog ?? '', q: searchText };
  const queryKey = ['tables', catalog, searchText];
  const { data } = useQuery({
    queryKey,
    enabled: isEnabled,
    placeholderData: keepFormerSearch(queryKey),
    queryFn: () => bodyOf(api.GET('/api/admin/catalog/tables', { params: { query } })),
  });
  return isEnabled ? data : undefined;
}

/** The numbers of people and engine principals with access to a node or to anything below it. Undefined until they have been read. */
export function useHolderCount(node: object, isEnabled: boolean): HolderCounts | undefined {
  const { data } = useQuery({
    queryKey: ['who', 'reach', node],
    enabled: isEnabled,
    staleTime: 60_000,
    queryFn: ({ signal }) =>
      runInTurn(() => bodyOf(api.GET('/api/admin/access/who', { params: { query: { ...node, limit: 1 } }, signal }))),
  });
  if (data === undefined) return undefined;
  const { people, engine_principals: enginePrincipals, inside } = data.totals;
  return { people: people + inside.people, engine_principals: enginePrincipals + inside.engine_principals };
}

/** The children of a node, read page by page as the tree is scrolled. @param parentPath null: nothing is read */
export function useChildren(parentPath: readonly string[] | null, searchText: string) {
  return usePages(['catalog', parentPath, searchText], (page) => readChildren(parentPath ?? [], searchText, page), {
    limit: 1000, // a schema can have tens of thousands of tables
    isPreviousKept: true,
    isEnabled: parentPath !== null,
  });
}

/**
 * The first children of a node, the number of all children that the engine lists (null: unknown), and a hint that more names match.
 * @param isForOwnNames whether even administrators get only the names that their own grants let them see
 */
export function useNames(parentPath: readonly string[], namePart: string, isEnabled: boolean, isForOwnNames: boolean) {
  const searchText = useDebounced(namePart, 100);
  const seesAllNames = useConsoleStart().data?.account?.role === 'admin' && !isForOwnNames;
  const queryKey = ['names', seesAllNames, parentPath, searchText];
  const { data } = useQuery({
    queryKey,
    enabled: isEnabled,
    placeholderData: keepFormerSearch(queryKey),
    queryFn: () => (seesAllNames ? readChildren : readOwnChildren)(parentPath, searchText, { limit: 50 }),
  });
  const { items = [], total = null, next = null } = data ?? {};
  const unlistedCount = (total ?? 0) - items.filter(({ in_engine: isListed }) => isListed === true).length;
  return {
    names: items.map(({ name }) => name),
    total,
    moreHint: next === null ? null : moreText([unlistedCount > 0 ? countText(unlistedCount, 'name') : 'names']),
  };
}

/** Names below a node that match a text and that the signed-in person may see; empty if the request fails. */
export async function readOwnNames(parentPath: readonly string[], namePart: string): Promise<string[]> {
  try {
    const { items } = await queryClient.query({
      queryKey: ['own-names', parentPath, namePart],
      staleTime: 60_000,
      queryFn: () => readOwnChildren(parentPath, namePart, { limit: 200 }),
    });
    return items.map(({ name }) => name);
  } catch {
    return [];
  }
}
