import { applyDecorators } from '@nestjs/common';
import { ApiHeader, ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { ArrayMaxSize, ArrayNotEmpty, IsArray, IsIn, IsOptional } from 'class-validator';
import {
  ApiField,
  INTEGER,
  MOMENT,
  NULLABLE_MOMENT,
  NULLABLE_TEXT,
  PageResponse,
  TEXTS,
  ReferenceResponse,
} from '../platform/http/api-fields.js';
import { Limit, PageQuery } from '../platform/http/page.dto.js';
import {
  optionalRule,
  FieldRule,
  idProblem,
  momentProblem,
  NestedArray,
  NestedObject,
  WITHOUT_NUL,
} from '../platform/http/validation.js';
import type { NamedNode } from '../trino-rules/model/node.js';
import type { NamedPolicyPrincipal } from '../trino-rules/model/principal.js';
import {
  orderedPrivileges,
  PRIVILEGE_FAMILIES,
  PRIVILEGE_TERMS,
  PRIVILEGES,
  type Privilege,
  type PrivilegeFamily,
} from '../trino-rules/model/privilege.js';
import {
  descriptionProblem,
  type Grant,
  GRANT_STATES,
  type GrantFilter,
  type GrantState,
  type NewGrant,
  privilegeMessage,
  stateOf,
} from './domain/grant.js';
import { POLICY_PRINCIPAL, POLICY_PRINCIPAL_ANSWER, PolicyPrincipalDto, toPolicyPrincipal } from './principal.dto.js';
import { EntryQuery, RESOURCE, RESOURCE_ANSWER, ResourceDto, toEntryFilter, toNode } from './resource.dto.js';

export class GrantDto {
  @ApiProperty({ type: Object, ...POLICY_PRINCIPAL })
  @NestedObject(() => PolicyPrincipalDto)
  principal!: PolicyPrincipalDto;

  @ApiProperty(RESOURCE)
  @NestedObject(() => ResourceDto)
  resource!: ResourceDto;

  @ApiProperty({ enum: PRIVILEGES, isArray: true, minItems: 1 })
  @IsArray({ message: 'must be a list' })
  @ArrayNotEmpty({ message: 'must name at least one privilege' })
  @IsIn(PRIVILEGES, { each: true, message: privilegeMessage })
  privileges!: Privilege[];

  @ApiPropertyOptional({
    type: String,
    format: 'date-time',
    nullable: true,
    description: 'The grant has no effect from this time on; null: it never expires.',
  })
  @FieldRule((moment) => (moment === undefined || moment === null ? null : momentProblem(moment)))
  expires_at?: string | null;

  @ApiPropertyOptional({ type: String, maxLength: 1000, nullable: true, pattern: WITHOUT_NUL })
  @FieldRule(descriptionProblem)
  description?: string | null;
}

export const WRITE_REFUSALS = [
  'busy',
  'name_taken',
  'rules_too_large',
  'rules_unprovable',
  'guarantee_broken',
] as const;

export const ETAG_ANSWER = {
  headers: { ETag: { description: 'The version of the entry, for `If-Match`.', schema: { type: 'string' } } },
} as const;

export const AcceptsIfMatch = (): MethodDecorator =>
  ApiHeader({
    name: 'If-Match',
    required: false,
    schema: { type: 'string' },
    description: 'The `ETag` that was read. If the entry has changed since, the answer is 412.',
  });

export const MAX_BATCH = 1000;

export function RowIds(): PropertyDecorator {
  const items = { type: 'integer', minimum: 1, maximum: 2 ** 31 - 1 };
  return applyDecorators(
    ApiPropertyOptional({ type: 'array', items, maxItems: MAX_BATCH }),
    IsArray({ message: 'must be a list' }),
    ArrayMaxSize(MAX_BATCH, { message: `must have at most ${MAX_BATCH} entries` }),
    FieldRule((ids) =>
      Array.isArray(ids) && ids.length <= MAX_BATCH
        ? (ids.map(idProblem).find((problem) => problem !== null) ?? null)
        : null,
    ),
  );
}

/** A batch of grants and revocations that is applied completely or not at all. */
export class GrantBatchDto {
  @ApiPropertyOptional({ type: [GrantDto], maxItems: MAX_BATCH })
  @NestedArray(() => GrantDto, MAX_BATCH)
  grant: GrantDto[] = [];

  @RowIds()
  revoke: number[] = [];
}

export class GrantQuery extends EntryQuery {
  @ApiPropertyOptional({ enum: GRANT_STATES, default: 'live' })
  @Transform(({ value }: { value: unknown }) => value ?? 'live')
  @IsIn(GRANT_STATES, { message: `must be ${GRANT_STATES.join(', ')}` })
  state: GrantState = 'live';

  @ApiPropertyOptional({ format: 'date-time', description: 'Only grants that expire before this time.' })
  @FieldRule(optionalRule(momentProblem))
  expires_before?: string;

  @ApiPropertyOptional({ enum: PRIVILEGE_FAMILIES, description: 'Only grants with a privilege of this family.' })
  @IsOptional()
  @IsIn(PRIVILEGE_FAMILIES, { message: `must be ${PRIVILEGE_FAMILIES.join(', ')}` })
  family?: PrivilegeFamily;
}

export const WARNINGS = {
  ...TEXTS,
  description:
    'Parts that the engine does not know or cannot analyse, filters that leak, `current_groups()`, and little capacity for the rules.',
};

const NULLABLE_ACTOR = { type: ReferenceResponse, nullable: true, description: 'An account; null: the command line.' };

export class GrantResponse {
  @ApiProperty(INTEGER) id!: number;
  @ApiProperty({ type: Object, ...POLICY_PRINCIPAL_ANSWER }) principal!: NamedPolicyPrincipal;
  @ApiProperty(RESOURCE_ANSWER) resource!: NamedNode;
  @ApiProperty({ enum: PRIVILEGES, isArray: true }) privileges!: Privilege[];
  @ApiProperty({ enum: GRANT_STATES.filter((state) => state !== 'all') }) state!: GrantState;
  @ApiProperty(NULLABLE_MOMENT) expires_at!: string | null;
  @ApiProperty(NULLABLE_TEXT) description!: string | null;
  @ApiProperty(NULLABLE_ACTOR) granted_by!: ReferenceResponse | null;
  @ApiProperty(MOMENT) granted_at!: string;
  @ApiProperty(NULLABLE_ACTOR) revoked_by!: ReferenceResponse | null;
  @ApiProperty(NULLABLE_MOMENT) revoked_at!: string | null;

  @ApiPropertyOptional(WARNINGS) warnings?: string[];

  @ApiPropertyOptional({
    type: String,
    format: 'date',
    nullable: true,
    description:
      'It has decided nothing since this day, as far as the decision logs of OPA tell. Null: it decided something today, or none came yet. Only in lists and answers about one grant, and not while the logs are off.',
  })
  unused_since?: string | null;
}

export class GrantPageResponse extends PageResponse(GrantResponse) {}

export class UnusedGrantQuery extends PageQuery {
  /** `findUnused` refuses values above OPA_DECISION_RETENTION_DAYS, because older decisions are not kept. */
  @Limit({ max: 3650, defaultLimit: 90 })
  days = 90;
}

class UnusedGrantResponse {
  @ApiProperty({ type: GrantResponse }) grant!: GrantResponse;
  @ApiField(MOMENT, 'When it was granted: one that is younger than `days` may not have been needed yet.')
  created_at!: string;
  @ApiProperty({
    type: String,
    format: 'date',
    nullable: true,
    description: 'The last day of a decision, in UTC. Null: none within `OPA_DECISION_RETENTION_DAYS`.',
  })
  last_used_on!: string | null;
}

export class UnusedGrantPage extends PageResponse(UnusedGrantResponse) {}

export class GrantBatchResponse {
  @ApiProperty({ type: [GrantResponse] }) granted!: GrantResponse[];
  @ApiProperty({ type: [GrantResponse] }) revoked!: GrantResponse[];
}

export function toNewGrant({ principal, resource, privileges, expires_at, description }: GrantDto): NewGrant {
  return {
    principal: toPolicyPrincipal(principal),
    resource: toNode(resource),
    privileges: orderedPrivileges(privileges),
    expiresAt: typeof expires_at === 'string' ? new Date(expires_at) : null,
    description: description ?? null,
  };
}

export function toGrantFilter({ state, expires_before, family, ...query }: GrantQuery): GrantFilter {
  return {
    ...toEntryFilter(query),
    state,
    expiresBefore: expires_before === undefined ? undefined : new Date(expires_before),
    privileges: family && PRIVILEGES.filter((each) => PRIVILEGE_TERMS[each].family === family),
  };
}

export function toGrantResponse(
  grant: Grant,
  now: Date,
  warnings: readonly string[] = [],
  unusedSince?: string | null,
): GrantResponse {
  return {
    id: grant.id,
    principal: grant.principal,
    resource: grant.resource,
    privileges: grant.privileges,
    state: stateOf(grant, now),
    expires_at: grant.expiresAt?.toISOString() ?? null,
    description: grant.description,
    granted_by: grant.grantedBy,
    granted_at: grant.grantedAt.toISOString(),
    revoked_by: grant.revokedBy,
    revoked_at: grant.revokedAt?.toISOString() ?? null,
    ...(warnings.length === 0 ? {} : { warnings: [...warnings] }),
    ...(unusedSince === undefined ? {} : { unused_since: unusedSince }),
  };
}
