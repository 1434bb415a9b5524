import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsIn, IsOptional, Matches } from 'class-validator';
import { principalNameProblem } from '../kernel/name.js';
import { INTEGER, MOMENT, NULLABLE_TEXT, PageResponse } from '../platform/api-fields.js';
import { BigPageQuery } from '../platform/page.dto.js';
import { absentOr, FieldRule, momentProblem } from '../platform/validation.js';
import {
  AUDIT_EVENTS,
  AUDIT_SUBJECTS,
  type AuditEvent,
  type AuditEventName,
  type AuditFilter,
  type AuditSubjectType,
} from './domain/audit-event.js';

const SUBJECT = new RegExp(`^(${AUDIT_SUBJECTS.join('|')}):([^\\0]{1,512})$`, 's');

export class AuditQuery extends BigPageQuery {
  @ApiPropertyOptional({ enum: AUDIT_EVENTS })
  @IsOptional()
  @IsIn(AUDIT_EVENTS, { message: 'must be the name of an event' })
  event?: AuditEventName;

  @ApiPropertyOptional({
    type: String,
    minLength: 1,
    maxLength: 128,
    description: 'The actor or the subject: the id of an account, or its name in any case.',
  })
  @FieldRule(absentOr(principalNameProblem))
  user?: string;

  @ApiPropertyOptional({
    type: String,
    pattern: `^(${AUDIT_SUBJECTS.join('|')}):[^\\u0000]{1,512}$`,
    example: 'group:3',
    description: 'The type and the id of the subject, as events show them.',
  })
  @IsOptional()
  @Matches(SUBJECT, { message: `must be ${AUDIT_SUBJECTS.join(', ')}, with an id: group:3` })
  subject?: string;

  @ApiPropertyOptional({ format: 'date-time', description: 'Inclusive.' })
  @FieldRule(absentOr(momentProblem))
  from?: string;

  @ApiPropertyOptional({ format: 'date-time', description: 'Exclusive.' })
  @FieldRule(absentOr(momentProblem))
  to?: string;
}

class AuditTokenResponse {
  @ApiProperty() id!: string;
  @ApiProperty() name!: string;
}

class AuditActorResponse {
  @ApiProperty(INTEGER) id!: number;
  @ApiProperty() name!: string;

  @ApiProperty({
    type: AuditTokenResponse,
    nullable: true,
    description: 'The API token; null: a session, or a sign-in.',
  })
  token!: AuditTokenResponse | null;
}

class AuditSubjectResponse {
  @ApiProperty({ enum: AUDIT_SUBJECTS }) type!: AuditSubjectType;
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
export function toFilter({ event, user, subject, from, to }: AuditQuery): AuditFilter {
  const [, type = '', id = ''] = SUBJECT.exec(subject ?? '') ?? [];
  return {
    event: event ?? null,
    user: user === undefined ? null : /^[1-9][0-9]{0,8}$/.test(user) ? Number(user) : user,
    subject: subject === undefined ? null : { type, id },
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
    actor: actor === null ? null : { id: actor.id, name: actor.username, token: actor.token ?? null },
    subject: subject === null ? null : { type: subject.type, id: subject.id, name: subject.name },
    address: origin?.address ?? null,
    request_id: origin?.requestId ?? null,
    details,
  };
}
