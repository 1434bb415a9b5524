import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import type { FastifyRequest } from 'fastify';
import { Strategy } from 'passport';
import { Refused } from '../../kernel/errors.js';
import { BROWSER_SESSION } from '../../platform/http/access.guard.js';
import { Settings } from '../../platform/settings.js';
import { type AdmittedAccount, admittedAccount } from '../admitted-account.js';
import { browserCookieIn } from '../domain/browser-cookie.js';
import type { TokenFault } from '../domain/claims.js';
import { SessionUsesService } from '../session-uses.service.js';
import { SessionsService } from '../sessions.service.js';

/** Passport hands on Fastify's request, though its types are Express's. */
type PassportRequest = Parameters<Strategy['authenticate']>[0];

/** Admits the cookie of a browser's session, where no `Authorization` header was sent. */
@Injectable()
export class BrowserSessionStrategy extends PassportStrategy(Strategy, BROWSER_SESSION) {
  constructor(
    private readonly sessions: SessionsService,
    private readonly uses: SessionUsesService,
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
    if (session === null) throw new Refused('token_invalid', { reason: 'session-ended' satisfies TokenFault });
    const { id, account, provedAt } = session;
    this.uses.note(id);
    const isStillAdmitted = async (): Promise<boolean> => (await this.sessions.admitBrowser(cookie)) !== null;
    return admittedAccount(account, { kind: 'session', id, provedAt }, isStillAdmitted);
  }

  private cookieOf({ headers, protocol, hostname }: FastifyRequest): string | null {
    if (!this.settings.console.enabled || headers.authorization !== undefined) return null;
    return browserCookieIn(headers.cookie, { production: this.settings.production, protocol, hostname });
  }
}
