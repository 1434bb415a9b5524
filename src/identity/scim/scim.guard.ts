import { timingSafeEqual } from 'node:crypto';
import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Refused } from '../../kernel/errors.js';
import { secretDigest } from '../../kernel/secret.js';
import { bearerToken } from '../../platform/bearer-token.js';
import { Settings } from '../../platform/settings.js';

/** Opens the routes to the identity provider's token. Without such a setting there are no routes. */
@Injectable()
export class ScimGuard implements CanActivate {
  private readonly digests: readonly Buffer[];

  constructor(settings: Settings) {
    this.digests = settings.scim.tokens.map((token) => secretDigest(token.reveal()));
  }

  canActivate(context: ExecutionContext): boolean {
    if (this.digests.length === 0) throw new Refused('not_found');
    const http = context.switchToHttp();
    const request = http.getRequest<FastifyRequest>();
    const token = bearerToken(request);
    if (token === null) throw new Refused('token_missing', { detail: 'The token of SCIM is missing.' });
    const shown = secretDigest(token);
    // Each is compared: which one it is takes no other time.
    const isOurs = this.digests.map((digest) => timingSafeEqual(digest, shown)).includes(true);
    if (!isOurs) throw new Refused('token_invalid', { detail: 'The token of SCIM is another one.', reason: 'scim' });
    void http.getResponse<FastifyReply>().type('application/scim+json; charset=utf-8');
    return true;
  }
}
