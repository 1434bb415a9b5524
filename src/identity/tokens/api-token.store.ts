import { Injectable } from '@nestjs/common';
import { DatabaseSession } from '../../platform/database/database-session.js';
import { GatheredQuery } from '../../platform/database/gathered-query.js';
import type { Account } from '../../users/domain/account.js';
import { ACCOUNT_COLUMNS } from '../../users/user.store.js';
import { type AdmittedToken, type ApiToken, MAX_TOKENS } from './domain/api-token.js';

const TOKEN_COLUMNS = `id, name, scopes, created_at AS "createdAt", expires_at AS "expiresAt", last_used_at AS "lastUsedAt"`;

const ADMIT_QUERY = `
  SELECT ${ACCOUNT_COLUMNS}, t.name, t.scopes, t.expires_at <= $3 AS "hasExpired",
         u.password_hash IS NULL AND coalesce(p.signed_in_at, p.linked_at, 'epoch') <= $4 AS "isOwnerAway",
         coalesce(t.last_used_at <= $3::timestamptz - interval '1 minute', true) AS "isUseDue"
  FROM api_tokens t JOIN users u ON u.id = t.user_id LEFT JOIN oidc_people p ON p.user_id = u.id
  WHERE t.id = $1 AND t.digest = $2 AND t.revoked_at IS NULL AND u.is_active`;

/** A time before every sign-in. It is before 1970, because an owner who never signed in counts as signed in at the start of 1970. */
const BEFORE_EPOCH = new Date(-1);

/** API tokens, of which only digests are stored. */
@Injectable()
export class ApiTokenStore {
  private readonly admitQuery: GatheredQuery<Account & Omit<AdmittedToken, 'id' | 'account'> & { isUseDue: boolean }>;

  constructor(private readonly session: DatabaseSession) {
    this.admitQuery = new GatheredQuery(session, 'admit_token', ['text', 'bytea'], ADMIT_QUERY);
  }

  /**
   * Finds a token with its account, and records its uses, at most one a minute. @returns null: no active account has the token
   * @param signedInSince owners who last signed in at the provider earlier count as away; null: none does
   */
  async admit(id: string, digest: Buffer, now: Date, signedInSince: Date | null): Promise<AdmittedToken | null> {
    const tokenRow = await this.admitQuery.find([id, digest], [now, signedInSince ?? BEFORE_EPOCH]);
    if (tokenRow === null) return null;
    const { name, scopes, hasExpired, isOwnerAway, isUseDue, ...account } = tokenRow;
    if (isUseDue && !hasExpired && !isOwnerAway) {
      await this.session.execute('UPDATE api_tokens SET last_used_at = $2 WHERE id = $1', [id, now]);
    }
    return { id, name, scopes, hasExpired, isOwnerAway, account };
  }

  /** Removes an account's expired tokens, and adds one if the account is active and has less than MAX_TOKENS. Needs a transaction. */
  async add(userId: number, token: ApiToken, digest: Buffer): Promise<'added' | 'too-many' | 'not-active'> {
    // The lock makes concurrent calls count one after the other. A concurrent deactivation waits, and then finds the new token.
    const selectActive = 'SELECT FROM users WHERE id = $1 AND is_active FOR NO KEY UPDATE';
    if ((await this.session.firstRow(selectActive, [userId])) === null) return 'not-active';
    await this.session.execute('DELETE FROM api_tokens WHERE user_id = $1 AND expires_at <= $2', [
      userId,
      token.createdAt,
    ]);
    const insertedRow = await this.session.firstRow(
      `INSERT INTO api_tokens (id, user_id, name, scopes, digest, created_at, expires_at)
       SELECT $1, $2, $3, $4, $5, $6, $7 WHERE (SELECT count(*) FROM api_tokens WHERE user_id = $2 AND revoked_at IS NULL) < $8 RETURNING id`,
      [token.id, userId, token.name, token.scopes, digest, token.createdAt, token.expiresAt, MAX_TOKENS],
    );
    return insertedRow === null ? 'too-many' : 'added';
  }

  /** Tokens of an account, newest first, including expired ones that were not removed yet. */
  listOf(userId: number): Promise<ApiToken[]> {
    const selectTokens = `SELECT ${TOKEN_COLUMNS} FROM api_tokens WHERE user_id = $1 AND revoked_at IS NULL ORDER BY created_at DESC, id`;
    return this.session.query<ApiToken>(selectTokens, [userId]);
  }

  /** Revokes a token. `had-ended`: it was revoked before. `unknown`: the account never had the token, or the expired token was removed. */
  async revoke(userId: number, id: string, now: Date): Promise<ApiToken | 'had-ended' | 'unknown'> {
    const token = await this.session.firstRow<ApiToken>(
      `UPDATE api_tokens SET revoked_at = $3 WHERE id = $1 AND user_id = $2 AND revoked_at IS NULL RETURNING ${TOKEN_COLUMNS}`,
      [id, userId, now],
    );
    if (token !== null) return token;
    const select = 'SELECT FROM api_tokens WHERE id = $1 AND user_id = $2';
    return (await this.session.firstRow(select, [id, userId])) === null ? 'unknown' : 'had-ended';
  }

  /** Revokes all tokens of an account. @returns those that had not expired */
  async revokeAllOf(userId: number, now: Date): Promise<ApiToken[]> {
    const revoke = `UPDATE api_tokens SET revoked_at = $2 WHERE user_id = $1 AND revoked_at IS NULL RETURNING ${TOKEN_COLUMNS}`;
    const tokens = await this.session.query<ApiToken>(revoke, [userId, now]);
    return tokens.filter(({ expiresAt }) => expiresAt > now);
  }

  /** Counts unexpired tokens of administrators that were not used since `unusedSince` or expire after `latestExpiry`. */
  async countStaleTokens(now: Date, unusedSince: Date, latestExpiry: Date): Promise<number> {
    const [countRow] = await this.session.queryPrepared<{ stale_count: number }>(
      'stale_tokens',
      `SELECT count(*)::integer AS stale_count FROM api_tokens t JOIN users u ON u.id = t.user_id
       WHERE u.role = 'admin' AND t.expires_at > $1 AND t.revoked_at IS NULL
         AND (coalesce(t.last_used_at, t.created_at) <= $2 OR t.expires_at > $3)`,
      [now, unusedSince, latestExpiry],
    );
    return countRow?.stale_count ?? 0;
  }
}
