import { applyDecorators } from '@nestjs/common';
import { ApiPropertyOptional } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { IsIn, IsOptional, Matches, ValidateIf } from 'class-validator';
import { resourceNameProblem } from '../kernel/name.js';
import { PageQuery, SearchText } from '../platform/http/page.dto.js';
import { absentOr, FieldRule, NestedObject, ofText } from '../platform/http/validation.js';
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
  only,
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
const Name = (field: keyof NodeFields, more: { description?: string } = {}): PropertyDecorator =>
  applyDecorators(
    ApiPropertyOptional({ ...NAME, ...more }),
    FieldRule<NodeNames>((value, fields) => nameProblem(value) ?? misplacedProblem(field, fields)),
  );

const nameProblem = absentOr(ofText(resourceNameProblem));

export function misplacedProblem(field: keyof NodeFields, fields: NodeFields): string | null {
  const problem = misplacedField(fields);
  return problem?.field === field ? problem.message : null;
}

abstract class NodeNames {
  abstract engine?: true;
  abstract as?: unknown;
  abstract queries?: unknown;

  @Name('catalog') catalog?: string;
  @Name('schema') schema?: string;
  @Name('table') table?: string;
  @Name('routine', { description: 'A function or a procedure of the schema.' }) routine?: string;
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

/** A node, or the columns of one name in all tables of a node. */
export class PolicyResourceDto extends ResourceDto {
  @FieldRule(nameProblem)
  column?: string;
}

/** A node in a query string, without the fields `as` and `queries`. */
export abstract class NodeNamesQuery extends NodeNames {
  @ApiPropertyOptional({ type: Boolean, enum: [true], description: 'The engine itself.' })
  @Transform(({ value }: { value: unknown }) => (value === 'true' ? true : value))
  @FieldRule<NodeNames>((_, fields) => misplacedProblem('engine', fields))
  engine?: true;

  @ApiPropertyOptional({ ...NAME, description: 'In the tables of the node.' })
  @FieldRule(nameProblem)
  column?: string;
}

/** A node in a validated query string. Without any field it is everything. */
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
  const [actedAs, owner] = [parsePolicyPrincipal(as), parsePolicyPrincipal(queries)];
  return nodeOf({ ...fields, ...(actedAs !== null && { as: actedAs }), ...(owner !== null && { queries: owner }) });
}

/**
 * OpenAPI schema of a node: one shape for each kind, the most specific first, because generated clients take the first that matches.
 * @param more further fields of the shapes, such as a column
 */
function nodes(principal: object, more: Record<string, object> = {}) {
  const named = (fields: readonly string[]) => Object.fromEntries(fields.map((field) => [field, NAME]));
  const inTree = (...fields: string[]) => ({ ...only(named(fields)), properties: { ...named(fields), ...more } });
  return {
    oneOf: [
      inTree('catalog', 'schema', 'table'),
      { ...only(named(['catalog', 'schema', 'routine'])), description: 'A function or a procedure.' },
      inTree('catalog', 'schema'),
      {
        ...inTree('catalog'),
        description: `Of ${SYSTEM}, this, its schemas ${SYSTEM_SCHEMAS.join(', ')} and their tables take SELECT, the routine runtime.kill_query takes CALL_PROCEDURE.`,
      },
      { ...only({ engine: { type: 'boolean', enum: [true] } }), description: 'The engine itself.' },
      { ...only({ as: principal }), description: 'Acting as these.' },
      { ...only({ queries: principal }), description: 'The queries of these, a part of the engine.' },
      { ...inTree(), description: 'Everything: all data catalogs, later ones too.' },
    ],
    examples: [{ catalog: 'sales', schema: 'eu', table: 'orders' }, {}, { as: { type: 'group', id: 3 } }],
  };
}

const COLUMN = { column: { ...NAME, description: 'Of a mask or a hidden column, at any level.' } };

export const RESOURCE = { type: Object, ...nodes(POLICY_PRINCIPAL) };
export const POLICY_RESOURCE = { type: Object, ...nodes(POLICY_PRINCIPAL, COLUMN) };
/** A node in a response, with the names of the principals in it. */
export const RESOURCE_ANSWER = { type: Object, ...nodes(POLICY_PRINCIPAL_ANSWER) };
export const POLICY_RESOURCE_ANSWER = { type: Object, ...nodes(POLICY_PRINCIPAL_ANSWER, COLUMN) };

/** A query parameter that is given once, without NUL, which PostgreSQL cannot store. */
const OneText = (): PropertyDecorator =>
  applyDecorators(
    ApiPropertyOptional({ type: String }),
    IsOptional(),
    Matches(/^[^\0]*$/, { message: 'must be given once, without NUL' }),
  );

export class EntryQuery extends PageQuery {
  @SearchText('Part of the name of whom it is for, or of its node, in any case.')
  q?: string;

  @ApiPropertyOptional(POLICY_PRINCIPAL_PARAMETER)
  @FieldRule(absentOr(policyPrincipalParameterProblem))
  principal?: string;

  @OneText() catalog?: string;
  @OneText() schema?: string;
  @OneText() table?: string;
  @OneText() routine?: string;

  @ApiPropertyOptional({ type: Boolean, enum: [true], description: 'On the engine itself.' })
  @Transform(({ value }: { value: unknown }) => (value === 'true' ? true : value))
  @FieldRule<EntryQuery>((_, query) => filterProblem('engine', query))
  engine?: true;

  @ApiPropertyOptional({ ...POLICY_PRINCIPAL_PARAMETER, description: 'On acting as these.' })
  @FieldRule<EntryQuery>((text, query) => absentOr(policyPrincipalParameterProblem)(text) ?? filterProblem('as', query))
  as?: string;

  @ApiPropertyOptional({ ...POLICY_PRINCIPAL_PARAMETER, description: 'On the queries of these.' })
  @FieldRule<EntryQuery>(
    (text, query) => absentOr(policyPrincipalParameterProblem)(text) ?? filterProblem('queries', query),
  )
  queries?: string;

  @ApiPropertyOptional({ enum: NODE_KINDS, description: 'The kind of node that it names.' })
  @IsOptional()
  @IsIn(NODE_KINDS, { message: `must be ${NODE_KINDS.join(', ')}` })
  level?: NodeKind;

  @ApiPropertyOptional({
    type: String,
    minLength: 1,
    maxLength: 512,
    example: 'sales.eu.orders',
    description:
      'A catalog, schema or table: entries on it and on what is above it. A name that holds a dot or a quote stands in double quotes.',
  })
  @FieldRule(absentOr(coveringProblem))
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
    named: parsePolicyPrincipal(as ?? queries ?? ''),
    covering: parsePath(query.covering ?? ''),
  };
}

/** The problem of a filter by the engine, impersonation or queries that contradicts the other filters. */
function filterProblem(field: 'engine' | 'as' | 'queries', query: EntryQuery) {
  if (query[field] === undefined) return null;
  const { engine, as, queries, catalog, schema, table, routine } = query;
  const other = { engine, as, queries, catalog, schema, table, routine };
  const problem = misplacedField(other);
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
  const name = /\.(?:"((?:[^"]|"")+)"|([^".]+))/y;
  const names: string[] = [];
  for (const whole = `.${path}`; name.lastIndex < whole.length;) {
    const [, quoted, plain] = name.exec(whole) ?? [];
    const found = plain ?? quoted?.replaceAll('""', '"') ?? '';
    if (resourceNameProblem(found) !== null || names.push(found) > LEVELS.length) return null;
  }
  const [catalog, schema, table] = names;
  return nodeOf({ catalog, schema, table });
}
