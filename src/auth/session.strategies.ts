import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import type { FastifyRequest } from 'fastify';
import { Strategy as CustomStrategy } from 'passport';
import { Strategy as JwtStrategy } from 'passport-jwt';
import { Clock } from '../kernel/clock.js';
import { bearerToken } from '../platform/http/bearer-token.js';
import { ACCESS_TOKEN, BROWSER_SESSION } from '../platform/http/access.guard.js';
import { isPolled } from '../platform/http/request-records.js';
import { Settings } from '../platform/settings/settings.js';
import { browserCookieIn } from './domain/browser-cookie.js';
import { hasJwsSyntax, invalidTokenRefusal, judgeClaims } from './domain/claims.js';
import { type AdmittedAccount, toAdmittedAccount, SessionsService } from './sessions.service.js';
import { SigningKey } from './tokens.service.js';

/** Admits an access token that has a valid signature and valid claims and belongs to a live session of an active account. */
@Injectable()
export class AccessTokenStrategy extends PassportStrategy(JwtStrategy, ACCESS_TOKEN) {
  constructor(
    signingKey: SigningKey,
    private readonly sessions: SessionsService,
    private readonly clock: Clock,
  ) {
    super({
      jwtFromRequest: wellFormedToken,
      // jsonwebtoken accepts a KeyObject, but the type declarations of passport-jwt do not.
      secretOrKey: signingKey.key as unknown as Buffer,
      algorithms: ['HS256'],
      // judgeClaims demands `exp` and checks it by the injected clock; the library would accept a token without `exp`.
      ignoreExpiration: true,
    });
  }

  /** Called by passport with the payload of a token with a valid signature. */
  async validate(payload: unknown): Promise<AdmittedAccount> {
    const { sessionId, userId } = judgeClaims(payload, 'access', this.clock.now());
    const session = { id: sessionId, userId };
    const account = await this.sessions.accountOf(session);
    if (account === null) throw invalidTokenRefusal('session-ended');
    this.sessions.recordUse(session.id);
    const isStillAdmitted = async (): Promise<boolean> => (await this.sessions.accountOf(session)) !== null;
    return toAdmittedAccount(account, { kind: 'session', id: session.id, provedAt: account.provedAt }, isStillAdmitted);
  }
}

/** Admits the cookie of a browser's session, if the request has no `Authorization` header. */
@Injectable()
export class BrowserSessionStrategy extends PassportStrategy(CustomStrategy, BROWSER_SESSION) {
  constructor(
    private readonly sessions: SessionsService,
    private readonly settings: Settings,
  ) {
    super();
  }

  /** Called by passport with Fastify's request. */
  override authenticate(request: unknown): void {
    const browserRequest = request as FastifyRequest;
    const { headers, protocol, hostname } = browserRequest;
    const { isProduction, console } = this.settings;
    const mayUseCookie = console.enabled && headers.authorization === undefined;
    const cookie = mayUseCookie ? browserCookieIn(headers.cookie, { isProduction, protocol, hostname }) : null;
    if (cookie === null) this.fail();
    else this.validate(cookie, !isPolled(browserRequest)).then(this.success.bind(this), this.error.bind(this));
  }

  override async validate(cookie: string, isUse: boolean): Promise<AdmittedAccount> {
    const session = await this.sessions.admitBrowser(cookie, { isUse });
    if (session === null) throw invalidTokenRefusal('session-ended');
    const { id, account, provedAt } = session;
    if (isUse) this.sessions.recordUse(id);
    const isStillAdmitted = async (): Promise<boolean> =>
      (await this.sessions.admitBrowser(cookie, { isUse })) !== null;
    return toAdmittedAccount(account, { kind: 'session', id, provedAt }, isStillAdmitted);
  }
}

/** The bearer token of Fastify's request; null: there is none. @throws Refused `token_invalid` for a token with a wrong syntax */
function wellFormedToken(request: unknown): string | null {
  const token = bearerToken(request as FastifyRequest);
  if (token !== null && !hasJwsSyntax(token)) throw invalidTokenRefusal('syntax');
  return token;
}
