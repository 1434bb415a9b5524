import { comparisonsIn, type Comparison, type Filter, type Literal } from './filter.js';
import { invalid } from './scim-refusal.js';

/** Of one request: some tenth of a second in which nothing else runs. */
const MOST_COMPARISONS = 500_000;

/** Makes a predicate of a filter that is put to so many entries. @throws Refused 400 `tooMany` */
export type EntryMatchers = (filter: Filter, entries: number) => (entry: object) => boolean;

/** The predicates of one request. Comparisons are counted before they are made. */
export function entryMatchers(): EntryMatchers {
  let comparisons = 0;
  return (filter, entries) => {
    comparisons += comparisonsIn(filter) * entries;
    if (comparisons > MOST_COMPARISONS) {
      throw invalid('tooMany', `The filters make more than ${MOST_COMPARISONS} comparisons with entries of the list.`);
    }
    return (entry) => entryMatches(filter, entry);
  };
}

/** Keys of entries are in lower case. Whether one of a list in memory fulfils a filter of PATCH. Texts are compared without case (RFC 7643 section 4.1.2). */
function entryMatches(filter: Filter, entry: object): boolean {
  switch (filter.kind) {
    case 'and':
      return entryMatches(filter.left, entry) && entryMatches(filter.right, entry);
    case 'or':
      return entryMatches(filter.left, entry) || entryMatches(filter.right, entry);
    case 'not':
      return !entryMatches(filter.filter, entry);
    case 'present':
      return valueOf(entry, filter.path.attribute) !== null;
    case 'compare':
      return isFulfilled(filter.comparison, valueOf(entry, filter.path.attribute), filter.value);
    case 'any':
      return false;
  }
}

function valueOf(entry: object, attribute: string): unknown {
  return Object.hasOwn(entry, attribute) ? (entry as Record<string, unknown>)[attribute] : null;
}

function isFulfilled(comparison: Comparison, value: unknown, wanted: Literal): boolean {
  if (typeof value === 'boolean') {
    const asked = typeof wanted === 'string' ? wanted.toLowerCase() === 'true' : wanted;
    return comparison === 'ne' ? value !== asked : comparison === 'eq' && value === asked;
  }
  if (typeof value !== 'string' || typeof wanted !== 'string') {
    return comparison === 'ne' ? value !== wanted : comparison === 'eq' && value === wanted;
  }
  const [a, b] = [value.toLowerCase(), wanted.toLowerCase()];
  switch (comparison) {
    case 'eq':
      return a === b;
    case 'ne':
      return a !== b;
    case 'co':
      return a.includes(b);
    case 'sw':
      return a.startsWith(b);
    case 'ew':
      return a.endsWith(b);
    case 'gt':
      return a > b;
    case 'ge':
      return a >= b;
    case 'lt':
      return a < b;
    case 'le':
      return a <= b;
  }
}
