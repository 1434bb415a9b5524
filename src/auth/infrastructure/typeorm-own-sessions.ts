import type { DatabaseSession } from '../../platform/infrastructure/database-session.js';
import type { SessionView } from '../domain/session.js';
import { OwnSessions } from '../domain/session-store.js';

/** Every statement of this class carries the owner's id: there is no method that could leave it out. */
export class TypeormOwnSessions extends OwnSessions {
  constructor(
    private readonly session: DatabaseSession,
    private readonly userId: number,
  ) {
    super();
  }

  override async list(now: Date, after: number | null, limit: number): Promise<SessionView[]> {
    return this.session.manager.query<SessionView[]>(
      `SELECT s.id, s.number::float8 AS number, s.user_id AS "userId", s.created_at AS "createdAt", s.expires_at AS "expiresAt",
              s.user_agent AS "userAgent", s.address, live.issued_at AS "lastUsedAt"
       FROM sessions s JOIN refresh_tokens live ON live.session_id = s.id AND live.used_at IS NULL
       WHERE s.user_id = $1 AND s.ended_at IS NULL AND s.expires_at > $2 AND live.expires_at > $2
         AND ($3::bigint IS NULL OR s.number < $3)
       ORDER BY s.number DESC LIMIT $4`,
      [this.userId, now, after, limit],
    );
  }

  override async end(sessionId: string, now: Date): Promise<'ended' | 'had-ended' | 'unknown'> {
    const [rows] = await this.session.manager.query<[{ had_ended: boolean }[], number]>(
      `UPDATE sessions SET ended_at = coalesce(ended_at, $3)
       FROM (SELECT ended_at IS NOT NULL AS had_ended FROM sessions WHERE id = $1 AND user_id = $2 FOR UPDATE) AS before
       WHERE id = $1 AND user_id = $2
       RETURNING before.had_ended`,
      [sessionId, this.userId, now],
    );
    const row = rows[0];
    return row === undefined ? 'unknown' : row.had_ended ? 'had-ended' : 'ended';
  }
}
