import { Injectable, type OnModuleInit } from '@nestjs/common';
import { SessionsService } from '../../auth/sessions.service.js';
import { Clock } from '../../kernel/clock.js';
import { Refused } from '../../kernel/errors.js';
import { secretDigest } from '../../kernel/secret.js';
import type { Client } from '../../platform/access.js';
import { Transaction } from '../../platform/transaction.js';
import { IdentityProvider } from './domain/identity-provider.js';
import { endedBy } from './domain/logout-token.js';
import { OidcStore } from './domain/oidc-store.js';
import { OidcSettings } from './oidc-settings.js';
import { SealService } from './seal.service.js';

/** Milliseconds for which a logout token is remembered: longer than it is taken. */
const LONGEST_MS = 3_600_000;

/** Signing out, here because of the provider and there because of us. */
@Injectable()
export class OidcLogoutService implements OnModuleInit {
  constructor(
    private readonly settings: OidcSettings,
    private readonly provider: IdentityProvider,
    private readonly store: OidcStore,
    private readonly sessions: SessionsService,
    private readonly seal: SealService,
    private readonly transaction: Transaction,
    private readonly clock: Clock,
  ) {}

  onModuleInit(): void {
    if (this.settings.isOn && this.settings.given.signOutAtProvider) {
      this.sessions.signOutElsewhere((sessionId) => this.signOutUrl(sessionId));
    }
  }

  /**
   * Ends what the provider has ended: one session of its own, of which there may be several here, or all of a person.
   * @throws Refused `logout_token_invalid`, `provider_unavailable`
   */
  async end(token: string, client: Client): Promise<void> {
    const { issuer, clientId } = this.settings.given;
    const verdict = await this.provider.judge(token, clientId, 'logout+jwt');
    if (verdict.kind === 'unavailable') throw new Refused('provider_unavailable');
    if (verdict.kind === 'refused') throw new Refused('logout_token_invalid', { reason: verdict.reason });
    const logout = endedBy(verdict.claims);
    if (logout === null) throw new Refused('logout_token_invalid', { reason: 'claims' });
    const [now, at] = [this.clock.now(), new Date(Number(verdict.claims['iat']) * 1000)];
    await this.transaction.run(async () => {
      const until = new Date(now.getTime() + LONGEST_MS);
      if (!(await this.store.use(secretDigest(`logout ${logout.jti}`), until, now))) {
        throw new Refused('logout_token_invalid', { reason: 'used before' });
      }
      await this.sessions.endVouched(await this.store.endedAt(issuer, logout.ended, at, now), 'oidc', client);
    });
  }

  private async signOutUrl(sessionId: string): Promise<string | null> {
    const session = await this.store.sessionOf(sessionId);
    if (session?.issuer !== this.settings.given.issuer) return null;
    const idToken = session.idToken === null ? null : this.seal.open('id-token', session.idToken);
    return idToken === null ? null : this.provider.signOutUrl(idToken);
  }
}
