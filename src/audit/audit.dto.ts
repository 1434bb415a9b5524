import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsIn, IsOptional, Matches } from 'class-validator';
import { INTEGER, MOMENT, NULLABLE_TEXT, PageResponse } from '../platform/api-fields.js';
import { BigPageQuery } from '../platform/page.dto.js';
import { FieldRule, momentProblem } from '../platform/validation.js';
import { AUDIT_EVENTS, type AuditEvent, type AuditEventName, type AuditFilter } from './domain/audit-event.js';

const optionalMoment = (value: unknown): string | null => (value === undefined ? null : momentProblem(value));

export class AuditQuery extends BigPageQuery {
  @ApiPropertyOptional({ enum: AUDIT_EVENTS })
  @IsOptional()
  @IsIn(AUDIT_EVENTS, { message: 'must be the name of an event' })
  event?: AuditEventName;

  @ApiPropertyOptional({
    pattern: '^[a-zA-Z0-9_]{1,64}$',
    description: 'The actor or the subject: the id of an account, or its name in any case.',
  })
  @IsOptional()
  @Matches(/^[a-zA-Z0-9_]{1,64}$/, { message: 'must be an id or a username' })
  user?: string;

  @ApiPropertyOptional({ format: 'date-time', description: 'Inclusive.' })
  @FieldRule(optionalMoment)
  from?: string;

  @ApiPropertyOptional({ format: 'date-time', description: 'Exclusive.' })
  @FieldRule(optionalMoment)
  to?: string;
}

class AuditActorResponse {
  @ApiProperty(INTEGER) id!: number;
  @ApiProperty() name!: string;
}

class AuditSubjectResponse {
  @ApiProperty({ example: 'user' }) type!: string;
  @ApiProperty() id!: string;
  @ApiProperty(NULLABLE_TEXT) name!: string | null;
}

export class AuditEventResponse {
  @ApiProperty(INTEGER) id!: number;
  @ApiProperty(MOMENT) at!: string;
  @ApiProperty({ enum: AUDIT_EVENTS }) event!: AuditEventName;

  @ApiProperty({ type: AuditActorResponse, nullable: true, description: 'Null: no user was signed in.' })
  actor!: AuditActorResponse | null;

  @ApiProperty({ type: AuditSubjectResponse, nullable: true }) subject!: AuditSubjectResponse | null;

  @ApiProperty({ type: String, nullable: true, description: 'Of the client; null: no request caused it.' })
  address!: string | null;

  @ApiProperty(NULLABLE_TEXT) request_id!: string | null;
  @ApiProperty({ type: 'object', additionalProperties: true }) details!: Readonly<Record<string, unknown>>;
}

export class AuditPage extends PageResponse(AuditEventResponse) {}

/** A user of digits only is an id: usernames of digits only are found by their id too. */
export function toFilter({ event, user, from, to }: AuditQuery): AuditFilter {
  return {
    event: event ?? null,
    user: user === undefined ? null : /^[1-9][0-9]{0,8}$/.test(user) ? Number(user) : user,
    from: from === undefined ? null : new Date(from),
    to: to === undefined ? null : new Date(to),
  };
}

export function toAuditEventResponse({
  id,
  at,
  event,
  actor,
  subject,
  origin,
  details,
}: AuditEvent): AuditEventResponse {
  return {
    id,
    at: at.toISOString(),
    event,
    actor: actor === null ? null : { id: actor.id, name: actor.username },
    subject: subject === null ? null : { type: subject.type, id: subject.id, name: subject.name },
    address: origin?.address ?? null,
    request_id: origin?.requestId ?? null,
    details,
  };
}
