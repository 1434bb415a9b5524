import { type Filter, parseFilter } from './filter.js';
import { MOST_RESULTS } from './schemas.js';
import { invalid, shown } from './scim-refusal.js';
import { type Selection, selectionOf } from './selection.js';

/** A page of a list (RFC 7644 section 3.4.2): from the resource at `offset` on, counted from 0. */
export interface ListRequest {
  filter: Filter | null;
  offset: number;
  count: number;
  selection: Selection;
}

/** A page of resources, and how many there are. */
export interface ListResult<T> {
  total: number;
  resources: T[];
}

/** Parameters of a query, by their names in lower case. @throws Refused 400 where one is given twice */
export function parametersOf(query: unknown): Map<string, string> {
  return new Map(
    Object.entries(query ?? {}).map(([name, value]: [string, unknown]) => {
      if (typeof value !== 'string') throw invalid('invalidValue', `${name} is given more than once.`);
      return [name.toLowerCase(), value];
    }),
  );
}

/** @throws Refused 400 */
export function listRequestOf(parameters: ReadonlyMap<string, string>): ListRequest {
  const filter = parameters.get('filter');
  return {
    filter: filter === undefined ? null : parseFilter(filter),
    // Below 1 counts as 1, and a negative count as 0 (section 3.4.2.4).
    offset: Math.max(1, whole(parameters.get('startindex'), 'startIndex', 1)) - 1,
    count: Math.min(MOST_RESULTS, Math.max(0, whole(parameters.get('count'), 'count', MOST_RESULTS))),
    selection: selectionOf(parameters.get('attributes'), parameters.get('excludedattributes')),
  };
}

/** Within what PostgreSQL counts. */
function whole(text: string | undefined, name: string, fallback: number): number {
  if (text === undefined) return fallback;
  if (!/^[+-]?\d{1,9}$/.test(text.trim()))
    throw invalid('invalidValue', `${name} must be a whole number, not ${shown(text)}.`);
  return Number(text);
}

/** RFC 7644 section 3.4.2. */
export function listForm(resources: readonly object[], total: number, offset: number): object {
  return {
    schemas: ['urn:ietf:params:scim:api:messages:2.0:ListResponse'],
    totalResults: total,
    startIndex: offset + 1,
    itemsPerPage: resources.length,
    Resources: resources,
  };
}
