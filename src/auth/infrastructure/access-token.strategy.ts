import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import type { FastifyRequest } from 'fastify';
import { Strategy } from 'passport-jwt';
import { Clock } from '../../kernel/clock.js';
import { Refused } from '../../kernel/errors.js';
import { ACCESS_TOKEN } from '../../platform/access.guard.js';
import { judgeClaims } from '../domain/claims.js';
import { SessionStore } from '../domain/session-store.js';
import { hasTokenForm } from '../domain/token-form.js';
import type { SignedInPerson } from '../signed-in.js';
import { SigningKey } from './signing-key.js';

/** Who may come in: a good signature, good claims, a living session of an active account. */
@Injectable()
export class AccessTokenStrategy extends PassportStrategy(Strategy, ACCESS_TOKEN) {
  constructor(
    signingKey: SigningKey,
    private readonly sessions: SessionStore,
    private readonly clock: Clock,
  ) {
    super({
      jwtFromRequest: bearerToken,
      // The types know no KeyObject; jsonwebtoken, which it is handed to, does.
      secretOrKey: signingKey.key as unknown as Buffer,
      algorithms: ['HS256'],
      // judgeClaims demands `exp` and judges it by the clock that was handed in; the library would let one without pass.
      ignoreExpiration: true,
    });
  }

  /** passport calls it with the payload once the signature is good. */
  async validate(payload: unknown): Promise<SignedInPerson> {
    const now = this.clock.now();
    const verdict = judgeClaims(payload, 'access', now);
    if (verdict.kind !== 'good') throw new Refused(verdict.kind === 'expired' ? 'token_expired' : 'token_invalid');
    const { userId, sessionId } = verdict.claims;
    const account = await this.sessions.admit(sessionId, userId, now);
    if (account === null) throw new Refused('token_invalid');
    const { id, username, role, oneTimeUntil } = account;
    return { id, username, role, sessionId, mustChangePassword: oneTimeUntil !== null, account };
  }
}

/**
 * The token of the one `Authorization: Bearer` header (RFC 6750 section 2.1: one b64token and nothing else). Null: no bearer
 * token was sent. Node keeps the first of several such headers without a word; here several are refused.
 */
function bearerToken({ raw }: Pick<FastifyRequest, 'raw'>): string | null {
  const header = raw.headers.authorization;
  if (header === undefined) return null;
  if (raw.rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === 'authorization').length > 1) {
    throw new Refused('token_invalid', { detail: 'There must be exactly one Authorization header.' });
  }
  if (!/^bearer(\s|$)/i.test(header)) return null;
  const token = /^bearer +([\w.~+/-]+=*)$/i.exec(header)?.[1];
  if (token === undefined || !hasTokenForm(token)) throw new Refused('token_invalid');
  return token;
}
