import { Injectable } from '@nestjs/common';
import { SessionsService } from '../../auth/sessions.service.js';
import type { TokenPair } from '../../auth/tokens.service.js';
import { Clock } from '../../kernel/clock.js';
import { secretDigest } from '../../kernel/secret.js';
import type { Client } from '../../platform/access.js';
import { Transaction } from '../../platform/transaction.js';
import { UsersService } from '../../users/users.service.js';
import { isVerifierOf } from './domain/code-challenge.js';
import { OidcStore } from './domain/oidc-store.js';
import { OidcMetrics } from './oidc.metrics.js';
import { OidcSettings } from './oidc-settings.js';

/** `reason` is for the log alone: all three look the same to who guesses. */
export type Redemption =
  | { kind: 'signed-in'; tokens: TokenPair }
  | { kind: 'invalid'; reason: 'unknown' | 'expired' | 'verifier' }
  | { kind: 'deactivated' };

const HOUR_MS = 3_600_000;

/** Gives web clients tokens for the codes that people bring back to them. */
@Injectable()
export class OidcCodesService {
  constructor(
    private readonly settings: OidcSettings,
    private readonly store: OidcStore,
    private readonly users: UsersService,
    private readonly sessions: SessionsService,
    private readonly transaction: Transaction,
    private readonly clock: Clock,
    private readonly metrics: OidcMetrics,
  ) {}

  /** Once: a code that is shown with another verifier is gone, too. */
  async redeem(code: string, verifier: string, client: Client): Promise<Redemption> {
    this.settings.demand();
    // Together: a sign-out by the back channel finds the code, or the session that it has become.
    const redemption = await this.transaction.run(() => this.exchange(code, verifier, client));
    if (redemption.kind === 'signed-in') this.metrics.succeeded('signed_in');
    return redemption;
  }

  private async exchange(code: string, verifier: string, client: Client): Promise<Redemption> {
    const { sessionHours } = this.settings.given;
    const taken = await this.store.takeCode(secretDigest(code));
    if (taken === null) return { kind: 'invalid', reason: 'unknown' };
    if (taken.expiresAt <= this.clock.now()) return { kind: 'invalid', reason: 'expired' };
    if (!isVerifierOf(taken.challenge, verifier)) return { kind: 'invalid', reason: 'verifier' };
    const account = await this.users.find(taken.userId);
    if (account === null) return { kind: 'deactivated' };
    const proof = { provedAt: taken.provedAt, longest: sessionHours * HOUR_MS, by: 'oidc' } as const;
    const opened = await this.sessions.openVouched(account, proof, client);
    if (opened === null) return { kind: 'deactivated' };
    await this.store.keepSession(opened.sessionId, taken.session, this.clock.now());
    return { kind: 'signed-in', tokens: opened.tokens };
  }
}
