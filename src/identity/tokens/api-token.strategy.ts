import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import type { FastifyRequest } from 'fastify';
import { Strategy } from 'passport';
import { invalidTokenRefusal } from '../../auth/domain/claims.js';
import { type AdmittedAccount, toAdmittedAccount } from '../../auth/sessions.service.js';
import { Clock } from '../../kernel/clock.js';
import { Refused } from '../../kernel/errors.js';
import { API_TOKEN } from '../../platform/http/access.js';
import { bearerToken } from '../../platform/http/bearer-token.js';
import { KeyedDigests } from '../../platform/settings/keyed-digests.js';
import { Settings } from '../../platform/settings/settings.js';
import { ApiTokenStore } from './api-token.store.js';
import { type AdmittedToken, DAY_MS, idInToken } from './domain/api-token.js';

/** Admits an unexpired API token of an active account, unless its owner has not signed in at the identity provider for too long. */
@Injectable()
export class ApiTokenStrategy extends PassportStrategy(Strategy, API_TOKEN) {
  constructor(
    private readonly tokens: ApiTokenStore,
    private readonly clock: Clock,
    private readonly digests: KeyedDigests,
    private readonly settings: Settings,
  ) {
    super();
  }

  /** Called by passport with Fastify's request. */
  override authenticate(request: unknown): void {
    this.validate(request as FastifyRequest).then(this.success.bind(this), this.error.bind(this));
  }

  override async validate(request: FastifyRequest): Promise<AdmittedAccount> {
    const tokenText = bearerToken(request) ?? '';
    const id = idInToken(tokenText);
    if (id === null) throw invalidTokenRefusal('token-form');
    const digest = this.digests.digestOf('api-token', tokenText);
    const findToken = (): Promise<AdmittedToken | null> => {
      const now = this.clock.now();
      const maxDays = this.settings.oidc?.tokenDays ?? null;
      return this.tokens.admit(id, digest, now, maxDays === null ? null : new Date(now.getTime() - maxDays * DAY_MS));
    };
    const token = await findToken();
    if (token === null) throw invalidTokenRefusal('token-unknown');
    if (token.hasExpired) throw new Refused('token_expired');
    if (token.isOwnerAway)
      throw invalidTokenRefusal('owner-away', 'Sign in at the identity provider: its owner has not for too long.');
    const { account, name, scopes } = token;
    return toAdmittedAccount(account, { kind: 'token', id, name, scopes }, async () => {
      const currentToken = await findToken();
      return currentToken !== null && !currentToken.hasExpired && !currentToken.isOwnerAway;
    });
  }
}
