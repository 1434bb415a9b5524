import { Injectable } from '@nestjs/common';
import { columnArrays, DatabaseSession } from '../platform/database/database-session.js';
import {
  type AuditEntry,
  type AuditEvent,
  type AuditEventName,
  type AuditFilter,
  type TrailPosition,
} from './domain/audit-event.js';

const SELECT_EVENTS = `
  SELECT e.id::float8 AS id, e.at, e.event, e.details,
         CASE WHEN e.actor_id IS NOT NULL
           THEN json_build_object('id', e.actor_id, 'username', coalesce(e.actor_name, ''), 'token', CASE WHEN e.token_id IS NOT NULL
             THEN json_build_object('id', e.token_id, 'name', coalesce(e.token_name, '')) END) END AS actor,
         CASE WHEN e.subject_type IS NOT NULL
           THEN json_build_object('type', e.subject_type, 'id', coalesce(e.subject_id, ''), 'name', e.subject_name) END AS subject,
         CASE WHEN e.address IS NOT NULL
           THEN json_build_object('address', e.address, 'requestId', coalesce(e.request_id, '')) END AS origin
    FROM audit_events e`;

/** The text that a search is matched against. Has the event's name twice: with spaces, as the console shows it, and as in answers. */
const SEARCH_TEXT_SQL = `concat_ws(' ', e.event, replace(e.event, '_', ' '), e.actor_name, e.token_name, e.subject_type, e.subject_id, e.subject_name, e.details)`;

const EVENT_COLUMNS =
  'event, actor_id, actor_name, token_id, token_name, subject_type, subject_id, subject_name, address, request_id, details';

/** The audit trail, append-only. */
@Injectable()
export class AuditStore {
  constructor(private readonly session: DatabaseSession) {}

  /** Stores events in this order. */
  async append(entries: readonly AuditEntry[], recordedAt: Date): Promise<void> {
    if (entries.length === 0) return;
    await this.session.query(
      `INSERT INTO audit_events (${EVENT_COLUMNS}, at)
       SELECT ${EVENT_COLUMNS}, $12
         FROM unnest($1::text[], $2::integer[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::jsonb[])
              WITH ORDINALITY AS entry (${EVENT_COLUMNS}, place)
        ORDER BY place`,
      [...columnArrays(entries.map(columnValues)), recordedAt],
    );
  }

  /** At most `limit` events with ids below `after` (null: from the newest), the newest first. */
  page(filter: AuditFilter, after: number | null, limit: number): Promise<AuditEvent[]> {
    const { event, user, subject, text, requestId, from, to } = filter;
    return this.session.query<AuditEvent>(
      `${SELECT_EVENTS}
       WHERE ($1::bigint IS NULL OR e.id < $1) AND ($2::text IS NULL OR e.event = $2)
         AND ($3::timestamptz IS NULL OR e.at >= $3) AND ($4::timestamptz IS NULL OR e.at < $4)
         AND ($5::integer IS NULL OR e.actor_id = $5 OR (e.subject_type = 'user' AND e.subject_id = $5::text))
         AND ($6::text IS NULL
           OR caseless($6) IN (caseless(e.actor_name), CASE e.subject_type WHEN 'user' THEN caseless(e.subject_name) END))
         AND ($7::text IS NULL OR (e.subject_type = $7 AND e.subject_id = $8))
         AND ($9::text IS NULL OR e.request_id = $9)
         AND ($10::text IS NULL OR strpos(caseless(${SEARCH_TEXT_SQL}), caseless($10)) > 0)
       ORDER BY e.id DESC LIMIT $11`,
      [
        ...[after, event, from, to, typeof user === 'number' ? user : null, typeof user === 'string' ? user : null],
        ...[subject?.type ?? null, subject?.id ?? null, requestId, text, limit],
      ],
    );
  }

  async endPosition(): Promise<TrailPosition> {
    const { position } = await this.session.oneRow<{ position: TrailPosition }>(
      `SELECT concat((SELECT coalesce(max(id), 0) FROM audit_events), ':', pg_snapshot_xmin(pg_current_snapshot())) AS position`,
    );
    return position;
  }

  /**
   * All events with these names since the position, and possibly a few earlier events; the oldest first.
   * Ids alone would miss events of transactions that were open at `from`. Transactions alone would miss events, because a restored database numbers transactions from 1 again.
   */
  eventsSince(eventNames: readonly AuditEventName[], from: TrailPosition): Promise<AuditEvent[]> {
    const [lastId, oldestTransaction] = from.split(':');
    return this.session.query<AuditEvent>(
      `${SELECT_EVENTS} WHERE e.event = ANY ($1) AND (e.id > $2 OR e.written_by >= $3) ORDER BY e.id`,
      [eventNames, lastId, oldestTransaction],
    );
  }

  /** Removes events older than `retentionDays`. @returns their number */
  async removeExpired(retentionDays: number): Promise<number> {
    const { removed } = await this.session.oneRow<{ removed: string }>(
      'SELECT remove_past_audit_events($1) AS removed',
      [retentionDays],
    );
    return Number(removed);
  }
}

/** The values of an event, in the order of EVENT_COLUMNS. */
function columnValues({ event, actor, subject, origin, details }: AuditEntry): unknown[] {
  return [
    event,
    actor?.id ?? null,
    actor?.username ?? null,
    actor?.token?.id ?? null,
    actor?.token?.name ?? null,
    subject?.type ?? null,
    subject?.id ?? null,
    subject?.name ?? null,
    origin?.address ?? null,
    origin?.requestId ?? null,
    JSON.stringify(details),
  ];
}
