import { Injectable } from '@nestjs/common';
import { DatabaseSession } from '../platform/database/database-session.js';
import { GatheredQuery } from '../platform/database/gathered-query.js';
import type { Account } from '../users/domain/account.js';
import { ACCOUNT_COLUMNS } from '../users/user.store.js';
import type {
  SessionAccount,
  BrowserSession,
  TokenSession,
  NewRefreshToken,
  PresentedRefresh,
  Session,
  SessionView,
  StoredProof,
} from './domain/session.js';

const SELECT_LIVE_SESSION = `
  SELECT ${ACCOUNT_COLUMNS}, s.proved_at AS "provedAt"
  FROM sessions s JOIN users u ON u.id = s.user_id
  WHERE s.id = $1 AND u.id = $2 AND u.is_active AND s.ended_at IS NULL AND s.expires_at > $3`;

const SELECT_BROWSER_SESSION = `
  SELECT ${ACCOUNT_COLUMNS}, s.id AS "sessionId", s.proved_at AS "provedAt",
         s.last_used_at <= $3::timestamptz - interval '1 minute' AS "isUseDue"
  FROM sessions s JOIN users u ON u.id = s.user_id
  WHERE s.cookie_digest = $1 AND u.is_active AND s.ended_at IS NULL AND s.expires_at > $3 AND s.last_used_at > $2`;

interface BrowserSessionColumns {
  sessionId: string;
  provedAt: Date;
  isUseDue: boolean;
}

/** Sessions and their refresh tokens. A session lives until it expires or is ended. */
@Injectable()
export class SessionStore {
  private readonly liveSessionQuery: GatheredQuery<SessionAccount>;
  private readonly browserSessionQuery: GatheredQuery<Account & BrowserSessionColumns>;

  constructor(private readonly session: DatabaseSession) {
    this.liveSessionQuery = new GatheredQuery(session, 'admit', ['uuid', 'integer'], SELECT_LIVE_SESSION);
    this.browserSessionQuery = new GatheredQuery(session, 'admit_browser', ['bytea'], SELECT_BROWSER_SESSION);
  }

  /**
   * Begins a session if the account is active and still has the password hash `checkedHash`. Locks the account's row until the transaction ends.
   * @param credential the first refresh token or, for a browser, the digest of the cookie
   * @returns false: nothing was stored
   */
  async begin(
    session: Session,
    credential: NewRefreshToken | Buffer,
    { checkedHash, provedAt }: StoredProof,
  ): Promise<boolean> {
    const { id, userId, createdAt, expiresAt, userAgent, address } = session;
    const [cookie, token] = Buffer.isBuffer(credential) ? [credential, null] : [null, credential];
    // FOR SHARE waits for a concurrent change of the account and reads its result. A later change waits for this transaction and then finds the session.
    const insertedRows = await this.session.queryPrepared(
      'begin',
      `WITH account AS (
         SELECT id FROM users WHERE id = $2 AND ($3::text IS NULL OR password_hash = $3) AND is_active FOR SHARE
       ), session AS (
         INSERT INTO sessions (id, user_id, created_at, expires_at, user_agent, address, proved_at, cookie_digest, last_used_at)
         SELECT $1, id, $4::timestamptz, $5, $6, $7, $8::timestamptz, $9::bytea, CASE WHEN $9::bytea IS NOT NULL THEN $4::timestamptz END
           FROM account
         RETURNING id
       ), token AS (
         INSERT INTO refresh_tokens (id, session_id, issued_at, expires_at)
         SELECT $10::bytea, id, $11::timestamptz, $12::timestamptz FROM session WHERE $10::bytea IS NOT NULL
       )
       SELECT id FROM session`,
      [
        ...[id, userId, checkedHash, createdAt, expiresAt, userAgent, address, provedAt, cookie],
        ...[token && hexBytes(token.id), token?.issuedAt, token?.expiresAt],
      ],
    );
    return insertedRows.length === 1;
  }

  /** The live session of a cookie. Null: there is no such session, or its last use was before `idleSince`. Records a use, at most one a minute. */
  async admitBrowser(
    cookieDigest: Buffer,
    { now, idleSince, isUse }: { now: Date; idleSince: Date; isUse: boolean },
  ): Promise<BrowserSession | null> {
    const row = await this.browserSessionQuery.find([cookieDigest], [idleSince, now]);
    if (row === null) return null;
    const { sessionId, provedAt, isUseDue, ...account } = row;
    if (isUse && isUseDue) {
      const lastUseUpdate = 'UPDATE sessions SET last_used_at = $2 WHERE id = $1 AND last_used_at < $2';
      await this.session.execute(lastUseUpdate, [sessionId, now]);
    }
    return { id: sessionId, account, provedAt };
  }

  /** Records that the person has authenticated again. @returns false: the account has no such live session, or the session never needs a new authentication */
  async recordProof({ id, userId }: Pick<Session, 'id' | 'userId'>, provedAt: Date, now: Date): Promise<boolean> {
    const updatedCount = await this.session.execute(
      `UPDATE sessions SET proved_at = greatest(proved_at, $3)
       WHERE id = $1 AND user_id = $2 AND proved_at IS NOT NULL AND ended_at IS NULL AND expires_at > $4`,
      [id, userId, provedAt, now],
    );
    return updatedCount === 1;
  }

  /** The account, if it is active and the session is live and belongs to it. */
  findLiveAccount(sessionId: string, userId: number, now: Date): Promise<SessionAccount | null> {
    return this.liveSessionQuery.find([sessionId, userId], [now]);
  }

  /** A stored refresh token. Null: no such token is stored, its session is not live, or the account is not active. */
  async findRefreshToken(tokenId: string, now: Date): Promise<PresentedRefresh | null> {
    const rows = await this.session.queryPrepared<PresentedRefresh>(
      'find_refresh',
      `SELECT json_build_object('id', s.id, 'userId', s.user_id, 'expiresAt', extract(epoch FROM s.expires_at) * 1000) AS session, ${refreshRowSql('t')} AS "presentedToken",
              CASE WHEN live.id IS NOT NULL THEN ${refreshRowSql('live')} END AS "currentToken"
       FROM refresh_tokens t
       JOIN sessions s ON s.id = t.session_id
       JOIN users u ON u.id = s.user_id
       LEFT JOIN refresh_tokens live ON live.session_id = s.id AND live.used_at IS NULL
       WHERE t.id = $1 AND u.is_active AND s.ended_at IS NULL AND s.expires_at > $2`,
      [hexBytes(tokenId), now],
    );
    return rows[0] ?? null;
  }

  /**
   * Marks a live refresh token as used and stores the next token, or changes nothing.
   * @returns the session; null: the token was already used, has expired, or does not belong to this live session
   */
  async rotate(
    tokenId: string,
    { id, userId }: Pick<Session, 'id' | 'userId'>,
    nextToken: NewRefreshToken,
  ): Promise<TokenSession | null> {
    // Both changes are one statement, so that after a crash either the old token or the new one is live.
    const rows = await this.session.queryPrepared<{ expires_at: Date }>(
      'rotate',
      `WITH used AS (
         UPDATE refresh_tokens t SET used_at = $4
         FROM sessions s JOIN users u ON u.id = s.user_id
         WHERE t.id = $1 AND t.used_at IS NULL AND t.expires_at > $4
           AND s.id = t.session_id AND s.id = $2 AND s.ended_at IS NULL AND s.expires_at > $4
           AND u.id = $3 AND u.is_active
         RETURNING t.id, t.session_id, s.expires_at
       ), stored AS (
         INSERT INTO refresh_tokens (id, session_id, parent_id, issued_at, expires_at)
         SELECT $5, session_id, id, $4, $6 FROM used
       )
       SELECT expires_at FROM used`,
      [hexBytes(tokenId), id, userId, nextToken.issuedAt, hexBytes(nextToken.id), nextToken.expiresAt],
    );
    return rows[0] === undefined ? null : { id, userId, expiresAt: rows[0].expires_at };
  }

  /** Ends a session of any account. @returns false: it had already ended */
  async end(sessionId: string, now: Date): Promise<boolean> {
    const endStatement = 'UPDATE sessions SET ended_at = $2 WHERE id = $1 AND ended_at IS NULL';
    return (await this.session.execute(endStatement, [sessionId, now])) === 1;
  }

  /** Ends all sessions of an account except `keptSessionId`. @returns how many */
  async endAllOf(userId: number, now: Date, keptSessionId: string | null): Promise<number> {
    return this.session.execute(
      `UPDATE sessions SET ended_at = $2
       WHERE user_id = $1 AND ended_at IS NULL AND expires_at > $2 AND id IS DISTINCT FROM $3`,
      [userId, now, keptSessionId],
    );
  }

  /**
   * At most `limit` active sessions of an account, newest first. A browser's session is active if it was used since `idleSince`.
   * @param after the number of the previous page's last session; null: the first page
   */
  listOf(
    userId: number,
    { now, idleSince }: { now: Date; idleSince: Date },
    after: number | null,
    limit: number,
  ): Promise<SessionView[]> {
    return this.session.query<SessionView>(
      `SELECT s.id, s.number::float8 AS number, s.user_id AS "userId", s.created_at AS "createdAt", s.expires_at AS "expiresAt",
              s.user_agent AS "userAgent", s.address, coalesce(s.last_used_at, live.issued_at) AS "lastUsedAt"
       FROM sessions s LEFT JOIN refresh_tokens live ON live.session_id = s.id AND live.used_at IS NULL
       WHERE s.user_id = $1 AND s.ended_at IS NULL AND s.expires_at > $2
         AND (live.expires_at > $2 OR s.last_used_at > $5)
         AND ($3::bigint IS NULL OR s.number < $3)
       ORDER BY s.number DESC LIMIT $4`,
      [userId, now, after, limit, idleSince],
    );
  }

  /** Ends a session of an account. @returns `unknown`: the account has no such session, or it was removed after its end */
  async endSessionOf(userId: number, sessionId: string, now: Date): Promise<'ended' | 'had-ended' | 'unknown'> {
    const row = await this.session.firstRow<{ had_ended: boolean }>(
      `UPDATE sessions SET ended_at = coalesce(ended_at, $3)
       FROM (SELECT ended_at IS NOT NULL AS had_ended FROM sessions WHERE id = $1 AND user_id = $2 FOR UPDATE) AS before
       WHERE id = $1 AND user_id = $2
       RETURNING before.had_ended`,
      [sessionId, userId, now],
    );
    return row === null ? 'unknown' : row.had_ended ? 'had-ended' : 'ended';
  }

  /** Removes sessions and tokens a day after their end, because rotations in progress may still need the rows. @returns the number of sessions */
  async sweep(now: Date): Promise<number> {
    return this.session.execute(
      `WITH tokens AS (DELETE FROM refresh_tokens WHERE expires_at < $1::timestamptz - interval '1 day')
       DELETE FROM sessions WHERE expires_at < $1::timestamptz - interval '1 day' OR ended_at < $1::timestamptz - interval '1 day'`,
      [now],
    );
  }
}

function refreshRowSql(alias: string): string {
  const millisecondsSql = (column: string): string => `extract(epoch FROM ${alias}.${column}) * 1000`;
  return `json_build_object('id', encode(${alias}.id, 'hex'), 'parentId', encode(${alias}.parent_id, 'hex'),
    'issuedAt', ${millisecondsSql('issued_at')}, 'expiresAt', ${millisecondsSql('expires_at')}, 'usedAt', ${millisecondsSql('used_at')})`;
}

function hexBytes(hex: string): Buffer {
  return Buffer.from(hex, 'hex');
}
