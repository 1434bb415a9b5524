import { Injectable } from '@nestjs/common';
import { AuditService } from '../../audit/audit.service.js';
import type { AuditContext, AuditSubject } from '../../audit/domain/audit-event.js';
import { invalidTokenRefusal } from '../../auth/domain/claims.js';
import { SessionsService } from '../../auth/sessions.service.js';
import { Registry } from 'prom-client';
import { Clock, Timers } from '../../kernel/clock.js';
import { orNotFound, Refused } from '../../kernel/errors.js';
import { IdSource } from '../../kernel/ids.js';
import type { AuthenticatedUser } from '../../platform/http/access.js';
import { KeyedDigests } from '../../platform/settings/keyed-digests.js';
import { liveGauge } from '../../platform/operations/metrics.js';
import { Settings } from '../../platform/settings/settings.js';
import { Transaction } from '../../platform/database/transaction.js';
import { UserStore } from '../../users/user.store.js';
import { ApiTokenStore } from './api-token.store.js';
import {
  type ApiToken,
  checkNewToken,
  DAY_MS,
  isTokenId,
  MAX_TOKENS,
  TOKEN_BYTES,
  newTokenText,
  type RequestedToken,
} from './domain/api-token.js';

const MAX_UNUSED_DAYS = 90;

/** Milliseconds for which a metrics scrape waits for the database, as long as the health check of the database. */
const DEADLINE_MS = 2_000;

@Injectable()
export class ApiTokensService {
  constructor(
    private readonly store: ApiTokenStore,
    private readonly users: UserStore,
    private readonly audit: AuditService,
    private readonly transaction: Transaction,
    private readonly idSource: IdSource,
    private readonly clock: Clock,
    private readonly digests: KeyedDigests,
    private readonly settings: Settings,
    private readonly timers: Timers,
    sessions: SessionsService,
    registry: Registry,
  ) {
    sessions.revokeTokens = (userId, context) => this.revokeAllOf(userId, context);
    const help =
      'API tokens of administrators not used for 90 days, or living longer than `AUTH_TOKEN_MAX_DAYS`; NaN: the database does not say.';
    liveGauge(registry, 'grantline_stale_administrator_tokens', help, () => this.countStaleTokens());
  }

  /** @returns the new token and its text, which is not stored. @throws Refused `token_invalid` if the session has ended meanwhile */
  async create(
    user: AuthenticatedUser,
    requestedToken: RequestedToken,
    context: AuditContext,
  ): Promise<{ token: ApiToken; text: string }> {
    const now = this.clock.now();
    checkNewToken(requestedToken, user.role, { now, maxDays: this.settings.auth.tokenMaxDays });
    const { id, text } = newTokenText(this.idSource.bytes(TOKEN_BYTES));
    const token: ApiToken = { id, ...requestedToken, createdAt: now, lastUsedAt: null };
    return this.transaction.run(async () => {
      const outcome = await this.store.add(user.id, token, this.digests.digestOf('api-token', text));
      if (outcome === 'too-many') {
        throw new Refused('too_many_tokens', { detail: `Nobody has more than ${MAX_TOKENS}: revoke one first.` });
      }
      // The session is checked again: `add` may have waited for a concurrent password change, which ends sessions and existing tokens.
      if (outcome === 'not-active' || !(await user.isStillAdmitted())) {
        throw invalidTokenRefusal('session-ended');
      }
      const details = { scopes: token.scopes, expires_at: token.expiresAt.toISOString() };
      await this.audit.record({ event: 'token_created', ...context, subject: tokenSubject(token), details });
      return { token, text };
    });
  }

  /** @throws Refused `not_found` */
  async listOf(userId: number): Promise<ApiToken[]> {
    orNotFound(await this.users.find(userId));
    return this.store.listOf(userId);
  }

  /** Revokes a token from the next request on. Records no event if it was revoked before. @throws Refused `not_found` */
  async revoke(userId: number, id: string, context: AuditContext): Promise<void> {
    if (!isTokenId(id)) throw new Refused('not_found');
    await this.transaction.run(async () => {
      const token = await this.store.revoke(userId, id, this.clock.now());
      if (token === 'unknown') throw new Refused('not_found');
      if (token !== 'had-ended') await this.recordRevoked(userId, [token], context);
    });
  }

  private async revokeAllOf(userId: number, context: AuditContext): Promise<number> {
    const revokedTokens = await this.store.revokeAllOf(userId, this.clock.now());
    await this.recordRevoked(userId, revokedTokens, context);
    return revokedTokens.length;
  }

  private recordRevoked(userId: number, tokens: readonly ApiToken[], context: AuditContext): Promise<void> {
    const event = { event: 'token_revoked', ...context, details: { user_id: userId } } as const;
    return this.audit.recordAll(tokens.map((token) => ({ ...event, subject: tokenSubject(token) })));
  }

  /** The number of stale tokens. NaN while the database does not answer, because 0 would mean that no token is stale. */
  private async countStaleTokens(): Promise<number> {
    const now = this.clock.now();
    const unusedSince = new Date(now.getTime() - MAX_UNUSED_DAYS * DAY_MS);
    const latestExpiry = new Date(now.getTime() + this.settings.auth.tokenMaxDays * DAY_MS);
    let staleCount = Number.NaN;
    const countPromise = this.store.countStaleTokens(now, unusedSince, latestExpiry);
    const storedCount = countPromise.then((count) => (staleCount = count));
    await this.timers.waitAtMost(DEADLINE_MS, storedCount).catch(() => undefined);
    return staleCount;
  }
}

function tokenSubject({ id, name }: ApiToken): AuditSubject {
  return { type: 'token', id, name };
}
