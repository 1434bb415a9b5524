import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { INTEGER, MOMENT, NULLABLE_MOMENT, NULLABLE_TEXT, PageResponse, TEXTS } from '../platform/api-fields.js';
import { PRIVILEGES, type Privilege } from '../trino-rules/model/privilege.js';
import { GRANT_STATES, type Grant, type GrantState, stateOf } from './domain/grant.js';
import { PrincipalResponse } from './principal.dto.js';
import { ResourceDto } from './resource.dto.js';

export class ActorResponse {
  @ApiProperty(INTEGER) id!: number;
  @ApiProperty() name!: string;
}

/** Of a write of a grant or a policy. */
export const WARNINGS = {
  ...TEXTS,
  description: 'Parts that the engine does not know or cannot analyse, and little capacity for the rules.',
};

const NULLABLE_ACTOR = { type: ActorResponse, nullable: true, description: 'Null: on the command line.' };

export class GrantResponse {
  @ApiProperty(INTEGER) id!: number;
  @ApiProperty() principal!: PrincipalResponse;
  @ApiProperty() resource!: ResourceDto;
  @ApiProperty({ enum: PRIVILEGES, isArray: true }) privileges!: Privilege[];
  @ApiProperty({ enum: GRANT_STATES.filter((state) => state !== 'all') }) state!: GrantState;
  @ApiProperty(NULLABLE_MOMENT) expires_at!: string | null;
  @ApiProperty(NULLABLE_TEXT) description!: string | null;
  @ApiProperty(NULLABLE_ACTOR) granted_by!: ActorResponse | null;
  @ApiProperty(MOMENT) granted_at!: string;
  @ApiProperty(NULLABLE_ACTOR) revoked_by!: ActorResponse | null;
  @ApiProperty(NULLABLE_MOMENT) revoked_at!: string | null;

  @ApiPropertyOptional(WARNINGS) warnings?: string[];
}

export class GrantPageResponse extends PageResponse(GrantResponse) {}

export class GrantBatchResponse {
  @ApiProperty({ type: [GrantResponse] }) granted!: GrantResponse[];
  @ApiProperty({ type: [GrantResponse] }) revoked!: GrantResponse[];
}

export function toGrantResponse(grant: Grant, now: Date, warnings: readonly string[] = []): GrantResponse {
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
  };
}
