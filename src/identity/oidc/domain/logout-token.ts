import type { Claims } from './identity-provider.js';
import { isAbsent, isIdentifier } from './identifiers.js';

/** What the provider ends: one session of its own, or all of a person. */
export type EndedAtProvider = { sid: string } | { subject: string };

/** The member of `events` that makes a token one of these. */
const EVENT = 'http://schemas.openid.net/event/backchannel-logout';

/** OpenID Connect Back-Channel Logout 1.0 section 2.6, of a token whose signature, issuer, audience and times are good. @returns null: it is none */
export function endedBy({ jti, sid, sub, events, nonce }: Claims): { jti: string; ended: EndedAtProvider } | null {
  const isLogout = typeof events === 'object' && events !== null && isObject((events as Claims)[EVENT]);
  // A nonce marks an ID token, which must not end anything.
  if (!isLogout || nonce !== undefined || typeof jti !== 'string' || jti === '') return null;
  if (isAbsent(sid)) return isIdentifier(sub) ? { jti, ended: { subject: sub } } : null;
  return isIdentifier(sid) ? { jti, ended: { sid } } : null;
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
