import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { type Counted, countText, moreText } from '../domain/count-text.js';
import { sqlPath } from '../domain/node-path.js';
import { useSettled } from '../parts/address.js';
import { api, bodyOf, oneAtATime, type Schemas } from './client.js';
import { type PageQuery, usePages } from './pages.js';
import { queries, useStart } from './session.js';

export type Child = Schemas['AnyChildResponse'];
export type Children = Schemas['AnyChildrenResponse'];
export type FoundTable = Schemas['FoundTableResponse'];

/** Children of one answer for the tree, where a schema can have tens of thousands of tables. */
const PAGE = 1000;

function queryOf(under: readonly string[], q: string, page: PageQuery) {
  return { query: { ...page, ...(under.length > 0 && { under: sqlPath(under) }), ...(q !== '' && { q }) } };
}

/** A page of the children of a node. */
function readChildren(...asked: Parameters<typeof queryOf>): Promise<Children> {
  return bodyOf(api.GET('/api/admin/catalog', { params: queryOf(...asked) }));
}

/** The same, as far as the person who is signed in may see it. */
function readOwnChildren(...asked: Parameters<typeof queryOf>): Promise<Schemas['ChildrenResponse']> {
  return bodyOf(api.GET('/api/catalog', { params: queryOf(...asked) }));
}

/** The first tables of a catalog whose names contain a text. @param catalog undefined: nothing is read */
export function useFoundTables(catalog: string | undefined, q: string) {
  const isEnabled = catalog !== undefined && q.length >= 2;
  const { data } = useQuery({
    queryKey: ['tables', catalog, q],
    enabled: isEnabled,
    placeholderData: keepPreviousData,
    queryFn: () => bodyOf(api.GET('/api/admin/catalog/tables', { params: { query: { catalog: catalog ?? '', q } } })),
  });
  return isEnabled ? data : undefined;
}

/** How many people and engine principals reach a node or something in it; undefined: not known yet. */
export function useReach(node: object, isEnabled: boolean): Counted | undefined {
  const { data } = useQuery({
    queryKey: ['who', 'reach', node],
    enabled: isEnabled,
    staleTime: 60_000,
    queryFn: ({ signal }) =>
      oneAtATime(() => bodyOf(api.GET('/api/admin/access/who', { params: { query: { ...node, limit: 1 } }, signal }))),
  });
  if (data === undefined) return undefined;
  const { people, engine_principals: engine, inside } = data.totals;
  return { people: people + inside.people, engine_principals: engine + inside.engine_principals };
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

/**
 * The first children of a node, how many the engine lists (null: unknown), and a text about the others.
 * @param isOwn only names that the person may see, also for an administrator
 */
export function useNames(under: readonly string[], part: string, isEnabled: boolean, isOwn: boolean) {
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

/** Names that the person may see below a node, that begin with or hold a text; none where they cannot be had. */
export async function readOwnNames(under: readonly string[], part: string): Promise<string[]> {
  try {
    const { items } = await queries.query({
      queryKey: ['own-names', under, part],
      staleTime: 60_000,
      queryFn: () => readOwnChildren(under, part, { limit: 200 }),
    });
    return items.map(({ name }) => name);
  } catch {
    return [];
  }
}
