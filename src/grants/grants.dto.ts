import { applyDecorators } from '@nestjs/common';
import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { ArrayMaxSize, ArrayNotEmpty, IsArray, IsIn } from 'class-validator';
import { PageQuery } from '../platform/page.dto.js';
import { FieldRule, idProblem, momentProblem, NestedArray, NestedObject, WITHOUT_NUL } from '../platform/validation.js';
import { nodeOf } from '../trino-rules/model/node.js';
import { orderedPrivileges, PRIVILEGES, type Privilege } from '../trino-rules/model/privilege.js';
import { descriptionProblem } from './domain/description.js';
import { GRANT_STATES, type GrantFilter, type GrantState, type NewGrant } from './domain/grant.js';
import {
  parsePrincipal,
  PRINCIPAL,
  PRINCIPAL_PARAMETER,
  PrincipalDto,
  principalParameterProblem,
  toPrincipal,
} from './principal.dto.js';
import { ResourceDto } from './resource.dto.js';

const absentOr = (rule: (value: unknown) => string | null) => (value: unknown) =>
  value === undefined ? null : rule(value);

export class GrantDto {
  @ApiProperty({ type: Object, ...PRINCIPAL })
  @NestedObject(() => PrincipalDto)
  principal!: PrincipalDto;

  @ApiProperty()
  @NestedObject(() => ResourceDto)
  resource!: ResourceDto;

  @ApiProperty({ enum: PRIVILEGES, isArray: true, minItems: 1 })
  @IsArray({ message: 'must be a list' })
  @ArrayNotEmpty({ message: 'must name at least one privilege' })
  @IsIn(PRIVILEGES, { each: true, message: `must be among ${PRIVILEGES.join(', ')}` })
  privileges!: Privilege[];

  @ApiPropertyOptional({
    type: String,
    format: 'date-time',
    nullable: true,
    description: 'No effect from this time on.',
  })
  @FieldRule((moment) => (moment === undefined || moment === null ? null : momentProblem(moment)))
  expires_at?: string | null;

  @ApiPropertyOptional({ type: String, maxLength: 1000, nullable: true, pattern: WITHOUT_NUL })
  @FieldRule(descriptionProblem)
  description?: string | null;
}

/** Entries in each list of a batch or a draft. */
export const BATCH_MOST = 1000;

/** A list of ids of rows. */
export function RowIds(): PropertyDecorator {
  const items = { type: 'integer', minimum: 1, maximum: 2 ** 31 - 1 };
  return applyDecorators(
    ApiPropertyOptional({ type: 'array', items, maxItems: BATCH_MOST }),
    IsArray({ message: 'must be a list' }),
    ArrayMaxSize(BATCH_MOST, { message: `must have at most ${BATCH_MOST} entries` }),
    FieldRule((ids) => (Array.isArray(ids) ? (ids.map(idProblem).find((problem) => problem !== null) ?? null) : null)),
  );
}

/** Applied completely or not at all. */
export class GrantBatchDto {
  @ApiPropertyOptional({ type: [GrantDto], maxItems: BATCH_MOST })
  @NestedArray(() => GrantDto, BATCH_MOST)
  grant: GrantDto[] = [];

  @RowIds()
  revoke: number[] = [];
}

export class GrantQuery extends PageQuery {
  @ApiPropertyOptional(PRINCIPAL_PARAMETER)
  @FieldRule(absentOr(principalParameterProblem))
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

  @ApiPropertyOptional({ enum: GRANT_STATES, default: 'live' })
  @Transform(({ value }: { value: unknown }) => value ?? 'live')
  @IsIn(GRANT_STATES, { message: `must be ${GRANT_STATES.join(', ')}` })
  state: GrantState = 'live';
}

export function toNewGrant({ principal, resource, privileges, expires_at, description }: GrantDto): NewGrant {
  return {
    principal: toPrincipal(principal),
    resource: nodeOf(resource),
    privileges: orderedPrivileges(privileges),
    expiresAt: typeof expires_at === 'string' ? new Date(expires_at) : null,
    description: description ?? null,
  };
}

export function toGrantFilter({ principal, catalog, schema, table, state }: GrantQuery): GrantFilter {
  return {
    principal: principal === undefined ? null : parsePrincipal(principal),
    catalog: catalog ?? null,
    schema: schema ?? null,
    table: table ?? null,
    state,
  };
}

/** A query parameter that is given once. PostgreSQL text has no NUL. */
function oneText(value: unknown): string | null {
  return typeof value === 'string' && !value.includes('\0') ? null : 'must be given once, without NUL';
}
