import { attributePath, type Filter, parseFilter } from './filter.js';
import { invalid, jsonExcerpt } from './values.js';

export const MOST_RESULTS = 200;

/** A page of a list (RFC 7644 section 3.4.2). `offset` counts from 0. */
export interface ListRequest {
  filter: Filter | null;
  offset: number;
  count: number;
  selection: Selection;
}

/** A page of resources. `total` counts the resources of all pages. */
export interface ListResult<T> {
  total: number;
  resources: T[];
}

/** Query parameters by their names in lower case. @throws Refused 400 for a repeated one */
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
    // A startIndex below 1 counts as 1, and a negative count as 0 (section 3.4.2.4).
    offset: Math.max(1, whole(parameters.get('startindex'), 'startIndex', 1)) - 1,
    count: Math.min(MOST_RESULTS, Math.max(0, whole(parameters.get('count'), 'count', MOST_RESULTS))),
    selection: selectionOf(parameters.get('attributes'), parameters.get('excludedattributes')),
  };
}

/** A whole number of at most nine digits, which fits PostgreSQL's integers. */
function whole(text: string | undefined, name: string, fallback: number): number {
  if (text === undefined) return fallback;
  if (!/^[+-]?\d{1,9}$/.test(text.trim()))
    throw invalid('invalidValue', `${name} must be a whole number, not ${jsonExcerpt(text)}.`);
  return Number(text);
}

/** The answer of a list (RFC 7644 section 3.4.2). */
export function listForm(resources: readonly object[], total: number, offset: number): object {
  return {
    schemas: ['urn:ietf:params:scim:api:messages:2.0:ListResponse'],
    totalResults: total,
    startIndex: offset + 1,
    itemsPerPage: resources.length,
    Resources: resources,
  };
}

/** The attributes of an answer: only some, or all except some. Lower case, such as `name` or `name.givenname`. */
export interface Selection {
  only: ReadonlySet<string> | null;
  without: ReadonlySet<string>;
}

const MOST_NAMES = 100;
/** Attributes that are always returned (RFC 7643 section 3.1 and 7). */
const ALWAYS = new Set(['id', 'schemas']);

/** The selection by `attributes` or `excludedAttributes` (RFC 7644 section 3.9). @throws Refused 400 if both are given */
export function selectionOf(attributes: string | undefined, excluded: string | undefined): Selection {
  if (attributes !== undefined && excluded !== undefined) {
    throw invalid('invalidValue', 'attributes and excludedAttributes cannot be combined.');
  }
  return { only: attributes === undefined ? null : namesIn(attributes), without: namesIn(excluded ?? '') };
}

/** Whether an attribute or a part of it is selected. Unselected ones need not be read. */
export function isSelected({ only, without }: Selection, attribute: string): boolean {
  if (only === null) return !without.has(attribute);
  return [...only].some((name) => name === attribute || name.startsWith(`${attribute}.`));
}

/** The resource with its selected attributes. */
export function selectAttributes(resource: object, selection: Selection): object {
  return Object.fromEntries(
    Object.entries(resource).flatMap(([name, value]: [string, unknown]) => {
      const attribute = name.toLowerCase();
      if (ALWAYS.has(attribute) || selection.only?.has(attribute) === true) return [[name, value]];
      return isSelected(selection, attribute) ? [[name, parts(value, attribute, selection)]] : [];
    }),
  );
}

function parts(value: unknown, attribute: string, { only, without }: Selection): unknown {
  if (Array.isArray(value)) return value.map((entry: unknown) => parts(entry, attribute, { only, without }));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).filter(([name]) => {
      const path = `${attribute}.${name.toLowerCase()}`;
      return only === null ? !without.has(path) : only.has(path);
    }),
  );
}

function namesIn(list: string): Set<string> {
  const names = list.split(',');
  if (names.length > MOST_NAMES) throw invalid('tooMany', `More than ${MOST_NAMES} attributes are named.`);
  const paths = names.map((name) => attributePath(name.trim()));
  return new Set(
    paths.flatMap((path) =>
      path === null ? [] : [path.sub === null ? path.attribute : `${path.attribute}.${path.sub}`],
    ),
  );
}
