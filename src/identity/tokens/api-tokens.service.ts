import { Injectable } from '@nestjs/common';
import { AuditService } from '../../audit/audit.service.js';
import type { AuditContext, AuditSubject } from '../../audit/domain/audit-event.js';
import { invalidToken } from '../../auth/domain/claims.js';
import { SessionsService } from '../../auth/sessions.service.js';
import { Registry } from 'prom-client';
import { Clock, Timers } from '../../kernel/clock.js';
import { orNotFound, Refused } from '../../kernel/errors.js';
import { Ids } from '../../kernel/ids.js';
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
  MOST_TOKENS,
  TOKEN_BYTES,
  newTokenText,
  type WantedToken,
} from './domain/api-token.js';

const UNUSED_DAYS = 90;

/** Milliseconds within which the database must answer a metrics scrape, as long as its health check takes at most. */
const DEADLINE = 2_000;

/** Creates, lists and revokes the API tokens of accounts. */
@Injectable()
export class ApiTokensService {
  constructor(
    private readonly store: ApiTokenStore,
    private readonly users: UserStore,
    private readonly audit: AuditService,
    private readonly transaction: Transaction,
    private readonly ids: Ids,
    private readonly clock: Clock,
    private readonly digests: KeyedDigests,
    private readonly settings: Settings,
    private readonly timers: Timers,
    sessions: SessionsService,
    registry: Registry,
  ) {
    sessions.revokeTokens = (userId) => this.store.revokeAllOf(userId, this.clock.now());
    const help =
      'API tokens of administrators not used for 90 days, or living longer than `AUTH_TOKEN_MAX_DAYS`; NaN: the database does not say.';
    liveGauge(registry, 'grantline_stale_administrator_tokens', help, () => this.countStale());
  }

  /** @returns the token, with its text, which is stored nowhere. @throws Refused `token_invalid` if the session has ended meanwhile */
  async create(
    user: AuthenticatedUser,
    wanted: WantedToken,
    by: AuditContext,
  ): Promise<{ token: ApiToken; text: string }> {
    const now = this.clock.now();
    checkNewToken(wanted, user.role, { now, maxDays: this.settings.auth.tokenMaxDays });
    const { id, text } = newTokenText(this.ids.bytes(TOKEN_BYTES));
    const token: ApiToken = { id, ...wanted, createdAt: now, lastUsedAt: null };
    return this.transaction.run(async () => {
      const outcome = await this.store.add(user.id, token, this.digests.digestOf('api-token', text));
      if (outcome === 'too-many') {
        throw new Refused('too_many_tokens', { detail: `Nobody has more than ${MOST_TOKENS}: revoke one first.` });
      }
      // A concurrent password change, which ends sessions and existing tokens, may have locked the account until now.
      if (outcome === 'not-active' || !(await user.isStillAdmitted())) {
        throw invalidToken('session-ended');
      }
      const details = { scopes: token.scopes, expires_at: token.expiresAt.toISOString() };
      await this.audit.record({ event: 'token_created', ...by, subject: tokenSubject(token), details });
      return { token, text };
    });
  }

  listOf(userId: number): Promise<ApiToken[]> {
    return this.store.listOf(userId);
  }

  /** @throws Refused `not_found` */
  async listOfAccount(userId: number): Promise<ApiToken[]> {
    orNotFound(await this.users.find(userId));
    return this.listOf(userId);
  }

  /** Revokes a token from the next request on. Records no event if it was revoked before. @throws Refused `not_found` */
  async revoke(userId: number, id: string, by: AuditContext): Promise<void> {
    if (!isTokenId(id)) throw new Refused('not_found');
    await this.transaction.run(async () => {
      const token = await this.store.revoke(userId, id, this.clock.now());
      if (token === 'unknown') throw new Refused('not_found');
      if (token === 'had-ended') return;
      const details = { user_id: userId };
      await this.audit.record({ event: 'token_revoked', ...by, subject: tokenSubject(token), details });
    });
  }

  /** The number of stale tokens. NaN while the database does not answer, because 0 would mean that no token is stale. */
  private async countStale(): Promise<number> {
    const now = this.clock.now();
    const unusedSince = new Date(now.getTime() - UNUSED_DAYS * DAY_MS);
    const latestExpiry = new Date(now.getTime() + this.settings.auth.tokenMaxDays * DAY_MS);
    let stale = Number.NaN;
    const counting = this.store.countStale(now, unusedSince, latestExpiry);
    const counted = counting.then((count) => (stale = count));
    await this.timers.waitAtMost(DEADLINE, counted).catch(() => undefined);
    return stale;
  }
}

function tokenSubject({ id, name }: ApiToken): AuditSubject {
  return { type: 'token', id, name };
}
