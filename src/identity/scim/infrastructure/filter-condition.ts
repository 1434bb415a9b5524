import type { DatabaseSession } from '../../../platform/database/database-session.js';
import { hasFourDigitYear } from '../../../platform/http/validation.js';
import type { AttributePath, Comparison, Filter, Literal } from '../domain/filter.js';
import type { ListRequest, ListResult } from '../domain/list-request.js';
import { booleanOf, integerId, refusal } from '../domain/values.js';

/** A column that a filter can compare. `expression` is applied to both sides of a comparison. */
export type Column =
  | { type: 'text'; sql: string; expression?: (sql: string) => string }
  | { type: 'id' | 'boolean' | 'time'; sql: string };

/** A text column that is compared without case (RFC 7643 section 4.1). */
export const caseInsensitive = (sql: string): Column => ({ type: 'text', sql, expression: caselessSql });
const caselessSql = (sql: string): string => `caseless(${sql})`;

/** An attribute that is a list of entries. `existsSql` makes the condition that at least one entry fulfils `condition`. */
export interface ListAttribute {
  columns: ReadonlyMap<string, Column>;
  existsSql: (condition: string) => string;
}

/** The attributes that filters of a resource can use, by their paths in lower case. */
export interface FilterFields {
  columns: ReadonlyMap<string, Column>;
  listAttributes: ReadonlyMap<string, ListAttribute>;
}

/** The most conditions on lists in one filter. Limited, because each condition reads the list again for every resource. */
const MAX_LIST_CONDITIONS = 10;

const SQL_OPERATORS = { gt: '>', ge: '>=', lt: '<', le: '<=' } as const;

/** SQL parts of a statement that lists resources. `columns` follow SELECT; `sourceSql` begins with FROM and has a WHERE. */
interface ListQuery {
  columns: string;
  sourceSql: string;
  id: string;
  attributes: FilterFields;
}

/** A page of the resources that fulfil a filter, ordered by id. @throws Refused 400 `invalidFilter` */
export async function filteredPage<T extends object>(
  session: DatabaseSession,
  { columns, sourceSql, id, attributes }: ListQuery,
  { filter, offset, count }: ListRequest,
): Promise<ListResult<T>> {
  const parameters: unknown[] = [];
  const condition = filter === null ? '' : `AND ${conditionOf(filter, attributes, { parameters, listCount: 0 })}`;
  const fromSql = `${sourceSql} ${condition}`;
  const { total } = await session.oneRow<{ total: number }>(`SELECT count(*)::integer AS total ${fromSql}`, parameters);
  if (total <= offset || count === 0) return { total, resources: [] };
  const selectPage = `SELECT ${columns} ${fromSql} ORDER BY ${id} OFFSET ${offset} LIMIT ${count}`;
  return { total, resources: await session.query<T>(selectPage, parameters) };
}

/** The state while one filter is translated. Texts of the client become parameters. */
interface ConditionState {
  parameters: unknown[];
  listCount: number;
}

function conditionOf(filter: Filter, attributes: FilterFields, state: ConditionState): string {
  const translate = (innerFilter: Filter, fields = attributes): string => conditionOf(innerFilter, fields, state);
  switch (filter.kind) {
    case 'and':
      return `(${translate(filter.left)} AND ${translate(filter.right)})`;
    case 'or':
      return `(${translate(filter.left)} OR ${translate(filter.right)})`;
    case 'not':
      return `NOT ${translate(filter.filter)}`;
    case 'any': {
      const { attribute, part, isForeign } = filter.path;
      const list = isForeign || part !== null ? undefined : attributes.listAttributes.get(attribute);
      if (list === undefined) throw unknownAttributeError(filter.path);
      return anyEntrySql(list, translate(filter.filter, { columns: list.columns, listAttributes: new Map() }), state);
    }
    case 'present':
      return columnCondition(filter.path, attributes, state, (column) => `${column.sql} IS NOT NULL`);
    case 'compare':
      return columnCondition(filter.path, attributes, state, (column) =>
        comparisonSql(column, filter.comparison, filter.value, state.parameters),
      );
  }
}

/** SQL of a condition on an attribute. For a list, one matching entry is enough. */
function columnCondition(
  path: AttributePath,
  attributes: FilterFields,
  state: ConditionState,
  condition: (column: Column) => string,
): string {
  const { attribute, part, isForeign } = path;
  const column = isForeign ? undefined : attributes.columns.get(part === null ? attribute : `${attribute}.${part}`);
  if (column !== undefined) return condition(column);
  const list = isForeign ? undefined : attributes.listAttributes.get(attribute);
  const entryColumn = list?.columns.get(part ?? 'value');
  if (list === undefined || entryColumn === undefined) throw unknownAttributeError(path);
  return anyEntrySql(list, condition(entryColumn), state);
}

function anyEntrySql(list: ListAttribute, condition: string, state: ConditionState): string {
  state.listCount += 1;
  if (state.listCount <= MAX_LIST_CONDITIONS) return list.existsSql(condition);
  throw refusal('invalidFilter', `A filter has at most ${MAX_LIST_CONDITIONS} conditions on lists.`);
}

/** SQL of a comparison. It is never null, so that `not` negates it. An unset attribute fulfils only `ne`. */
function comparisonSql(column: Column, operator: Comparison, value: Literal, parameters: unknown[]): string {
  const { sql } = column;
  if (value === null && operator === 'eq') return `${sql} IS NULL`;
  if (value === null && operator === 'ne') return `${sql} IS NOT NULL`;
  if (value === null) throw refusal('invalidFilter', `Nothing can be compared with null by ${operator}.`);
  const [left, right] = operandsSql(column, value, parameters);
  switch (operator) {
    case 'eq':
      return `(${left} IS NOT NULL AND ${left} = ${right})`;
    case 'ne':
      return `${left} IS DISTINCT FROM ${right}`;
    case 'co':
    case 'sw':
    case 'ew':
      if (column.type !== 'text' && column.type !== 'id') throw refusal('invalidFilter', `${operator} compares texts.`);
      return `(${left} IS NOT NULL AND ${partialMatchSql(operator, left, right)})`;
    case 'gt':
    case 'ge':
    case 'lt':
    case 'le':
      if (column.type === 'boolean') throw refusal('invalidFilter', `${operator} does not compare booleans.`);
      return `(${left} IS NOT NULL AND ${left} ${SQL_OPERATORS[operator]} ${right})`;
  }
}

function partialMatchSql(operator: 'co' | 'sw' | 'ew', whole: string, part: string): string {
  if (operator === 'co') return `strpos(${whole}, ${part}) > 0`;
  return operator === 'sw' ? `starts_with(${whole}, ${part})` : `right(${whole}, length(${part})) = ${part}`;
}

function operandsSql(column: Column, value: string | number | boolean, parameters: unknown[]): [string, string] {
  const parameter = (parameterValue: unknown, type: string): string => `$${parameters.push(parameterValue)}::${type}`;
  switch (column.type) {
    case 'boolean': {
      const booleanValue = typeof value === 'number' ? null : booleanOf(value, 'A boolean');
      if (booleanValue === null) throw refusal('invalidFilter', 'A boolean is true or false.');
      return [column.sql, parameter(booleanValue, 'boolean')];
    }
    case 'time': {
      const time = typeof value === 'string' ? new Date(value) : null;
      if (time === null || Number.isNaN(time.getTime())) throw refusal('invalidFilter', 'A time is one of ISO 8601.');
      if (!hasFourDigitYear(time)) throw refusal('invalidFilter', 'A time is in the years 0000 to 9999 of UTC.');
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

function unknownAttributeError({ attribute, part }: AttributePath): Error {
  const name = part === null ? attribute : `${attribute}.${part}`;
  return refusal('invalidFilter', `Nothing can be filtered by ${name.slice(0, 100)}.`);
}
