import { ApiPropertyOptional } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { ValidateIf } from 'class-validator';
import { resourceNameProblem } from '../kernel/name.js';
import { FieldRule, NestedObject } from '../platform/http/validation.js';
import { misplacedField, type NodeFields, type Node, nodeOf, SYSTEM } from '../trino-rules/model/node.js';
import { SYSTEM_SCHEMAS } from '../trino-rules/model/resource.js';
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

/** A name, in a place where the fields around it leave room for it. */
const name = (field: keyof NodeFields) => (value: unknown, fields: NodeFields) =>
  nameProblem(value) ?? misplaced(field, fields);

function nameProblem(value: unknown): string | null {
  if (value === undefined) return null;
  return typeof value === 'string' ? resourceNameProblem(value) : 'must be a string';
}

export function misplaced(field: keyof NodeFields, fields: NodeFields): string | null {
  const problem = misplacedField(fields);
  return problem?.field === field ? problem.message : null;
}

abstract class NodeNames {
  abstract engine?: true;
  abstract as?: unknown;
  abstract queries?: unknown;

  @ApiPropertyOptional(NAME)
  @FieldRule<NodeNames>(name('catalog'))
  catalog?: string;

  @ApiPropertyOptional(NAME)
  @FieldRule<NodeNames>(name('schema'))
  schema?: string;

  @ApiPropertyOptional(NAME)
  @FieldRule<NodeNames>(name('table'))
  table?: string;

  @ApiPropertyOptional({ ...NAME, description: 'A function or a procedure of the schema.' })
  @FieldRule<NodeNames>(name('routine'))
  routine?: string;
}

/** A node in a body. */
export class ResourceDto extends NodeNames {
  @FieldRule<NodeNames>((_, fields) => misplaced('engine', fields))
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

/** A node in a query string, but for those whom it names. */
export abstract class NodeNamesQuery extends NodeNames {
  @ApiPropertyOptional({ type: Boolean, enum: [true], description: 'The engine itself.' })
  @Transform(({ value }: { value: unknown }) => (value === 'true' ? true : value))
  @FieldRule<NodeNames>((_, fields) => misplaced('engine', fields))
  engine?: true;

  @ApiPropertyOptional({ ...NAME, description: 'In the tables of the node.' })
  @FieldRule(nameProblem)
  column?: string;
}

/** A node in a query string: without any field, everything. */
export class NodeQuery extends NodeNamesQuery {
  @ApiPropertyOptional({
    ...POLICY_PRINCIPAL_PARAMETER,
    description: `Acting as these: ${POLICY_PRINCIPAL_PARAMETER.description}`,
  })
  @FieldRule((text) => (text === undefined ? null : policyPrincipalParameterProblem(text)))
  as?: string;

  @ApiPropertyOptional({
    ...POLICY_PRINCIPAL_PARAMETER,
    description: `The queries of these: ${POLICY_PRINCIPAL_PARAMETER.description}`,
  })
  @FieldRule<NodeNames>((text, fields) =>
    text === undefined ? null : (policyPrincipalParameterProblem(text) ?? misplaced('queries', fields)),
  )
  queries?: string;
}

export function toNode({ as, queries, ...fields }: ResourceDto): Node {
  return nodeOf({
    ...fields,
    ...(as !== undefined && { as: toPolicyPrincipal(as) }),
    ...(queries !== undefined && { queries: toPolicyPrincipal(queries) }),
  });
}

/** The node of a query that was validated. */
export function nodeOfQuery({ as = '', queries = '', ...fields }: NodeQuery): Node {
  const [actedAs, owner] = [parsePolicyPrincipal(as), parsePolicyPrincipal(queries)];
  return nodeOf({ ...fields, ...(actedAs !== null && { as: actedAs }), ...(owner !== null && { queries: owner }) });
}

/**
 * OpenAPI schema of a node: one shape for each kind, each before those whose fields it has too, because generated clients take the
 * first that fits.
 * @param more columns, which tables have
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

/** In a request. */
export const RESOURCE = { type: Object, ...nodes(POLICY_PRINCIPAL) };
export const POLICY_RESOURCE = { type: Object, ...nodes(POLICY_PRINCIPAL, COLUMN) };
/** In a response, with the names of those whom it names. */
export const RESOURCE_ANSWER = { type: Object, ...nodes(POLICY_PRINCIPAL_ANSWER) };
export const POLICY_RESOURCE_ANSWER = { type: Object, ...nodes(POLICY_PRINCIPAL_ANSWER, COLUMN) };
