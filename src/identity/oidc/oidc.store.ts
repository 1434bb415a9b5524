import { Injectable } from '@nestjs/common';
import { DatabaseSession } from '../../platform/database/database-session.js';
import type { SignOutTarget } from './domain/claims.js';
import type {
  Link,
  NewProviderSession,
  PersonKey,
  ProviderSession,
  Recheck,
  SignInCode,
} from './domain/provider-session.js';

/** Key of the advisory lock that keeps sign-outs by the provider from running at the same time as the opening of sessions. */
const SIGN_OUT_LOCK = 7_471_093;

/** Milliseconds for which a sign-out is remembered. After this time, every token from before the sign-out is too old to be accepted. */
const SIGN_OUT_MEMORY_MS = 3_600_000;

/** Links of accounts to people at the provider, data of sessions that began there, and single-use secrets, which are stored as digests. */
@Injectable()
export class OidcStore {
  constructor(private readonly session: DatabaseSession) {}

  async accountIdOf({ issuer, subject }: PersonKey): Promise<number | null> {
    const select = 'SELECT user_id FROM oidc_people WHERE issuer = $1 AND subject = $2';
    return (await this.session.firstRow<{ user_id: number }>(select, [issuer, subject]))?.user_id ?? null;
  }

  /** The id of the account with an external id of SCIM. */
  async accountIdByExternalId(externalId: string): Promise<number | null> {
    const select = 'SELECT user_id FROM scim_users WHERE external_id = $1';
    return (await this.session.firstRow<{ user_id: number }>(select, [externalId]))?.user_id ?? null;
  }

  /** Whether SCIM deleted an account that was active or that SCIM had deactivated. */
  async isDeletedByScim(userId: number): Promise<boolean> {
    const select = `SELECT FROM users WHERE id = $1 AND source = 'scim' AND NOT is_active AND deactivated_by = 'scim'
                      AND NOT EXISTS (SELECT FROM scim_users WHERE user_id = $1)`;
    return (await this.session.firstRow(select, [userId])) !== null;
  }

  linkOf(userId: number): Promise<Link | null> {
    const select = 'SELECT issuer, subject, linked_at AS "linkedAt" FROM oidc_people WHERE user_id = $1';
    return this.session.firstRow<Link>(select, [userId]);
  }

  /** Links an account to a person. @returns false: the account or the person already has a link */
  async link(userId: number, { issuer, subject }: PersonKey, linkedAt: Date): Promise<boolean> {
    const insert = `INSERT INTO oidc_people (issuer, subject, user_id, linked_at) VALUES ($1, $2, $3, $4)
                    ON CONFLICT DO NOTHING RETURNING user_id`;
    return (await this.session.firstRow(insert, [issuer, subject, userId, linkedAt])) !== null;
  }

  async recordSignIn(userId: number, signedInAt: Date): Promise<void> {
    await this.session.execute('UPDATE oidc_people SET signed_in_at = $2 WHERE user_id = $1', [userId, signedInAt]);
  }

  /**
   * Records the claims about groups that this transaction applies. Until it ends, other transactions cannot apply claims to the account.
   * @returns false: newer claims were applied before
   */
  async recordClaims(userId: number, issuedAt: Date, heldUntil: Date): Promise<boolean> {
    const insert = `
      INSERT INTO oidc_claims AS c (user_id, issued_at, held_until) VALUES ($1, $2, $3)
      ON CONFLICT (user_id) DO UPDATE SET issued_at = $2, held_until = greatest(c.held_until, $3) WHERE c.issued_at <= $2
      RETURNING user_id`;
    return (await this.session.firstRow(insert, [userId, issuedAt, heldUntil])) !== null;
  }

  /** Whether the last applied claims have expired. Locks the account's claims as `recordClaims` does. */
  async haveClaimsLapsed(userId: number, now: Date): Promise<boolean> {
    const select = 'SELECT FROM oidc_claims WHERE user_id = $1 AND held_until <= $2 FOR UPDATE';
    return (await this.session.firstRow(select, [userId, now])) !== null;
  }

  /** Locks the account, so that no password change and no creation of an API token runs at the same time as the transaction. */
  async lockAccount(userId: number): Promise<void> {
    await this.session.query('SELECT FROM users WHERE id = $1 FOR NO KEY UPDATE', [userId]);
  }

  /** Removes the link and the codes of the account. @returns the person, and the sessions that began at the provider; null: no link */
  async unlink(userId: number): Promise<{ person: PersonKey; sessionIds: string[] } | null> {
    const remove = 'DELETE FROM oidc_people WHERE user_id = $1 RETURNING issuer, subject';
    const person = await this.session.firstRow<PersonKey>(remove, [userId]);
    if (person === null) return null;
    await this.session.query('DELETE FROM oidc_codes WHERE user_id = $1', [userId]);
    await this.lockAccount(userId);
    const select =
      'SELECT session_id AS id FROM oidc_sessions JOIN sessions ON sessions.id = session_id WHERE user_id = $1';
    const sessions = await this.session.query<{ id: string }>(select, [userId]);
    return { person, sessionIds: sessions.map(({ id }) => id) };
  }

  /** Stores a code, and removes expired codes. */
  async putCode(
    digest: Buffer,
    { userId, challenge, provedAt, expiresAt, session }: SignInCode,
    now: Date,
  ): Promise<void> {
    await this.session.query(
      `WITH expired AS (DELETE FROM oidc_codes WHERE expires_at < $5)
       INSERT INTO oidc_codes (digest, user_id, challenge, expires_at, issuer, subject, sid, id_token, refresh_token, proved_at)
       VALUES ($1, $2, $3, $4, $6, $7, $8, $9, $10, $11)`,
      [digest, userId, challenge, expiresAt, now, ...sessionValues(session), provedAt],
    );
  }

  /** Removes a code. @returns the sign-in of the code; null: there is no such code, or it was already removed */
  takeCode(digest: Buffer): Promise<SignInCode | null> {
    return this.session.firstRow<SignInCode>(
      `DELETE FROM oidc_codes WHERE digest = $1
       RETURNING user_id AS "userId", challenge, proved_at AS "provedAt", expires_at AS "expiresAt", ${SESSION_JSON} AS session`,
      [digest],
    );
  }

  /** Stores the provider's data for a session, or replaces it. */
  async saveProviderSession(sessionId: string, session: ProviderSession, askedAt: Date): Promise<void> {
    await this.session.query(
      `INSERT INTO oidc_sessions (session_id, issuer, subject, sid, id_token, refresh_token, asked_at)
       VALUES ($1, $2, $3, $4, $5, $6, $7)
       ON CONFLICT (session_id) DO UPDATE SET sid = $4, id_token = $5, refresh_token = $6, asked_at = $7`,
      [sessionId, ...sessionValues(session), askedAt],
    );
  }

  /** Claims the recheck of a session. At most one of several concurrent callers gets `isDue`. @returns null: no session, or no refresh token */
  claimRecheck(sessionId: string, dueBefore: Date, now: Date): Promise<Recheck | null> {
    return this.session.firstRow<Recheck>(
      `WITH due AS (
         UPDATE oidc_sessions SET asked_at = $3
         WHERE session_id = $1 AND asked_at <= $2 AND refresh_token IS NOT NULL RETURNING session_id
       )
       SELECT user_id AS "userId", asked_at AS "askedAt", ${SESSION_JSON} AS session, EXISTS (SELECT FROM due) AS "isDue"
       FROM oidc_sessions JOIN sessions ON sessions.id = session_id
       WHERE session_id = $1 AND refresh_token IS NOT NULL`,
      [sessionId, dueBefore, now],
    );
  }

  /**
   * The account of a session, and a live session of that account that has a refresh token (null: none has).
   * @returns null: no session has the given id
   */
  renewableSession(
    sessionId: string,
    issuer: string,
    now: Date,
  ): Promise<{ userId: number; sessionId: string | null } | null> {
    return this.session.firstRow<{ userId: number; sessionId: string | null }>(
      `SELECT used.user_id AS "userId", other.session_id AS "sessionId"
       FROM sessions used LEFT JOIN LATERAL (
         SELECT session_id FROM oidc_sessions JOIN sessions s ON s.id = session_id
         WHERE s.user_id = used.user_id AND issuer = $2 AND refresh_token IS NOT NULL
           AND s.ended_at IS NULL AND s.expires_at > $3
         ORDER BY asked_at DESC LIMIT 1
       ) other ON true
       WHERE used.id = $1`,
      [sessionId, issuer, now],
    );
  }

  /** Replaces a session's refresh token. @returns false: nothing was replaced, because the session has another token than `formerToken` */
  async replaceRefreshToken(sessionId: string, formerToken: string, newToken: string | null): Promise<boolean> {
    const update = 'UPDATE oidc_sessions SET refresh_token = $3 WHERE session_id = $1 AND refresh_token = $2';
    return (await this.session.execute(update, [sessionId, formerToken, newToken])) === 1;
  }

  /** The provider's data of a session. Null: the session did not begin at a provider. */
  async sessionOf(sessionId: string): Promise<ProviderSession | null> {
    const select = `SELECT ${SESSION_JSON} AS session FROM oidc_sessions WHERE session_id = $1`;
    return (await this.session.firstRow<{ session: ProviderSession }>(select, [sessionId]))?.session ?? null;
  }

  /**
   * Records a sign-out at the provider, and removes the codes of the sessions of `target`. Until the transaction ends, `hasEnded` waits.
   * @param signedOutAt the sign-out's time by the provider's clock @returns ids of the sessions, including ended ones
   */
  async recordSignOut(issuer: string, target: SignOutTarget, signedOutAt: Date, now: Date): Promise<string[]> {
    const [column, value] = 'sid' in target ? ['sid', target.sid] : ['subject', target.subject];
    const condition = `issuer = $1 AND ${column} = $2`;
    await this.session.query('SELECT pg_advisory_xact_lock($1)', [SIGN_OUT_LOCK]);
    await this.session.query(
      `WITH expired AS (DELETE FROM oidc_ended WHERE expires_at < $5)
       INSERT INTO oidc_ended AS e (issuer, kind, value, ended_at, expires_at) VALUES ($1, $2, $3, $4, $6)
       ON CONFLICT (issuer, kind, value) DO UPDATE SET ended_at = greatest(e.ended_at, $4), expires_at = $6`,
      [issuer, column, value, signedOutAt, now, new Date(now.getTime() + SIGN_OUT_MEMORY_MS)],
    );
    // Codes are deleted first, because that waits for a concurrent exchange of a code. The next statement then finds the new session.
    await this.session.query(`DELETE FROM oidc_codes WHERE ${condition}`, [issuer, value]);
    const select = `SELECT session_id FROM oidc_sessions WHERE ${condition}`;
    const rows = await this.session.query<{ session_id: string }>(select, [issuer, value]);
    return rows.map(({ session_id }) => session_id);
  }

  /**
   * Whether the provider ended the session after issuing its token, or the account was unlinked. Later sign-outs and unlinks wait until
   * the transaction ends. @param userId null: the account is not known yet
   */
  async hasEnded({ issuer, subject, sid, issuedAt }: NewProviderSession, userId: number | null): Promise<boolean> {
    await this.session.query('SELECT pg_advisory_xact_lock_shared($1)', [SIGN_OUT_LOCK]);
    const select = `SELECT FROM oidc_ended WHERE issuer = $1 AND ended_at >= $2
                      AND (kind = 'subject' AND value = $3 OR kind = 'sid' AND value = $4) LIMIT 1`;
    if ((await this.session.firstRow(select, [issuer, issuedAt, subject, sid])) !== null) return true;
    const selectLink = 'SELECT FROM oidc_people WHERE user_id = $1 FOR KEY SHARE';
    return userId !== null && (await this.session.firstRow(selectLink, [userId])) === null;
  }

  /** Marks a single-use secret as used, and removes expired marks. @returns false: the secret was used before */
  async markUsed(digest: Buffer, expiresAt: Date, now: Date): Promise<boolean> {
    const insert = `
      WITH expired AS (DELETE FROM oidc_used WHERE expires_at < $3)
      INSERT INTO oidc_used (digest, expires_at) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING digest`;
    return (await this.session.firstRow(insert, [digest, expiresAt, now])) !== null;
  }

  async wasUsed(digest: Buffer): Promise<boolean> {
    return (await this.session.firstRow('SELECT FROM oidc_used WHERE digest = $1', [digest])) !== null;
  }
}

const SESSION_JSON = `json_build_object('issuer', issuer, 'subject', subject, 'sid', sid, 'idToken', id_token,
  'refreshToken', refresh_token)`;

function sessionValues({ issuer, subject, sid, idToken, refreshToken }: ProviderSession): unknown[] {
  return [issuer, subject, sid, idToken, refreshToken];
}
