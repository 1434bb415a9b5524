import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { sqlPath } from '../domain/sql-path.js';
import { api, bodyOf, type Schemas } from './client.js';
import { type PageQuery, usePages } from './pages.js';

export type Child = Schemas['AnyChildResponse'];
export type Children = Schemas['AnyChildrenResponse'];
export type FoundTable = Schemas['FoundTableResponse'];

/** Of the tree, where a schema can have tens of thousands of tables. */
const PAGE = 1000;

function queryOf(under: readonly string[], q: string, page: PageQuery) {
  return { ...page, ...(under.length > 0 && { under: sqlPath(under) }), ...(q !== '' && { q }) };
}

/** A page of the children of a node. */
export function readChildren(...asked: Parameters<typeof queryOf>): Promise<Children> {
  return bodyOf(api.GET('/api/admin/catalog', { params: { query: queryOf(...asked) } }));
}

/** The same as the person who is signed in may see it. */
export function readOwnChildren(...asked: Parameters<typeof queryOf>): Promise<Schemas['ChildrenResponse']> {
  return bodyOf(api.GET('/api/catalog', { params: { query: queryOf(...asked) } }));
}

/** A word of so many letters is worth a search of a whole catalog. */
const SHORTEST = 2;

/** The first tables of a catalog whose names contain a text, and what is left out. @param catalog undefined: of none */
export function useFoundTables(catalog: string | undefined, q: string) {
  const isEnabled = catalog !== undefined && q.length >= SHORTEST;
  const { data } = useQuery({
    queryKey: ['tables', catalog, q],
    enabled: isEnabled,
    placeholderData: keepPreviousData,
    queryFn: () => bodyOf(api.GET('/api/admin/catalog/tables', { params: { query: { catalog: catalog ?? '', q } } })),
  });
  return isEnabled ? data : undefined;
}

/**
 * The children of a node, as far as somebody has scrolled.
 * @param under null: of none
 */
export function useChildren(under: readonly string[] | null, q: string) {
  return usePages(['catalog', under, q], (page) => readChildren(under ?? [], q, page), {
    limit: PAGE,
    isKept: true,
    isEnabled: under !== null,
  });
}
