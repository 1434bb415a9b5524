import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { PRIVILEGES, type Privilege } from '../trino-rules/model/resource.js';
import { GRANT_STATES, type Grant, type GrantState, stateOf } from './domain/grant.js';
import { PrincipalResponse } from './principal.dto.js';
import { ResourceDto } from './resource.dto.js';

export class ActorResponse {
  @ApiProperty({ type: 'integer' })
  id!: number;

  @ApiProperty()
  name!: string;
}

const NULLABLE_ACTOR = { type: ActorResponse, nullable: true, description: 'Null: on the command line.' };
const NULLABLE_MOMENT = { type: String, format: 'date-time', nullable: true };

export class GrantResponse {
  @ApiProperty({ type: 'integer' })
  id!: number;

  @ApiProperty()
  principal!: PrincipalResponse;

  @ApiProperty()
  resource!: ResourceDto;

  @ApiProperty({ enum: PRIVILEGES, isArray: true })
  privileges!: Privilege[];

  @ApiProperty({ enum: GRANT_STATES.filter((state) => state !== 'all') })
  state!: GrantState;

  @ApiProperty(NULLABLE_MOMENT)
  expires_at!: string | null;

  @ApiProperty({ type: String, nullable: true })
  description!: string | null;

  @ApiProperty(NULLABLE_ACTOR)
  granted_by!: ActorResponse | null;

  @ApiProperty({ format: 'date-time' })
  granted_at!: string;

  @ApiProperty(NULLABLE_ACTOR)
  revoked_by!: ActorResponse | null;

  @ApiProperty(NULLABLE_MOMENT)
  revoked_at!: string | null;

  @ApiPropertyOptional({
    type: [String],
    description: 'Parts that the engine does not know or cannot analyse, and little capacity for the rules.',
  })
  warnings?: string[];
}

export class GrantPageResponse {
  @ApiProperty({ type: [GrantResponse] })
  items!: GrantResponse[];

  @ApiProperty({ type: String, nullable: true })
  next!: string | null;
}

export class GrantBatchResponse {
  @ApiProperty({ type: [GrantResponse] })
  granted!: GrantResponse[];

  @ApiProperty({ type: [GrantResponse] })
  revoked!: GrantResponse[];
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
