import { Injectable } from '@nestjs/common';
import { DatabaseSession } from '../../../platform/infrastructure/database-session.js';
import { OidcStore, type PersonKey, type SignInCode } from '../domain/oidc-store.js';

@Injectable()
export class PostgresOidcStore extends OidcStore {
  constructor(private readonly session: DatabaseSession) {
    super();
  }

  override async accountOf({ issuer, subject }: PersonKey): Promise<number | null> {
    const rows = await this.session.manager.query<{ user_id: number }[]>(
      'SELECT user_id FROM oidc_people WHERE issuer = $1 AND subject = $2',
      [issuer, subject],
    );
    return rows[0]?.user_id ?? null;
  }

  override async isLinked(userId: number): Promise<boolean> {
    const rows = await this.session.manager.query<unknown[]>('SELECT FROM oidc_people WHERE user_id = $1', [userId]);
    return rows.length > 0;
  }

  override async link(userId: number, { issuer, subject }: PersonKey, at: Date): Promise<boolean> {
    const insert = `INSERT INTO oidc_people (issuer, subject, user_id, linked_at) VALUES ($1, $2, $3, $4)
                    ON CONFLICT DO NOTHING RETURNING user_id`;
    const rows = await this.session.manager.query<unknown[]>(insert, [issuer, subject, userId, at]);
    return rows.length === 1;
  }

  override async putCode(digest: string, { userId, challenge, expiresAt }: SignInCode, now: Date): Promise<void> {
    await this.session.manager.query(
      `WITH expired AS (DELETE FROM oidc_codes WHERE expires_at < $5)
       INSERT INTO oidc_codes (digest, user_id, challenge, expires_at) VALUES ($1, $2, $3, $4)`,
      [bytes(digest), userId, challenge, expiresAt, now],
    );
  }

  override async takeCode(digest: string): Promise<SignInCode | null> {
    const [rows] = await this.session.manager.query<[SignInCode[], number]>(
      `DELETE FROM oidc_codes WHERE digest = $1 RETURNING user_id AS "userId", challenge, expires_at AS "expiresAt"`,
      [bytes(digest)],
    );
    return rows[0] ?? null;
  }

  override async use(digest: string, expiresAt: Date, now: Date): Promise<boolean> {
    const rows = await this.session.manager.query<unknown[]>(
      `WITH expired AS (DELETE FROM oidc_used WHERE expires_at < $3)
       INSERT INTO oidc_used (digest, expires_at) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING digest`,
      [bytes(digest), expiresAt, now],
    );
    return rows.length === 1;
  }

  override async wasUsed(digest: string): Promise<boolean> {
    const found = 'SELECT FROM oidc_used WHERE digest = $1';
    return (await this.session.manager.query<unknown[]>(found, [bytes(digest)])).length > 0;
  }
}

function bytes(hex: string): Buffer {
  return Buffer.from(hex, 'hex');
}
