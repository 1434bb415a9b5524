import { sqlPath } from '../domain/sql-path.js';
import { api, bodyOf, type Schemas } from './client.js';
import { usePages } from './pages.js';

export type Child = Schemas['AnyChildResponse'];
export type Children = Schemas['AnyChildrenResponse'];

/** Of the tree, where a schema can have tens of thousands of tables. */
const PAGE = 1000;

function queryOf(under: readonly string[], q: string, limit: number, after?: string) {
  return {
    limit,
    ...(under.length > 0 && { under: sqlPath(under) }),
    ...(q !== '' && { q }),
    ...(after !== undefined && { after }),
  };
}

/** A page of the children of a node. */
export function readChildren(...page: Parameters<typeof queryOf>): Promise<Children> {
  return bodyOf(api.GET('/api/admin/catalog', { params: { query: queryOf(...page) } }));
}

/** The same as the person who is signed in may see it. */
export function readOwnChildren(...page: Parameters<typeof queryOf>): Promise<Schemas['ChildrenResponse']> {
  return bodyOf(api.GET('/api/catalog', { params: { query: queryOf(...page) } }));
}

/**
 * The children of a node, as far as somebody has scrolled.
 * @param under null: of none
 */
export function useChildren(under: readonly string[] | null, q: string) {
  return usePages(['catalog', under, q], (after) => readChildren(under ?? [], q, PAGE, after), {
    isKept: true,
    isEnabled: under !== null,
  });
}
