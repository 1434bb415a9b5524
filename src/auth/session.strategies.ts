import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import type { FastifyRequest } from 'fastify';
import { Strategy as CustomStrategy } from 'passport';
import { Strategy as JwtStrategy } from 'passport-jwt';
import { Clock } from '../kernel/clock.js';
import { bearerToken } from '../platform/http/bearer-token.js';
import { ACCESS_TOKEN, BROWSER_SESSION } from '../platform/http/access.guard.js';
import { Settings } from '../platform/settings/settings.js';
import { browserCookieIn } from './domain/browser-cookie.js';
import { hasJwsSyntax, invalidToken, judgeClaims } from './domain/claims.js';
import { type AdmittedAccount, admittedAccount, SessionsService } from './sessions.service.js';
import { SigningKey } from './tokens.service.js';

/** Admits an access token with a valid signature and valid claims, of a live session of an active account. */
@Injectable()
export class AccessTokenStrategy extends PassportStrategy(JwtStrategy, ACCESS_TOKEN) {
  constructor(
    signingKey: SigningKey,
    private readonly sessions: SessionsService,
    private readonly clock: Clock,
  ) {
    super({
      jwtFromRequest: wellFormedToken,
      // The types lack KeyObject, which jsonwebtoken accepts.
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
    if (account === null) throw invalidToken('session-ended');
    this.sessions.noteUse(session.id);
    const isStillAdmitted = async (): Promise<boolean> => (await this.sessions.accountOf(session)) !== null;
    return admittedAccount(account, { kind: 'session', id: session.id, provedAt: account.provedAt }, isStillAdmitted);
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
    const { headers, protocol, hostname } = request as FastifyRequest;
    const { production, console } = this.settings;
    const isAsked = console.enabled && headers.authorization === undefined;
    const cookie = isAsked ? browserCookieIn(headers.cookie, { production, protocol, hostname }) : null;
    if (cookie === null) this.fail();
    else this.validate(cookie).then(this.success.bind(this), this.error.bind(this));
  }

  override async validate(cookie: string): Promise<AdmittedAccount> {
    const session = await this.sessions.admitBrowser(cookie);
    if (session === null) throw invalidToken('session-ended');
    const { id, account, provedAt } = session;
    this.sessions.noteUse(id);
    const isStillAdmitted = async (): Promise<boolean> => (await this.sessions.admitBrowser(cookie)) !== null;
    return admittedAccount(account, { kind: 'session', id, provedAt }, isStillAdmitted);
  }
}

/** The bearer token of Fastify's request, which passport passes on. */
function wellFormedToken(request: unknown): string | null {
  const token = bearerToken(request as FastifyRequest);
  if (token !== null && !hasJwsSyntax(token)) throw invalidToken('syntax');
  return token;
}
