import { Injectable } from '@nestjs/common';
import { DatabaseSession } from '../../platform/infrastructure/database-session.js';
import type { AuditEntry, AuditEvent, AuditEventName } from '../domain/audit-event.js';
import { type AuditFilter, AuditStore, type TrailPosition } from '../domain/audit-store.js';
import { AuditEventRow } from './audit-event.entity.js';

@Injectable()
export class TypeormAuditStore extends AuditStore {
  constructor(private readonly session: DatabaseSession) {
    super();
  }

  override async append({ event, actor, subject, origin, details }: AuditEntry, at: Date): Promise<void> {
    await this.session.manager.query(
      `INSERT INTO audit_events
         (at, event, actor_id, actor_name, subject_type, subject_id, subject_name, address, request_id, details)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
      [
        at,
        event,
        actor?.id ?? null,
        actor?.username ?? null,
        subject?.type ?? null,
        subject?.id ?? null,
        subject?.name ?? null,
        origin?.address ?? null,
        origin?.requestId ?? null,
        JSON.stringify(details),
      ],
    );
  }

  override async page(
    { event, user, from, to }: AuditFilter,
    after: number | null,
    limit: number,
  ): Promise<AuditEvent[]> {
    const query = this.session.manager.createQueryBuilder(AuditEventRow, 'e').orderBy('e.id', 'DESC').limit(limit);
    if (after !== null) query.andWhere('e.id < :after', { after });
    if (event !== null) query.andWhere('e.event = :event', { event });
    if (from !== null) query.andWhere('e.at >= :from', { from });
    if (to !== null) query.andWhere('e.at < :to', { to });
    if (typeof user === 'number') {
      const values = { user, text: String(user) };
      query.andWhere(`(e.actor_id = :user OR (e.subject_type = 'user' AND e.subject_id = :text))`, values);
    }
    if (typeof user === 'string') {
      query.andWhere(
        `lower(:user) IN (lower(e.actor_name), CASE e.subject_type WHEN 'user' THEN lower(e.subject_name) END)`,
        { user },
      );
    }
    return (await query.getMany()).map(toEvent);
  }

  override async position(): Promise<TrailPosition> {
    const [{ position }] = await this.session.manager.query<[{ position: TrailPosition }]>(
      `SELECT concat((SELECT coalesce(max(id), 0) FROM audit_events), ':', pg_snapshot_xmin(pg_current_snapshot())) AS position`,
    );
    return position;
  }

  /** Newer ids; and older ones of transactions that may not have ended by then. (In a restored copy transactions count anew.) */
  override async since(events: readonly AuditEventName[], from: TrailPosition): Promise<AuditEvent[]> {
    const [id, oldest] = from.split(':');
    const query = this.session.manager.createQueryBuilder(AuditEventRow, 'e').orderBy('e.id');
    query.where('e.event IN (:...events) AND (e.id > :id OR e.written_by >= :oldest)', { events, id, oldest });
    return (await query.getMany()).map(toEvent);
  }

  override async removePast(retentionDays: number): Promise<number> {
    const [{ removed }] = await this.session.manager.query<[{ removed: string }]>(
      'SELECT remove_past_audit_events($1) AS removed',
      [retentionDays],
    );
    return Number(removed);
  }
}

function toEvent(row: AuditEventRow): AuditEvent {
  return {
    id: Number(row.id),
    at: row.at,
    event: row.event,
    actor: row.actorId === null ? null : { id: row.actorId, username: row.actorName ?? '' },
    subject:
      row.subjectType === null ? null : { type: row.subjectType, id: row.subjectId ?? '', name: row.subjectName },
    origin: row.address === null ? null : { address: row.address, requestId: row.requestId ?? '' },
    details: row.details,
  };
}
