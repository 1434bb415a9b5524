import { hash } from 'node:crypto';
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

/** Our tokens have some 330 characters. */
const MAX_LENGTH = 512;

/**
 * A cache of the payloads of tokens whose syntax and signature were verified: neither can change while the key is the same.
 * Claims and session are judged at every request. Keyed by digest, so that no token stays in memory, and an entry has less
 * than a kibibyte.
 */
export class VerifiedTokens {
  private readonly payloads = new Map<string, unknown>();

  /** @param capacity how many are remembered; the oldest is forgotten first */
  constructor(private readonly capacity = 10_000) {}

  /** Undefined: it must be verified. */
  payloadOf(token: string): unknown {
    return this.payloads.get(digest(token));
  }

  /** To be called with the verified payload of this token. */
  remember(token: string, payload: unknown): void {
    if (token.length > MAX_LENGTH) return;
    if (this.payloads.size >= this.capacity) {
      const oldest = this.payloads.keys().next();
      if (oldest.done !== true) this.payloads.delete(oldest.value);
    }
    this.payloads.set(digest(token), payload);
  }
}

function digest(token: string): string {
  return hash('sha256', token, 'base64url');
}

/** Passport hands on Fastify's request, though its types are Express's. */
type PassportRequest = Parameters<CustomStrategy['authenticate']>[0];

/** Admits a valid signature with valid claims, of a live session of an active account. */
@Injectable()
export class AccessTokenStrategy extends PassportStrategy(JwtStrategy, ACCESS_TOKEN) {
  private readonly verified = new VerifiedTokens();

  constructor(
    signingKey: SigningKey,
    private readonly sessions: SessionsService,
    private readonly clock: Clock,
  ) {
    super({
      jwtFromRequest: wellFormedToken,
      // The types know no KeyObject; jsonwebtoken, which it is handed to, does.
      secretOrKey: signingKey.key as unknown as Buffer,
      algorithms: ['HS256'],
      // judgeClaims demands `exp` and judges it by the clock that was handed in; the library would accept a token without it.
      ignoreExpiration: true,
      passReqToCallback: true,
    });
  }

  /** Called by passport. A token whose syntax and signature were verified before is judged by its claims and session only. */
  override authenticate(request: PassportRequest, options?: unknown): void {
    const token = tokenOf(request);
    const payload = token === null ? undefined : this.verified.payloadOf(token);
    if (payload === undefined) super.authenticate(request, options);
    else this.admit(payload).then(this.success.bind(this), this.error.bind(this));
  }

  /** Called by passport with the payload of a token whose signature is good. */
  validate(request: PassportRequest, payload: unknown): Promise<AdmittedAccount> {
    const token = tokenOf(request);
    if (token !== null) this.verified.remember(token, payload);
    return this.admit(payload);
  }

  private async admit(payload: unknown): Promise<AdmittedAccount> {
    const { sessionId, userId } = judgeClaims(payload, 'access', this.clock.now());
    const session = { id: sessionId, userId };
    const account = await this.sessions.accountOf(session);
    if (account === null) throw invalidToken('session-ended');
    this.sessions.noteUse(session.id);
    const isStillAdmitted = async (): Promise<boolean> => (await this.sessions.accountOf(session)) !== null;
    return admittedAccount(account, { kind: 'session', id: session.id, provedAt: account.provedAt }, isStillAdmitted);
  }
}

/** Admits the cookie of a browser's session, where no `Authorization` header was sent. */
@Injectable()
export class BrowserSessionStrategy extends PassportStrategy(CustomStrategy, BROWSER_SESSION) {
  constructor(
    private readonly sessions: SessionsService,
    private readonly settings: Settings,
  ) {
    super();
  }

  override authenticate(request: PassportRequest): void {
    const cookie = this.cookieOf(request as unknown as FastifyRequest);
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

  private cookieOf({ headers, protocol, hostname }: FastifyRequest): string | null {
    if (!this.settings.console.enabled || headers.authorization !== undefined) return null;
    return browserCookieIn(headers.cookie, { production: this.settings.production, protocol, hostname });
  }
}

function wellFormedToken(request: PassportRequest): string | null {
  const token = tokenOf(request);
  if (token !== null && !hasJwsSyntax(token)) throw invalidToken('syntax');
  return token;
}

function tokenOf(request: PassportRequest): string | null {
  return bearerToken(request as unknown as FastifyRequest);
}
