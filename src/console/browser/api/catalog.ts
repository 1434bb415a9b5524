import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { sqlPath } from '../domain/node-path.js';
import { api, bodyOf, type Schemas } from './client.js';
import { type PageQuery, usePages } from './pages.js';
import { countText, moreText } from '../domain/count-text.js';
import { useSettled } from '../parts/address.js';
import { queries, useStart } from './session.js';

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

interface NamesOptions {
  isEnabled: boolean;
  /** Those that the person who is signed in may see, also where all could be had. */
  isOwn: boolean;
}

/** The first children of a node, how many the engine lists (null: not known), and what is left out. */
export function useNames(under: readonly string[], part: string, { isEnabled, isOwn }: NamesOptions) {
  const q = useSettled(part, 100);
  const isAll = useStart().data?.account?.role === 'admin' && !isOwn;
  const { data } = useQuery({
    queryKey: ['names', under, q, isAll],
    enabled: isEnabled,
    placeholderData: (former) => former,
    queryFn: () => (isAll ? readChildren : readOwnChildren)(under, q, { limit: 50 }),
  });
  const { items = [], total = null, next = null } = data ?? {};
  const left = (total ?? 0) - items.filter(({ in_engine: isListed }) => isListed === true).length;
  return {
    names: items.map(({ name }) => name),
    total,
    more: next === null ? null : moreText([left > 0 ? countText(left, 'name') : 'names']),
  };
}

/** As many as a list of names has room for. */
const MOST_NAMES = 200;

/** Names that the person may see below a node, that begin with or hold a text; none where they cannot be had. */
export async function ownNames(under: readonly string[], part: string): Promise<string[]> {
  const path = sqlPath(under);
  const query = { limit: MOST_NAMES, ...(path !== '' && { under: path }), ...(part !== '' && { q: part }) };
  try {
    const { items } = await queries.query({
      queryKey: ['own-names', path, part],
      staleTime: 60_000,
      queryFn: () => bodyOf(api.GET('/api/catalog', { params: { query } })),
    });
    return items.map(({ name }) => name);
  } catch {
    return [];
  }
}
