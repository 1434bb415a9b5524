import { Injectable } from '@nestjs/common';
import { DatabaseSession } from '../../platform/database/database-session.js';
import { GatheredQuery } from '../../platform/database/gathered-query.js';
import type { Account } from '../../users/domain/account.js';
import { ACCOUNT_COLUMNS } from '../../users/user.store.js';
import { type AdmittedToken, type ApiToken, MOST_TOKENS } from './domain/api-token.js';

const TOKEN = `id, name, scopes, created_at AS "createdAt", expires_at AS "expiresAt", last_used_at AS "lastUsedAt"`;

interface TokenColumns extends Pick<AdmittedToken, 'name' | 'scopes' | 'hasExpired' | 'isOwnerAway'> {
  isUseDue: boolean;
}

const ADMITTED = `
  SELECT ${ACCOUNT_COLUMNS}, t.name, t.scopes, t.expires_at <= $3 AS "hasExpired",
         u.password_hash IS NULL AND coalesce(p.signed_in_at, p.linked_at, 'epoch') <= $4 AS "isOwnerAway",
         coalesce(t.last_used_at <= $3::timestamptz - interval '1 minute', true) AS "isUseDue"
  FROM api_tokens t JOIN users u ON u.id = t.user_id LEFT JOIN oidc_people p ON p.user_id = u.id
  WHERE t.id = $1 AND t.digest = $2 AND t.revoked_at IS NULL AND u.is_active`;

/** A bound before the epoch, so that every owner counts as signed in later, also one who never signed in. */
const ANY_TIME = new Date(-1);

/** API tokens, of which only digests are stored. */
@Injectable()
export class ApiTokenStore {
  private readonly admitted: GatheredQuery<Account & TokenColumns>;

  constructor(private readonly session: DatabaseSession) {
    this.admitted = new GatheredQuery(session, 'admit_token', ['text', 'bytea'], ADMITTED);
  }

  /**
   * Finds a token with its account, and records the use once a minute. @param signedInSince an owner whose last sign-in at the provider was
   * before counts as away; null: no owner does @returns null: no active account has the token
   */
  async admit(id: string, digest: Buffer, now: Date, signedInSince: Date | null): Promise<AdmittedToken | null> {
    const found = await this.admitted.find([id, digest], [now, signedInSince ?? ANY_TIME]);
    if (found === null) return null;
    const { name, scopes, hasExpired, isOwnerAway, isUseDue, ...account } = found;
    if (isUseDue && !hasExpired && !isOwnerAway) {
      await this.session.execute('UPDATE api_tokens SET last_used_at = $2 WHERE id = $1', [id, now]);
    }
    return { id, name, scopes, hasExpired, isOwnerAway, account };
  }

  /** In a transaction: removes the account's expired tokens, and adds one if it is active and has less than MOST_TOKENS. */
  async add(userId: number, token: ApiToken, digest: Buffer): Promise<'added' | 'too-many' | 'not-active'> {
    // The lock serializes concurrent counts. A concurrent deactivation waits, and then finds the token.
    const active = 'SELECT FROM users WHERE id = $1 AND is_active FOR NO KEY UPDATE';
    if ((await this.session.firstRow(active, [userId])) === null) return 'not-active';
    await this.session.execute('DELETE FROM api_tokens WHERE user_id = $1 AND expires_at <= $2', [
      userId,
      token.createdAt,
    ]);
    const added = await this.session.firstRow(
      `INSERT INTO api_tokens (id, user_id, name, scopes, digest, created_at, expires_at)
       SELECT $1, $2, $3, $4, $5, $6, $7 WHERE (SELECT count(*) FROM api_tokens WHERE user_id = $2 AND revoked_at IS NULL) < $8 RETURNING id`,
      [token.id, userId, token.name, token.scopes, digest, token.createdAt, token.expiresAt, MOST_TOKENS],
    );
    return added === null ? 'too-many' : 'added';
  }

  /** Tokens of an account, newest first, including expired ones that were not removed yet. */
  listOf(userId: number): Promise<ApiToken[]> {
    const list = `SELECT ${TOKEN} FROM api_tokens WHERE user_id = $1 AND revoked_at IS NULL ORDER BY created_at DESC, id`;
    return this.session.query<ApiToken>(list, [userId]);
  }

  /** Revokes a token. `unknown`: the account never had it, or it has expired and was removed. */
  async revoke(userId: number, id: string, at: Date): Promise<ApiToken | 'had-ended' | 'unknown'> {
    const token = await this.session.firstRow<ApiToken>(
      `UPDATE api_tokens SET revoked_at = $3 WHERE id = $1 AND user_id = $2 AND revoked_at IS NULL RETURNING ${TOKEN}`,
      [id, userId, at],
    );
    if (token !== null) return token;
    const select = 'SELECT FROM api_tokens WHERE id = $1 AND user_id = $2';
    return (await this.session.firstRow(select, [id, userId])) === null ? 'unknown' : 'had-ended';
  }

  /** Revokes all tokens of an account. @returns how many of them had not expired */
  async revokeAllOf(userId: number, at: Date): Promise<number> {
    const revoke =
      'UPDATE api_tokens SET revoked_at = $2 WHERE user_id = $1 AND revoked_at IS NULL RETURNING expires_at > $2 AS live';
    const rows = await this.session.query<{ live: boolean }>(revoke, [userId, at]);
    return rows.filter(({ live }) => live).length;
  }

  /** Counts unexpired tokens of administrators that were not used since `unusedSince` or expire after `latestExpiry`. */
  async countStale(now: Date, unusedSince: Date, latestExpiry: Date): Promise<number> {
    const [counted] = await this.session.queryPrepared<{ stale: number }>(
      'stale_tokens',
      `SELECT count(*)::integer AS stale FROM api_tokens t JOIN users u ON u.id = t.user_id
       WHERE u.role = 'admin' AND t.expires_at > $1 AND t.revoked_at IS NULL
         AND (coalesce(t.last_used_at, t.created_at) <= $2 OR t.expires_at > $3)`,
      [now, unusedSince, latestExpiry],
    );
    return counted?.stale ?? 0;
  }
}
