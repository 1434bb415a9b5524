import { ApiPropertyOptional } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { IsIn, IsOptional } from 'class-validator';
import { resourceNameProblem } from '../kernel/name.js';
import { PageQuery, SearchText } from '../platform/http/page.dto.js';
import { absentOr, FieldRule } from '../platform/http/validation.js';
import { LEVELS, misplacedField, NODE_KINDS, type Node, type NodeKind, nodeOf } from '../trino-rules/model/node.js';
import type { EntryFilter } from './domain/entry-filter.js';
import { parsePolicyPrincipal, POLICY_PRINCIPAL_PARAMETER, policyPrincipalParameterProblem } from './principal.dto.js';

/** Which grants, or which policies. */
export class EntryQuery extends PageQuery {
  @SearchText('Part of the name of whom it is for, or of its node, in any case.')
  q?: string;

  @ApiPropertyOptional(POLICY_PRINCIPAL_PARAMETER)
  @FieldRule(absentOr(policyPrincipalParameterProblem))
  principal?: string;

  @ApiPropertyOptional({ type: String })
  @FieldRule(absentOr(oneText))
  catalog?: string;

  @ApiPropertyOptional({ type: String })
  @FieldRule(absentOr(oneText))
  schema?: string;

  @ApiPropertyOptional({ type: String })
  @FieldRule(absentOr(oneText))
  table?: string;

  @ApiPropertyOptional({ type: String })
  @FieldRule(absentOr(oneText))
  routine?: string;

  @ApiPropertyOptional({ type: Boolean, enum: [true], description: 'On the engine itself.' })
  @Transform(({ value }: { value: unknown }) => (value === 'true' ? true : value))
  @FieldRule<EntryQuery>((_, query) => besideProblem('engine', query))
  engine?: true;

  @ApiPropertyOptional({ ...POLICY_PRINCIPAL_PARAMETER, description: 'On acting as these.' })
  @FieldRule<EntryQuery>((text, query) => absentOr(policyPrincipalParameterProblem)(text) ?? besideProblem('as', query))
  as?: string;

  @ApiPropertyOptional({ ...POLICY_PRINCIPAL_PARAMETER, description: 'On the queries of these.' })
  @FieldRule<EntryQuery>(
    (text, query) => absentOr(policyPrincipalParameterProblem)(text) ?? besideProblem('queries', query),
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

export function toEntryFilter({
  q,
  principal,
  as,
  queries,
  engine,
  level,
  covering,
  ...names
}: EntryQuery): EntryFilter {
  const { catalog = null, schema = null, table = null, routine = null } = names;
  return {
    principal: principal === undefined ? null : parsePolicyPrincipal(principal),
    ...{ catalog, schema, table, routine },
    kind:
      level ?? (engine === true ? 'engine' : as !== undefined ? 'acting' : queries !== undefined ? 'queries' : null),
    named: parsePolicyPrincipal(as ?? queries ?? ''),
    covering: covering === undefined ? null : pathNode(covering),
    text: q ?? null,
  };
}

/** A filter by the engine, by acting as others, or by queries, that no entry could pass with the other filters. */
function besideProblem(field: 'engine' | 'as' | 'queries', query: EntryQuery) {
  if (query[field] === undefined) return null;
  const { engine, as, queries, catalog, schema, table, routine } = query;
  const other = { engine, as, queries, catalog, schema, table, routine };
  const problem = misplacedField(other);
  if (problem === null) return null;
  return problem.field === field ? problem.message : `cannot be given beside ${problem.field}`;
}

/** A query parameter that is given once. PostgreSQL text has no NUL. */
function oneText(value: unknown): string | null {
  return typeof value === 'string' && !value.includes('\0') ? null : 'must be given once, without NUL';
}

function coveringProblem(value: unknown): string | null {
  return typeof value === 'string' && pathNode(value) !== null
    ? null
    : 'must be like sales, sales.eu or sales.eu.orders';
}

/** A node of the tree by its path, as SQL writes one; null: it is none. */
export function pathNode(path: string): Node | null {
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
