import { createSecretKey, type KeyObject } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { JwtService } from '@nestjs/jwt';
import { Clock } from '../kernel/clock.js';
import { IdSource } from '../kernel/ids.js';
import { secretDigest } from '../kernel/secret.js';
import type { Client } from '../platform/http/access.js';
import { KeyedDigests } from '../platform/settings/keyed-digests.js';
import { Settings } from '../platform/settings/settings.js';
import { type Claims, hasJwsSyntax, invalidTokenRefusal, judgeClaims, type TokenType } from './domain/claims.js';
import type { TokenSession, NewRefreshToken, Session } from './domain/session.js';

const DAY_MS = 86_400_000;

/** The length in bytes of a token's id that is derived from another id. `IdSource.secret` makes ids of the same length. */
const JTI_BYTES = 18;

export interface TokenPair {
  accessToken: string;
  refreshToken: string;
  /** Seconds until the access token expires. */
  expiresIn: number;
}

/** A refresh token before it is issued: its `jti`, and the row to store. */
export interface PendingRefreshToken {
  jti: string;
  storedToken: NewRefreshToken;
}

/**
 * AUTH_SECRET_KEY as a key object. Given a string, jsonwebtoken would first try to parse it as a public key, at every signature and
 * verification. This attempt takes about forty times as long as a signature.
 */
@Injectable()
export class SigningKey {
  readonly key: KeyObject;

  constructor(settings: Settings) {
    const { secretKey } = settings.auth;
    if (secretKey === null) throw new Error('a command without AUTH_SECRET_KEY signs no tokens');
    this.key = createSecretKey(secretKey.reveal(), 'utf8');
  }
}

/** Makes and reads tokens, and makes the sessions that they belong to. */
@Injectable()
export class TokensService {
  constructor(
    private readonly jwt: JwtService,
    private readonly clock: Clock,
    private readonly idSource: IdSource,
    private readonly digests: KeyedDigests,
    private readonly settings: Settings,
  ) {}

  /** A session to be stored. @param maxLifetimeMs an additional limit of its lifetime */
  newSession(userId: number, client: Client, maxLifetimeMs = Infinity): Session {
    const createdAt = this.clock.now();
    const lifetimeMs = Math.min(this.settings.auth.sessionMaxDays * DAY_MS, maxLifetimeMs);
    return {
      id: this.idSource.uuid(),
      userId,
      createdAt,
      expiresAt: new Date(createdAt.getTime() + lifetimeMs),
      userAgent: client.userAgent?.slice(0, 256) ?? null,
      address: client.address,
    };
  }

  /** @param parentJti `jti` of the exchanged token; null: a sign-in. The new `jti` is derived from it, so a repeated exchange gives the same `jti` */
  newRefreshToken(parentJti: string | null): PendingRefreshToken {
    const jti = parentJti === null ? this.idSource.secret() : this.nextJti(parentJti);
    const issuedAt = this.clock.now();
    const expiresAt = new Date(issuedAt.getTime() + this.settings.auth.refreshTokenTtlDays * DAY_MS);
    return { jti, storedToken: { id: refreshTokenId(jti), issuedAt, expiresAt } };
  }

  nextJti(parentJti: string): string {
    return this.digests.digestOf('next-refresh', parentJti).subarray(0, JTI_BYTES).toString('base64url');
  }

  /** Issues a pair of tokens, which expire with the session at the latest. The same arguments give the same tokens. */
  issue(session: TokenSession, { jti, storedToken: { issuedAt, expiresAt } }: PendingRefreshToken): TokenPair {
    const issuedSeconds = wholeSeconds(issuedAt.getTime());
    const expirySeconds = (expiryMs: number): number => wholeSeconds(Math.min(expiryMs, session.expiresAt.getTime()));
    const accessTokenId = this.digests.digestOf('next-access', jti).subarray(0, JTI_BYTES).toString('base64url');
    const sign = (type: TokenType, id: string, expiryMs: number): string =>
      this.jwt.sign({
        sub: String(session.userId),
        type,
        sid: session.id,
        jti: id,
        iat: issuedSeconds,
        exp: expirySeconds(expiryMs),
      });
    const accessExpiryMs = issuedAt.getTime() + this.settings.auth.accessTokenTtlMin * 60_000;
    return {
      accessToken: sign('access', accessTokenId, accessExpiryMs),
      refreshToken: sign('refresh', jti, expiresAt.getTime()),
      expiresIn: expirySeconds(accessExpiryMs) - wholeSeconds(this.clock.now().getTime()),
    };
  }

  /** The claims of a refresh token from a request body (AccessTokenStrategy reads access tokens). @throws Refused `token_invalid`, `token_expired` */
  readRefreshToken(token: string): Claims {
    if (!hasJwsSyntax(token)) throw invalidTokenRefusal('syntax');
    let payload: unknown;
    try {
      payload = this.jwt.verify<Record<string, unknown>>(token);
    } catch {
      throw invalidTokenRefusal('signature');
    }
    return judgeClaims(payload, 'refresh', this.clock.now());
  }
}

/** The id of a refresh token's row: the digest of its `jti`, so that a copy of the database reveals no token. */
export function refreshTokenId(jti: string): string {
  return secretDigest(jti).toString('hex');
}

function wholeSeconds(ms: number): number {
  return Math.floor(ms / 1000);
}
