import { timingSafeEqual } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { Refused } from '../../kernel/errors.js';
import { type Secret, secretDigest } from '../../kernel/secret.js';

/**
 * The token of the one `Authorization: Bearer` header (RFC 6750 section 2.1: one b64token and nothing else). Null: no bearer
 * token was sent. Node silently keeps the first of several such headers; here several are refused.
 * @throws Refused `token_invalid`
 */
export function bearerToken({ raw: { headers, rawHeaders } }: Pick<FastifyRequest, 'raw'>): string | null {
  const header = headers.authorization;
  if (header === undefined) return null;
  if (rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'authorization').length > 1) {
    const detail = 'There must be exactly one Authorization header.';
    throw new Refused('token_invalid', { detail, reason: 'several-headers' });
  }
  if (!/^bearer(\s|$)/i.test(header)) return null;
  const token = /^bearer +([\w.~+/-]+=*)$/i.exec(header)?.[1];
  if (token === undefined) throw new Refused('token_invalid', { reason: 'syntax' });
  return token;
}

/** Whether the Authorization header has a token with the prefix of API tokens, which a JWT cannot have. */
export function hasApiToken({ raw: { headers } }: Pick<FastifyRequest, 'raw'>): boolean {
  return /^bearer +glt_/i.test(headers.authorization ?? '');
}

/** Configured tokens. A client must present one of them. There are two while one is being replaced. */
export class SharedTokens {
  private readonly digests: readonly Buffer[];

  constructor(tokens: readonly Secret[]) {
    this.digests = tokens.map((token) => secretDigest(token.reveal()));
  }

  get isEmpty(): boolean {
    return this.digests.length === 0;
  }

  /** Whether `token` is one of the configured tokens. Compares all, so that the time does not reveal which one matches. */
  include(token: string): boolean {
    const digest = secretDigest(token);
    return this.digests.map((each) => timingSafeEqual(each, digest)).includes(true);
  }
}
