import { applyDecorators } from '@nestjs/common';
import { ApiPropertyOptional } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { IsIn, IsOptional, Matches, ValidateIf } from 'class-validator';
import { resourceNameProblem } from '../kernel/name.js';
import { PageQuery, SearchText } from '../platform/http/page.dto.js';
import { optionalRule, FieldRule, NestedObject, ruleForText } from '../platform/http/validation.js';
import {
  LEVELS,
  misplacedField,
  type Node,
  NODE_KINDS,
  type NodeFields,
  type NodeKind,
  nodeOf,
  SYSTEM,
} from '../trino-rules/model/node.js';
import { SYSTEM_SCHEMAS } from '../trino-rules/model/resource.js';
import type { EntryFilter } from './domain/grant.js';
import {
  exactObject,
  parsePolicyPrincipal,
  POLICY_PRINCIPAL,
  POLICY_PRINCIPAL_ANSWER,
  POLICY_PRINCIPAL_PARAMETER,
  PolicyPrincipalDto,
  policyPrincipalParameterProblem,
  toPolicyPrincipal,
} from './principal.dto.js';

const NAME = {
  type: 'string' as const,
  minLength: 1,
  maxLength: 128,
  // Excludes upper-case ASCII only: JSON Schema patterns have no class for other upper-case letters.
  pattern: '^[^A-Z\\u0000-\\u001f\\u007f-\\u009f]+$',
};

/** Checks a name, and that its field can be given together with the other fields. */
const NameField = (field: keyof NodeFields, options: { description?: string } = {}): PropertyDecorator =>
  applyDecorators(
    ApiPropertyOptional({ ...NAME, ...options }),
    FieldRule<NodeNames>((value, fields) => nameProblem(value) ?? misplacedProblem(field, fields)),
  );

const nameProblem = optionalRule(ruleForText(resourceNameProblem));

export function misplacedProblem(field: keyof NodeFields, fields: NodeFields): string | null {
  const problem = misplacedField(fields);
  return problem?.field === field ? problem.message : null;
}

abstract class NodeNames {
  abstract engine?: true;
  abstract as?: unknown;
  abstract queries?: unknown;

  @NameField('catalog') catalog?: string;
  @NameField('schema') schema?: string;
  @NameField('table') table?: string;
  @NameField('routine', { description: 'A function or a procedure of the schema.' }) routine?: string;
}

export class ResourceDto extends NodeNames {
  @FieldRule<NodeNames>((_, fields) => misplacedProblem('engine', fields))
  engine?: true;

  @ValidateIf(({ as }: ResourceDto) => as !== undefined)
  @NestedObject(() => PolicyPrincipalDto)
  as?: PolicyPrincipalDto;

  @ValidateIf(({ queries }: ResourceDto) => queries !== undefined)
  @NestedObject(() => PolicyPrincipalDto)
  queries?: PolicyPrincipalDto;
}

export class PolicyResourceDto extends ResourceDto {
  @FieldRule(nameProblem)
  column?: string;
}

export abstract class NodeNamesQuery extends NodeNames {
  @ApiPropertyOptional({ type: Boolean, enum: [true], description: 'The engine itself.' })
  @Transform(({ value }: { value: unknown }) => (value === 'true' ? true : value))
  @FieldRule<NodeNames>((_, fields) => misplacedProblem('engine', fields))
  engine?: true;

  @ApiPropertyOptional({ ...NAME, description: 'The columns of this name in the tables of the node.' })
  @FieldRule(nameProblem)
  column?: string;
}

/** A node in a validated query string. A query without any of these fields means the node of everything. */
export interface NodeQuery extends NodeNamesQuery {
  as?: string;
  queries?: string;
}

export function toNode({ as, queries, ...fields }: ResourceDto): Node {
  return nodeOf({
    ...fields,
    ...(as !== undefined && { as: toPolicyPrincipal(as) }),
    ...(queries !== undefined && { queries: toPolicyPrincipal(queries) }),
  });
}

export function nodeOfQuery({ as = '', queries = '', ...fields }: NodeQuery): Node {
  const [target, owner] = [parsePolicyPrincipal(as), parsePolicyPrincipal(queries)];
  return nodeOf({ ...fields, ...(target !== null && { as: target }), ...(owner !== null && { queries: owner }) });
}

/**
 * OpenAPI schema of a node: one shape for each kind, the most specific first, because generated clients take the first that matches.
 * @param extraFields further fields of the shapes, such as a column
 */
function nodeSchema(principal: object, extraFields: Record<string, object> = {}) {
  const nameFields = (fields: readonly string[]) => Object.fromEntries(fields.map((field) => [field, NAME]));
  const treeNode = (...fields: string[]) => {
    const properties = { ...nameFields(fields), ...extraFields };
    return { ...exactObject(nameFields(fields)), properties };
  };
  return {
    oneOf: [
      treeNode('catalog', 'schema', 'table'),
      { ...exactObject(nameFields(['catalog', 'schema', 'routine'])), description: 'A function or a procedure.' },
      treeNode('catalog', 'schema'),
      {
        ...treeNode('catalog'),
        description: `In ${SYSTEM} only SELECT can be granted, on it, on its schemas ${SYSTEM_SCHEMAS.join(', ')} and on their tables, and CALL_PROCEDURE on runtime.kill_query.`,
      },
      { ...exactObject({ engine: { type: 'boolean', enum: [true] } }), description: 'The engine itself.' },
      { ...exactObject({ as: principal }), description: 'Acting as these principals.' },
      { ...exactObject({ queries: principal }), description: 'The queries of these principals, a part of the engine.' },
      { ...treeNode(), description: 'Everything: all data catalogs, also later ones.' },
    ],
    examples: [{ catalog: 'sales', schema: 'eu', table: 'orders' }, {}, { as: { type: 'group', id: 3 } }],
  };
}

const COLUMN_FIELD = { column: { ...NAME, description: 'The column of a mask or a hidden column, at any level.' } };

export const RESOURCE = { type: Object, ...nodeSchema(POLICY_PRINCIPAL) };
export const POLICY_RESOURCE = { type: Object, ...nodeSchema(POLICY_PRINCIPAL, COLUMN_FIELD) };
/** A node in a response, with the names of the principals in it. */
export const RESOURCE_ANSWER = { type: Object, ...nodeSchema(POLICY_PRINCIPAL_ANSWER) };
export const POLICY_RESOURCE_ANSWER = { type: Object, ...nodeSchema(POLICY_PRINCIPAL_ANSWER, COLUMN_FIELD) };

/** A query parameter that is given at most once. It must not contain NUL, which PostgreSQL cannot store. */
const SingleText = (): PropertyDecorator =>
  applyDecorators(
    ApiPropertyOptional({ type: String }),
    IsOptional(),
    Matches(/^[^\0]*$/, { message: 'must be given once, without NUL' }),
  );

export class EntryQuery extends PageQuery {
  @SearchText('Part of the name of the principal, of the node or of its column, compared without case.')
  q?: string;

  @ApiPropertyOptional(POLICY_PRINCIPAL_PARAMETER)
  @FieldRule(optionalRule(policyPrincipalParameterProblem))
  principal?: string;

  @SingleText() catalog?: string;
  @SingleText() schema?: string;
  @SingleText() table?: string;
  @SingleText() routine?: string;

  @ApiPropertyOptional({ type: Boolean, enum: [true], description: 'Only entries on the engine itself.' })
  @Transform(({ value }: { value: unknown }) => (value === 'true' ? true : value))
  @FieldRule<EntryQuery>((_, query) => filterProblem('engine', query))
  engine?: true;

  @ApiPropertyOptional({ ...POLICY_PRINCIPAL_PARAMETER, description: 'Only entries on acting as them.' })
  @FieldRule<EntryQuery>(
    (text, query) => optionalRule(policyPrincipalParameterProblem)(text) ?? filterProblem('as', query),
  )
  as?: string;

  @ApiPropertyOptional({ ...POLICY_PRINCIPAL_PARAMETER, description: 'Only entries on their queries.' })
  @FieldRule<EntryQuery>(
    (text, query) => optionalRule(policyPrincipalParameterProblem)(text) ?? filterProblem('queries', query),
  )
  queries?: string;

  @ApiPropertyOptional({ enum: NODE_KINDS, description: 'Only entries on this kind of node.' })
  @IsOptional()
  @IsIn(NODE_KINDS, { message: `must be ${NODE_KINDS.join(', ')}` })
  level?: NodeKind;

  @ApiPropertyOptional({
    type: String,
    minLength: 1,
    maxLength: 512,
    example: 'sales.eu.orders',
    description:
      'A catalog, schema or table: only entries on it and above it. A name with a dot or a quote stands in double quotes.',
  })
  @FieldRule(optionalRule(coveringProblem))
  covering?: string;
}

export function toEntryFilter(query: EntryQuery): EntryFilter {
  const { catalog, schema, table, routine, engine, as, queries, level } = query;
  return {
    ...{ catalog, schema, table, routine, text: query.q },
    principal: parsePolicyPrincipal(query.principal ?? ''),
    kind:
      level ??
      (engine === true ? 'engine' : as !== undefined ? 'acting' : queries === undefined ? undefined : 'queries'),
    targetPrincipal: parsePolicyPrincipal(as ?? queries ?? ''),
    covering: parsePath(query.covering ?? ''),
  };
}

/** The problem of a filter field that contradicts another field of the query; null: there is none. */
function filterProblem(field: 'engine' | 'as' | 'queries', query: EntryQuery) {
  if (query[field] === undefined) return null;
  const { engine, as, queries, catalog, schema, table, routine } = query;
  const fields = { engine, as, queries, catalog, schema, table, routine };
  const problem = misplacedField(fields);
  if (problem === null) return null;
  return problem.field === field ? problem.message : `cannot be given beside ${problem.field}`;
}

function coveringProblem(value: unknown): string | null {
  return typeof value === 'string' && parsePath(value) !== null
    ? null
    : 'must be like sales, sales.eu or sales.eu.orders';
}

/** The node of a path in SQL notation; null: the text is no such path. */
export function parsePath(path: string): Node | null {
  const namePattern = /\.(?:"((?:[^"]|"")+)"|([^".]+))/y;
  const names: string[] = [];
  for (const dottedPath = `.${path}`; namePattern.lastIndex < dottedPath.length;) {
    const [, quotedName, unquoted] = namePattern.exec(dottedPath) ?? [];
    const parsedName = unquoted ?? quotedName?.replaceAll('""', '"') ?? '';
    if (resourceNameProblem(parsedName) !== null || names.push(parsedName) > LEVELS.length) return null;
  }
  const [catalog, schema, table] = names;
  return nodeOf({ catalog, schema, table });
}
