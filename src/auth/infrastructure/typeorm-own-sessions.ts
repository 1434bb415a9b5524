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

  override async list(now: Date): Promise<SessionView[]> {
    return this.session.manager.query<SessionView[]>(
      `SELECT s.id, s.user_id AS "userId", s.created_at AS "createdAt", s.expires_at AS "expiresAt",
              s.user_agent AS "userAgent", s.address, live.issued_at AS "lastUsedAt"
       FROM sessions s JOIN refresh_tokens live ON live.session_id = s.id AND live.used_at IS NULL
       WHERE s.user_id = $1 AND s.ended_at IS NULL AND s.expires_at > $2 AND live.expires_at > $2
       ORDER BY s.created_at DESC, s.id`,
      [this.userId, now],
    );
  }

  override async end(sessionId: string, now: Date): Promise<boolean> {
    const [, found] = await this.session.manager.query<[unknown, number]>(
      'UPDATE sessions SET ended_at = coalesce(ended_at, $3) WHERE id = $1 AND user_id = $2',
      [sessionId, this.userId, now],
    );
    return found === 1;
  }
}
