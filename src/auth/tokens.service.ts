import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { JwtService } from '@nestjs/jwt';
import { Clock } from '../kernel/clock.js';
import { Ids } from '../kernel/ids.js';
import { Settings } from '../platform/settings.js';
import { type ClaimsVerdict, judgeClaims, type TokenType } from './domain/claims.js';
import type { NewRefreshToken, Session } from './domain/session.js';
import { hasTokenForm } from './domain/token-form.js';

/** What a sign-in or a refresh hands out (source document 2.4), and what is stored of it. */
export interface TokenPair {
  accessToken: string;
  refreshToken: string;
  /** The row of the refresh token. */
  stored: NewRefreshToken;
}

/** Makes and reads tokens (source document 2.6 and 5.1). */
@Injectable()
export class TokensService {
  constructor(
    private readonly jwt: JwtService,
    private readonly clock: Clock,
    private readonly ids: Ids,
    private readonly settings: Settings,
  ) {}

  /** No token outlives its session. */
  issue(session: Pick<Session, 'id' | 'userId' | 'expiresAt'>): TokenPair {
    const { accessTokenTtlMin, refreshTokenTtlDays } = this.settings.auth;
    const issuedAt = this.clock.now();
    const until = (seconds: number): Date =>
      new Date(Math.min(issuedAt.getTime() + seconds * 1000, session.expiresAt.getTime()));
    const sign = (type: TokenType, jti: string, expiresAt: Date): string =>
      this.jwt.sign({
        sub: String(session.userId),
        type,
        sid: session.id,
        jti,
        iat: seconds(issuedAt),
        exp: seconds(expiresAt),
      });
    const refreshId = this.ids.secret();
    const refreshUntil = until(refreshTokenTtlDays * 86_400);
    return {
      accessToken: sign('access', this.ids.secret(), until(accessTokenTtlMin * 60)),
      refreshToken: sign('refresh', refreshId, refreshUntil),
      stored: { id: storedId(refreshId), issuedAt, expiresAt: refreshUntil },
    };
  }

  /** Judges a refresh token that came in a body. Access tokens are judged where passport takes them (AccessTokenStrategy). */
  readRefreshToken(token: string): ClaimsVerdict {
    if (!hasTokenForm(token)) return { kind: 'invalid' };
    let payload: unknown;
    try {
      payload = this.jwt.verify<Record<string, unknown>>(token);
    } catch {
      return { kind: 'invalid' };
    }
    return judgeClaims(payload, 'refresh', this.clock.now());
  }
}

/** The name of a refresh token's row: the digest of its `jti`, so that a copy of the database names no token. */
export function storedId(jti: string): string {
  return createHash('sha256').update(jti).digest('hex');
}

function seconds(moment: Date): number {
  return Math.floor(moment.getTime() / 1000);
}
