import { attributePath, type Filter, parseFilter } from './filter.js';
import { refusal, jsonExcerpt } from './values.js';

export const MAX_RESULTS = 200;

/** A page of a list (RFC 7644 section 3.4.2). `offset` counts from 0. */
export interface ListRequest {
  filter: Filter | null;
  offset: number;
  count: number;
}

/** A page of resources. `total` counts the resources of all pages. */
export interface ListResult<T> {
  total: number;
  resources: T[];
}

/** Query parameters by their names in lower case. @throws Refused 400 for a repeated parameter */
export function parametersOf(query: unknown): Map<string, string> {
  return new Map(
    Object.entries(query ?? {}).map(([name, value]: [string, unknown]) => {
      if (typeof value !== 'string') throw refusal('invalidValue', `${name} is given more than once.`);
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
    offset: Math.max(1, wholeNumber(parameters.get('startindex'), 'startIndex', 1)) - 1,
    count: Math.min(MAX_RESULTS, Math.max(0, wholeNumber(parameters.get('count'), 'count', MAX_RESULTS))),
  };
}

/** A whole number of at most nine digits, which fits PostgreSQL's integers. */
function wholeNumber(text: string | undefined, name: string, fallback: number): number {
  if (text === undefined) return fallback;
  if (!/^[+-]?\d{1,9}$/.test(text.trim()))
    throw refusal('invalidValue', `${name} must be a whole number, not ${jsonExcerpt(text)}.`);
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

/** The attributes in an answer: only `includedPaths` (null: all), without `excludedPaths`. In lower case, such as `name.givenname`. */
export interface Selection {
  includedPaths: ReadonlySet<string> | null;
  excludedPaths: ReadonlySet<string>;
}

const MAX_PATHS = 100;
/** Attributes that are always returned (RFC 7643 section 3.1 and 7). */
const ALWAYS_RETURNED = new Set(['id', 'schemas']);

/** The selection by `attributes` or `excludedAttributes` (RFC 7644 section 3.9). @throws Refused 400 if both are given */
export function selectionOf(attributes: string | undefined, excludedAttributes: string | undefined): Selection {
  if (attributes !== undefined && excludedAttributes !== undefined) {
    throw refusal('invalidValue', 'attributes and excludedAttributes cannot be combined.');
  }
  const includedPaths = attributes === undefined ? null : pathsInList(attributes);
  return { includedPaths, excludedPaths: pathsInList(excludedAttributes ?? '') };
}

/** Whether an attribute or a part of it is selected. Attributes that are not selected need not be read. */
export function isSelected({ includedPaths, excludedPaths }: Selection, attribute: string): boolean {
  if (includedPaths === null) return !excludedPaths.has(attribute);
  return [...includedPaths].some((name) => name === attribute || name.startsWith(`${attribute}.`));
}

export function selectAttributes(resource: object, selection: Selection): object {
  return Object.fromEntries(
    Object.entries(resource).flatMap(([name, value]: [string, unknown]) => {
      const attribute = name.toLowerCase();
      if (ALWAYS_RETURNED.has(attribute) || selection.includedPaths?.has(attribute) === true) return [[name, value]];
      return isSelected(selection, attribute) ? [[name, selectParts(value, attribute, selection)]] : [];
    }),
  );
}

function selectParts(value: unknown, attribute: string, selection: Selection): unknown {
  if (Array.isArray(value)) return value.map((entry: unknown) => selectParts(entry, attribute, selection));
  if (typeof value !== 'object' || value === null) return value;
  const { includedPaths, excludedPaths } = selection;
  return Object.fromEntries(
    Object.entries(value).filter(([name]) => {
      const path = `${attribute}.${name.toLowerCase()}`;
      return includedPaths === null ? !excludedPaths.has(path) : includedPaths.has(path);
    }),
  );
}

function pathsInList(list: string): Set<string> {
  const names = list.split(',');
  if (names.length > MAX_PATHS) throw refusal('tooMany', `More than ${MAX_PATHS} attributes are named.`);
  const paths = names.map((name) => attributePath(name.trim()));
  return new Set(
    paths.flatMap((path) =>
      path === null ? [] : [path.part === null ? path.attribute : `${path.attribute}.${path.part}`],
    ),
  );
}
