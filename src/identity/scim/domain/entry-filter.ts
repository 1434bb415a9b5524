import type { Comparison, Filter, Literal } from './filter.js';

/** Whether one entry of a list in memory fulfils a filter of PATCH. Texts are compared without case (RFC 7643 section 4.1.2). */
export function entryMatches(filter: Filter, entry: object): boolean {
  switch (filter.kind) {
    case 'and':
      return entryMatches(filter.left, entry) && entryMatches(filter.right, entry);
    case 'or':
      return entryMatches(filter.left, entry) || entryMatches(filter.right, entry);
    case 'not':
      return !entryMatches(filter.filter, entry);
    case 'present':
      return (valueOf(entry, filter.path.attribute) ?? null) !== null;
    case 'compare':
      return isFulfilled(filter.comparison, valueOf(entry, filter.path.attribute) ?? null, filter.value);
    case 'any':
      return false;
  }
}

function valueOf(entry: object, attribute: string): unknown {
  return Object.entries(entry).find(([key]) => key.toLowerCase() === attribute)?.[1];
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
