import { createSecretKey, type KeyObject } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { JwtService } from '@nestjs/jwt';
import { Clock } from '../kernel/clock.js';
import { Ids } from '../kernel/ids.js';
import { secretDigest } from '../kernel/secret.js';
import type { Client } from '../platform/http/access.js';
import { KeyedDigests } from '../platform/settings/keyed-digests.js';
import { Settings } from '../platform/settings/settings.js';
import { type Claims, hasJwsSyntax, invalidToken, judgeClaims, type TokenType } from './domain/claims.js';
import type { LivingSession, NewRefreshToken, Session } from './domain/session.js';

const DAY_MS = 86_400_000;

/** The same length as in Ids.secret. */
const JTI_BYTES = 18;

/** The tokens that a sign-in or a refresh issues. */
export interface TokenPair {
  accessToken: string;
  refreshToken: string;
  /** Seconds until the access token expires. */
  expiresIn: number;
}

/** A refresh token before it is issued: its `jti`, and the row to store. */
export interface NextRefresh {
  jti: string;
  stored: NewRefreshToken;
}

/**
 * AUTH_SECRET_KEY as a key object, made once. Given a string, jsonwebtoken would try to parse it as a public key at every signature
 * and verification, which takes about forty times as long as either.
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
    private readonly ids: Ids,
    private readonly digests: KeyedDigests,
    private readonly settings: Settings,
  ) {}

  /** A session before it is stored. @param longest its longest lifetime in milliseconds, if shorter than the setting */
  newSession(userId: number, client: Client, longest = Infinity): Session {
    const createdAt = this.clock.now();
    const lifetime = Math.min(this.settings.auth.sessionMaxDays * DAY_MS, longest);
    return {
      id: this.ids.uuid(),
      userId,
      createdAt,
      expiresAt: new Date(createdAt.getTime() + lifetime),
      userAgent: client.userAgent?.slice(0, 256) ?? null,
      address: client.address,
    };
  }

  /** @param parent the `jti` of the exchanged token, from which the next one is derived to be repeatable; null: a sign-in */
  newRefresh(parent: string | null): NextRefresh {
    const jti = parent === null ? this.ids.secret() : this.jtiAfter(parent);
    const issuedAt = this.clock.now();
    const expiresAt = new Date(issuedAt.getTime() + this.settings.auth.refreshTokenTtlDays * DAY_MS);
    return { jti, stored: { id: storedId(jti), issuedAt, expiresAt } };
  }

  jtiAfter(parent: string): string {
    return this.digests.digestOf('next-refresh', parent).subarray(0, JTI_BYTES).toString('base64url');
  }

  /** Issues a pair of tokens, which do not outlive the session. The same arguments give the same tokens. */
  issue(session: LivingSession, { jti, stored: { issuedAt, expiresAt } }: NextRefresh): TokenPair {
    const issued = seconds(issuedAt.getTime());
    const expiry = (until: number): number => seconds(Math.min(until, session.expiresAt.getTime()));
    const accessId = this.digests.digestOf('next-access', jti).subarray(0, JTI_BYTES).toString('base64url');
    const sign = (type: TokenType, id: string, until: number): string =>
      this.jwt.sign({
        sub: String(session.userId),
        type,
        sid: session.id,
        jti: id,
        iat: issued,
        exp: expiry(until),
      });
    const accessUntil = issuedAt.getTime() + this.settings.auth.accessTokenTtlMin * 60_000;
    return {
      accessToken: sign('access', accessId, accessUntil),
      refreshToken: sign('refresh', jti, expiresAt.getTime()),
      expiresIn: expiry(accessUntil) - seconds(this.clock.now().getTime()),
    };
  }

  /** The claims of a refresh token in a request body. AccessTokenStrategy validates access tokens. @throws Refused */
  readRefreshToken(token: string): Claims {
    if (!hasJwsSyntax(token)) throw invalidToken('syntax');
    let payload: unknown;
    try {
      payload = this.jwt.verify<Record<string, unknown>>(token);
    } catch {
      throw invalidToken('signature');
    }
    return judgeClaims(payload, 'refresh', this.clock.now());
  }
}

/** The id of a refresh token's row: the digest of its `jti`, so that a copy of the database reveals no token. */
export function storedId(jti: string): string {
  return secretDigest(jti).toString('hex');
}

function seconds(ms: number): number {
  return Math.floor(ms / 1000);
}
