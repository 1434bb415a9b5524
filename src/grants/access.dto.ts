import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsIn, IsOptional } from 'class-validator';
import { AfterNames, Limit, NamePageQuery } from '../platform/page.dto.js';
import { FieldRule } from '../platform/validation.js';
import type { HolderQuestion } from '../trino-rules/answers/holders.js';
import { nodeOf, type Node } from '../trino-rules/model/node.js';
import type { Principal } from '../trino-rules/model/principal.js';
import { PRIVILEGE_TERMS, PRIVILEGES, type Privilege } from '../trino-rules/model/privilege.js';
import type { Question } from '../trino-rules/model/question.js';
import { parsePrincipal, PRINCIPAL_PARAMETER, principalParameterProblem } from './principal.dto.js';
import { PolicyResourceDto } from './resource.dto.js';

const PRIVILEGE = { message: `must be one of ${PRIVILEGES.join(', ')}` };

/** A list that is ordered by node. */
export class EffectiveQuery extends NamePageQuery {}

export class EffectiveOfQuery extends EffectiveQuery {
  @ApiProperty(PRINCIPAL_PARAMETER)
  @FieldRule(principalParameterProblem)
  principal!: string;
}

/** One privilege at a node, or at a column in its tables. */
export class ExplainQuery extends PolicyResourceDto {
  @ApiProperty({ enum: PRIVILEGES })
  @IsIn(PRIVILEGES, PRIVILEGE)
  privilege!: Privilege;
}

export class ExplainOfQuery extends ExplainQuery {
  @ApiProperty(PRINCIPAL_PARAMETER)
  @FieldRule(principalParameterProblem)
  principal!: string;
}

export class WhoQuery extends PolicyResourceDto {
  @ApiPropertyOptional({ enum: PRIVILEGES, description: 'Default: any of them.' })
  @IsOptional()
  @IsIn(PRIVILEGES, PRIVILEGE)
  privilege?: Privilege;

  @Limit(1000, 200)
  limit = 200;

  @AfterNames()
  after: string[] | null = null;
}

/** The principal of a query that was validated. */
export function principalOf({ principal }: { principal: string }): Principal {
  const parsed = parsePrincipal(principal);
  if (parsed === null) throw new Error('the query was not validated');
  return parsed;
}

export function toQuestion(query: ExplainQuery): Question;
export function toQuestion(query: WhoQuery): HolderQuestion;
export function toQuestion(query: ExplainQuery | WhoQuery): HolderQuestion {
  const { column, privilege } = query;
  const resource = nodeOf(query);
  return privilege === undefined
    ? { about: 'anything', resource, column }
    : PRIVILEGE_TERMS[privilege].asks(resource, column);
}

/** The node of a cursor; null: none. */
export function nodeOfCursor(names: readonly string[] | null): Node | null {
  const [catalog, schema, table] = names ?? [];
  return catalog === undefined ? null : nodeOf({ catalog, schema, table });
}
