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
import { optionalRule, FieldRule, momentProblem, WITHOUT_NUL } from '../platform/http/validation.js';
import {
  AUDIT_EVENTS,
  AUDIT_SUBJECT_TYPES,
  type AuditEvent,
  type AuditEventName,
  type AuditFilter,
  type AuditSubjectType,
} from './domain/audit-event.js';

const SUBJECT_PATTERN = new RegExp(`^(${AUDIT_SUBJECT_TYPES.join('|')}):([^\\0]{1,512})$`, 's');

export class AuditQuery extends BigPageQuery {
  @ApiPropertyOptional({ enum: AUDIT_EVENTS })
  @IsOptional()
  @IsIn(AUDIT_EVENTS, { message: 'must be the name of an event' })
  event?: AuditEventName;

  @ApiPropertyOptional({
    type: String,
    minLength: 1,
    maxLength: 128,
    description: 'Account that is the actor or the subject of the event: its id, or its name in any case.',
  })
  @FieldRule(optionalRule(principalNameProblem))
  user?: string;

  @ApiPropertyOptional({
    type: String,
    pattern: `^(${AUDIT_SUBJECT_TYPES.join('|')}):[^\\u0000]{1,512}$`,
    example: 'group:3',
    description: 'Subject of the event, as TYPE:ID.',
  })
  @IsOptional()
  @Matches(SUBJECT_PATTERN, { message: `must be ${AUDIT_SUBJECT_TYPES.join(', ')}, with an id: group:3` })
  subject?: string;

  @SearchText('Text to find in the event name, the actor, the subject or the details, in any case.')
  q?: string;

  @ApiPropertyOptional({
    type: String,
    minLength: 1,
    maxLength: 128,
    pattern: WITHOUT_NUL,
    description: 'Id of the request that caused the events.',
  })
  @IsOptional()
  @Matches(/^[^\0]{1,128}$/, { message: 'must be the id of a request' })
  request_id?: string;

  @ApiPropertyOptional({
    enum: ['csv'],
    description:
      'Downloads all matching events as CSV and ignores `limit`. Meant for links, which cannot set an Accept header.',
  })
  @IsOptional()
  @IsIn(['csv'], { message: 'must be csv' })
  format?: 'csv';

  @ApiPropertyOptional({ format: 'date-time', description: 'Earliest time, inclusive.' })
  @FieldRule(optionalRule(momentProblem))
  from?: string;

  @ApiPropertyOptional({ format: 'date-time', description: 'Latest time, exclusive.' })
  @FieldRule(optionalRule(momentProblem))
  to?: string;
}

class AuditTokenResponse {
  @ApiProperty() id!: string;
  @ApiProperty() name!: string;
}

class AuditActorResponse extends ReferenceResponse {
  @ApiNullable(AuditTokenResponse, 'The API token used; null: a session or a sign-in.')
  token!: AuditTokenResponse | null;
}

class AuditSubjectResponse {
  @ApiProperty({ enum: AUDIT_SUBJECT_TYPES }) type!: AuditSubjectType;
  @ApiProperty() id!: string;
  @ApiProperty(NULLABLE_TEXT) name!: string | null;
}

export class AuditEventResponse {
  @ApiProperty(INTEGER) id!: number;
  @ApiProperty(MOMENT) at!: string;
  @ApiProperty({ enum: AUDIT_EVENTS }) event!: AuditEventName;
  @ApiNullable(AuditActorResponse, 'Null: no user was signed in.') actor!: AuditActorResponse | null;
  @ApiNullable(AuditSubjectResponse) subject!: AuditSubjectResponse | null;

  @ApiProperty({ ...NULLABLE_TEXT, description: 'IP address of the client; null: no request caused the event.' })
  address!: string | null;

  @ApiProperty(NULLABLE_TEXT) request_id!: string | null;
  @ApiProperty({ type: 'object', additionalProperties: true }) details!: Readonly<Record<string, unknown>>;
}

export class AuditPage extends PageResponse(AuditEventResponse) {}

/** The filter of a query. A `user` that consists of up to nine digits is an account's id. */
export function toFilter({ event, user, subject, q: text, request_id: requestId, from, to }: AuditQuery): AuditFilter {
  const [, type = '', id = ''] = SUBJECT_PATTERN.exec(subject ?? '') ?? [];
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

export const AUDIT_COLUMNS = [
  ...['id', 'at', 'event', 'actor_id', 'actor_name', 'token_id', 'token_name'],
  ...['subject_type', 'subject_id', 'subject_name', 'address', 'request_id', 'details'],
];

/** An event as a row of the CSV, in the order of `AUDIT_COLUMNS`. */
export function toAuditRow(auditEvent: AuditEvent): unknown[] {
  const { id, at, event, actor, subject, address, request_id: requestId, details } = toAuditEventResponse(auditEvent);
  return [
    ...[id, at, event, actor?.id ?? null, actor?.name ?? null, actor?.token?.id ?? null, actor?.token?.name ?? null],
    ...[subject?.type ?? null, subject?.id ?? null, subject?.name ?? null, address, requestId, details],
  ];
}
