import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsIn, IsOptional, Matches } from 'class-validator';
import { principalNameProblem } from '../kernel/name.js';
import {
  ApiNullable,
  INTEGER,
  MOMENT,
  NULLABLE_TEXT,
  PageResponse,
  ReferenceResponse,
} from '../platform/http/api-fields.js';
import { BigPageQuery, SearchText } from '../platform/http/page.dto.js';
import { absentOr, FieldRule, momentProblem, WITHOUT_NUL } from '../platform/http/validation.js';
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

  @SearchText('Part of the words of an event, its actor, its subject or its details, in any case.')
  q?: string;

  @ApiPropertyOptional({
    type: String,
    minLength: 1,
    maxLength: 128,
    pattern: WITHOUT_NUL,
    description: 'The events of one request, by its id.',
  })
  @IsOptional()
  @Matches(/^[^\0]{1,128}$/, { message: 'must be the id of a request' })
  request_id?: string;

  @ApiPropertyOptional({
    enum: ['csv'],
    description:
      'All events at once, whatever `limit` says: a download, for links, which have no Accept header of their own.',
  })
  @IsOptional()
  @IsIn(['csv'], { message: 'must be csv' })
  format?: 'csv';

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

class AuditActorResponse extends ReferenceResponse {
  @ApiNullable(AuditTokenResponse, 'The API token; null: a session, or a sign-in.') token!: AuditTokenResponse | null;
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
  @ApiNullable(AuditActorResponse, 'Null: no user was signed in.') actor!: AuditActorResponse | null;
  @ApiNullable(AuditSubjectResponse) subject!: AuditSubjectResponse | null;

  @ApiProperty({ type: String, nullable: true, description: 'Of the client; null: no request caused it.' })
  address!: string | null;

  @ApiProperty(NULLABLE_TEXT) request_id!: string | null;
  @ApiProperty({ type: 'object', additionalProperties: true }) details!: Readonly<Record<string, unknown>>;
}

export class AuditPage extends PageResponse(AuditEventResponse) {}

/** Reads a user of digits only as an id. The store then also finds a username of the same digits. */
export function toFilter({ event, user, subject, q: text, request_id: requestId, from, to }: AuditQuery): AuditFilter {
  const [, type = '', id = ''] = SUBJECT.exec(subject ?? '') ?? [];
  return {
    ...{ event, text, requestId },
    user: /^[1-9][0-9]{0,8}$/.test(user ?? '') ? Number(user) : user,
    subject: subject === undefined ? undefined : { type, id },
    from: from === undefined ? undefined : new Date(from),
    to: to === undefined ? undefined : new Date(to),
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

/** The columns of the trail as CSV. */
export const AUDIT_COLUMNS = [
  ...['id', 'at', 'event', 'actor_id', 'actor_name', 'token_id', 'token_name'],
  ...['subject_type', 'subject_id', 'subject_name', 'address', 'request_id', 'details'],
];

/** An event as a row of the CSV, in the order of `AUDIT_COLUMNS`. */
export function toAuditRow(of: AuditEvent): unknown[] {
  const { id, at, event, actor, subject, address, request_id: request, details } = toAuditEventResponse(of);
  return [
    ...[id, at, event, actor?.id ?? null, actor?.name ?? null, actor?.token?.id ?? null, actor?.token?.name ?? null],
    ...[subject?.type ?? null, subject?.id ?? null, subject?.name ?? null, address, request, details],
  ];
}
