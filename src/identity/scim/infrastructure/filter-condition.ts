import { isInPlainYear } from '../../../platform/validation.js';
import type { AttributePath } from '../domain/attribute-path.js';
import type { Comparison, Filter, Literal } from '../domain/filter.js';
import { invalid } from '../domain/scim-refusal.js';
import { booleanOf } from '../domain/values.js';

/** How a column is compared. `expression` is the same of both sides. */
export type Column =
  | { type: 'text'; sql: string; expression?: (sql: string) => string }
  | { type: 'id'; sql: string }
  | { type: 'boolean'; sql: string }
  | { type: 'time'; sql: string };

/** A text that is compared without case (RFC 7643 section 4.1). */
export const inAnyCase = (sql: string): Column => ({ type: 'text', sql, expression: (side) => `lower(${side})` });

/** A list of entries: `exists` makes a condition of one that an entry fulfils. */
export interface Entries {
  columns: ReadonlyMap<string, Column>;
  exists: (condition: string) => string;
}

/** What a resource can be filtered by: paths in lower case. */
export interface Filterable {
  columns: ReadonlyMap<string, Column>;
  entries: ReadonlyMap<string, Entries>;
}

/** Conditions on entries of lists in one filter: each reads them anew for each resource. */
const MOST_LISTS = 10;

const ORDER = { gt: '>', ge: '>=', lt: '<', le: '<=' } as const;

/**
 * The condition of a filter. What a client wrote is in the parameters alone.
 * @param parameters that stand before; the filter's are added to them
 * @throws Refused 400 `invalidFilter`
 */
export function filterCondition(filter: Filter, to: Filterable, parameters: unknown[]): string {
  let lists = 0;
  const counted = (entries: Entries): Entries => ({
    ...entries,
    exists: (condition) => {
      lists += 1;
      if (lists > MOST_LISTS) throw invalid('invalidFilter', `A filter has at most ${MOST_LISTS} conditions on lists.`);
      return entries.exists(condition);
    },
  });
  const entries = new Map([...to.entries].map(([name, each]) => [name, counted(each)]));
  return conditionOf(filter, { ...to, entries }, parameters);
}

function conditionOf(filter: Filter, to: Filterable, parameters: unknown[]): string {
  const inner = (part: Filter, within = to): string => conditionOf(part, within, parameters);
  switch (filter.kind) {
    case 'and':
      return `(${inner(filter.left)} AND ${inner(filter.right)})`;
    case 'or':
      return `(${inner(filter.left)} OR ${inner(filter.right)})`;
    case 'not':
      return `NOT ${inner(filter.filter)}`;
    case 'any': {
      const { attribute, sub, isForeign } = filter.path;
      const entries = isForeign || sub !== null ? undefined : to.entries.get(attribute);
      if (entries === undefined) throw unknown(filter.path);
      return entries.exists(inner(filter.filter, { columns: entries.columns, entries: new Map() }));
    }
    case 'present':
      return onColumn(filter.path, to, (column) => `${column.sql} IS NOT NULL`);
    case 'compare':
      return onColumn(filter.path, to, (column) => comparison(column, filter.comparison, filter.value, parameters));
  }
}

/** On a list, the condition is one of its entries, by their value where no part is named. */
function onColumn(path: AttributePath, to: Filterable, condition: (column: Column) => string): string {
  const { attribute, sub, isForeign } = path;
  const column = isForeign ? undefined : to.columns.get(sub === null ? attribute : `${attribute}.${sub}`);
  if (column !== undefined) return condition(column);
  const entries = isForeign ? undefined : to.entries.get(attribute);
  const part = entries?.columns.get(sub ?? 'value');
  if (entries === undefined || part === undefined) throw unknown(path);
  return entries.exists(condition(part));
}

/** Never null, so that `not` is the opposite: an attribute that is unset fulfils `ne` alone. */
function comparison(column: Column, by: Comparison, value: Literal, parameters: unknown[]): string {
  const { sql } = column;
  if (value === null && by === 'eq') return `${sql} IS NULL`;
  if (value === null && by === 'ne') return `${sql} IS NOT NULL`;
  if (value === null) throw invalid('invalidFilter', `Nothing can be compared with null by ${by}.`);
  const [left, right] = sides(column, value, parameters);
  switch (by) {
    case 'eq':
      return `(${left} IS NOT NULL AND ${left} = ${right})`;
    case 'ne':
      return `${left} IS DISTINCT FROM ${right}`;
    case 'co':
    case 'sw':
    case 'ew':
      if (column.type !== 'text' && column.type !== 'id') throw invalid('invalidFilter', `${by} compares texts.`);
      return `(${left} IS NOT NULL AND ${partly(by, left, right)})`;
    case 'gt':
    case 'ge':
    case 'lt':
    case 'le':
      if (column.type === 'boolean') throw invalid('invalidFilter', `${by} does not compare booleans.`);
      return `(${left} IS NOT NULL AND ${left} ${ORDER[by]} ${right})`;
  }
}

function partly(by: 'co' | 'sw' | 'ew', left: string, right: string): string {
  if (by === 'co') return `strpos(${left}, ${right}) > 0`;
  return by === 'sw' ? `starts_with(${left}, ${right})` : `right(${left}, length(${right})) = ${right}`;
}

function sides(column: Column, value: string | number | boolean, parameters: unknown[]): [string, string] {
  const parameter = (given: unknown, type: string): string => `$${parameters.push(given)}::${type}`;
  switch (column.type) {
    case 'boolean': {
      const wanted = typeof value === 'number' ? null : booleanOf(value, 'A boolean');
      if (wanted === null) throw invalid('invalidFilter', 'A boolean is true or false.');
      return [column.sql, parameter(wanted, 'boolean')];
    }
    case 'time': {
      const time = typeof value === 'string' ? new Date(value) : null;
      if (time === null || Number.isNaN(time.getTime())) throw invalid('invalidFilter', 'A time is one of ISO 8601.');
      if (!isInPlainYear(time)) throw invalid('invalidFilter', 'A time is in the years 0000 to 9999 of UTC.');
      return [column.sql, parameter(time, 'timestamptz')];
    }
    case 'id':
      // An id has one spelling; others are nobody's, and have no place in a column of integers.
      if (typeof value === 'string' && /^[1-9]\d{0,8}$/.test(value))
        return [column.sql, parameter(Number(value), 'integer')];
      return [`${column.sql}::text`, parameter(String(value), 'text')];
    case 'text': {
      const { sql, expression = (each: string) => each } = column;
      return [expression(sql), expression(parameter(String(value), 'text'))];
    }
  }
}

function unknown({ attribute, sub }: AttributePath): Error {
  const name = sub === null ? attribute : `${attribute}.${sub}`;
  return invalid('invalidFilter', `Nothing can be filtered by ${name.slice(0, 100)}.`);
}
