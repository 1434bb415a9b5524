import type { DatabaseSession } from '../../../platform/database/database-session.js';
import { hasFourDigitYear } from '../../../platform/http/validation.js';
import type { AttributePath, Comparison, Filter, Literal } from '../domain/filter.js';
import type { ListResult } from '../domain/list-request.js';
import { booleanOf, integerId, invalid } from '../domain/values.js';

/** A column of a filter. `expression` is applied to both sides of a comparison. */
export type Column =
  | { type: 'text'; sql: string; expression?: (sql: string) => string }
  | { type: 'id' | 'boolean' | 'time'; sql: string };

/** A text column that is compared without case (RFC 7643 section 4.1). */
export const inAnyCase = (sql: string): Column => ({ type: 'text', sql, expression: (side) => `lower(${side})` });

/** A list of entries. `exists` makes the condition that at least one entry fulfils the given condition. */
export interface Entries {
  columns: ReadonlyMap<string, Column>;
  exists: (condition: string) => string;
}

/** The attributes that filters of a resource can use, by their paths in lower case. */
export interface Filterable {
  columns: ReadonlyMap<string, Column>;
  entries: ReadonlyMap<string, Entries>;
}

/** The most conditions on lists in one filter, because each reads the list again for every resource. */
const MOST_LISTS = 10;

const ORDER = { gt: '>', ge: '>=', lt: '<', le: '<=' } as const;

/** Parts of the statement for a list: `columns` follow SELECT; `source` begins with FROM and has a WHERE. */
interface Listed {
  columns: string;
  source: string;
  id: string;
  filterable: Filterable;
}

/** A page of the resources that fulfil a filter, ordered by id. @throws Refused 400 `invalidFilter` */
export async function filteredPage<T extends object>(
  session: DatabaseSession,
  { columns, source, id, filterable }: Listed,
  filter: Filter | null,
  { offset, count }: { offset: number; count: number },
): Promise<ListResult<T>> {
  const parameters: unknown[] = [];
  const from = filter === null ? source : `${source} AND ${conditionOf(filter, filterable, { parameters, lists: 0 })}`;
  const { total } = await session.oneRow<{ total: number }>(`SELECT count(*)::integer AS total ${from}`, parameters);
  if (total <= offset || count === 0) return { total, resources: [] };
  const page = `SELECT ${columns} ${from} ORDER BY ${id} OFFSET ${offset} LIMIT ${count}`;
  return { total, resources: await session.query<T>(page, parameters) };
}

/** The state while one filter is translated. Texts of the client become parameters. */
interface ConditionState {
  parameters: unknown[];
  lists: number;
}

function conditionOf(filter: Filter, to: Filterable, state: ConditionState): string {
  const inner = (part: Filter, within = to): string => conditionOf(part, within, state);
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
      return exists(entries, inner(filter.filter, { columns: entries.columns, entries: new Map() }), state);
    }
    case 'present':
      return onColumn(filter.path, to, state, (column) => `${column.sql} IS NOT NULL`);
    case 'compare':
      return onColumn(filter.path, to, state, (column) =>
        comparison(column, filter.comparison, filter.value, state.parameters),
      );
  }
}

/** The condition on a column, or on the entries of a list. Without a sub-attribute entries are compared by `value`. */
function onColumn(
  path: AttributePath,
  to: Filterable,
  state: ConditionState,
  condition: (column: Column) => string,
): string {
  const { attribute, sub, isForeign } = path;
  const column = isForeign ? undefined : to.columns.get(sub === null ? attribute : `${attribute}.${sub}`);
  if (column !== undefined) return condition(column);
  const entries = isForeign ? undefined : to.entries.get(attribute);
  const part = entries?.columns.get(sub ?? 'value');
  if (entries === undefined || part === undefined) throw unknown(path);
  return exists(entries, condition(part), state);
}

function exists(entries: Entries, condition: string, state: ConditionState): string {
  state.lists += 1;
  if (state.lists > MOST_LISTS)
    throw invalid('invalidFilter', `A filter has at most ${MOST_LISTS} conditions on lists.`);
  return entries.exists(condition);
}

/** A comparison that is never null in SQL, so that `not` negates it. An unset attribute fulfils only `ne`. */
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
      if (!hasFourDigitYear(time)) throw invalid('invalidFilter', 'A time is in the years 0000 to 9999 of UTC.');
      return [column.sql, parameter(time, 'timestamptz')];
    }
    case 'id': {
      const id = typeof value === 'string' ? integerId(value) : null;
      if (id !== null) return [column.sql, parameter(id, 'integer')];
      return [`${column.sql}::text`, parameter(String(value), 'text')];
    }
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
