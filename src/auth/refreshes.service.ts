import { Injectable } from '@nestjs/common';
import { AuditService } from '../audit/audit.service.js';
import { Clock } from '../kernel/clock.js';
import type { Client } from '../platform/http/access.js';
import { Settings } from '../platform/settings/settings.js';
import { Transaction } from '../platform/database/transaction.js';
import type { TokenFault } from './domain/claims.js';
import { judgeRotation } from './domain/refresh-rotation.js';
import type { PresentedRefresh } from './domain/session.js';
import { SessionStore } from './session.store.js';
import { sessionSubject } from './sessions.service.js';
import { storedId, type TokenPair, TokensService } from './tokens.service.js';

export type Refresh =
  | { kind: 'refreshed'; tokens: TokenPair }
  | { kind: 'expired' }
  | { kind: 'superseded' }
  | { kind: 'invalid'; reason: TokenFault };

/** Rotates refresh tokens. */
@Injectable()
export class RefreshesService {
  constructor(
    private readonly sessions: SessionStore,
    private readonly tokens: TokensService,
    private readonly audit: AuditService,
    private readonly transaction: Transaction,
    private readonly clock: Clock,
    private readonly settings: Settings,
  ) {}

  /** Exchanges a refresh token for the next pair, once (RFC 9700 section 4.14.2). */
  async refresh(refreshToken: string, client: Client): Promise<Refresh> {
    const verdict = this.tokens.readRefreshToken(refreshToken);
    if (verdict.kind !== 'good') return verdict;
    const { jti, userId, sessionId } = verdict.claims;
    const id = storedId(jti);
    const next = this.tokens.nextRefresh(jti);
    const session = await this.sessions.rotate(id, { id: sessionId, userId }, next.stored);
    if (session !== null) return { kind: 'refreshed', tokens: this.tokens.issue(session, next) };
    const found = await this.sessions.findRefresh(id, this.clock.now());
    if (found?.session.userId !== userId || found.session.id !== sessionId) {
      return { kind: 'invalid', reason: 'session-ended' };
    }
    return this.repeatOrRefuse(jti, found, client);
  }

  /** A token that is not live. */
  private async repeatOrRefuse(
    jti: string,
    { session, presented, current }: PresentedRefresh,
    client: Client,
  ): Promise<Refresh> {
    const repeatMs = this.settings.auth.refreshRepeatSeconds * 1_000;
    const verdict = judgeRotation(presented, current, this.clock.now().getTime(), repeatMs);
    if (verdict === 'repeat' && current !== null) {
      const stored = { id: current.id, issuedAt: new Date(current.issuedAt), expiresAt: new Date(current.expiresAt) };
      const living = { ...session, expiresAt: new Date(session.expiresAt) };
      return { kind: 'refreshed', tokens: this.tokens.issue(living, { jti: this.tokens.jtiAfter(jti), stored }) };
    }
    if (verdict === 'expired') return { kind: 'expired' };
    if (verdict !== 'reuse') return { kind: 'superseded' };
    await this.endStolen(session, client);
    return { kind: 'invalid', reason: 'reused' };
  }

  private async endStolen({ id, userId }: PresentedRefresh['session'], client: Client): Promise<void> {
    const [subject, details] = [sessionSubject(id), { user_id: userId }];
    await this.transaction.run(async () => {
      if (!(await this.sessions.end(id, this.clock.now()))) return;
      await this.audit.record({ event: 'refresh_reused', actor: null, subject, origin: client, details });
    });
  }
}
