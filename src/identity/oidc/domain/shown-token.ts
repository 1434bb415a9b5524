import { isAbsent } from './identifiers.js';
import type { Claims } from './identity-provider.js';

/** Why a token of the provider's that a client shows opens no session: codes of the API. */
export const EXCHANGE_FAILURES = [
  'token_invalid',
  'token_expired',
  'clocks_differ',
  'token_wrong_audience',
  'token_used',
  'token_without_subject',
  'token_of_program',
  'name_missing',
  'name_invalid',
  'name_taken',
  'account_missing',
  'account_deactivated',
  'busy',
  'provider_unavailable',
] as const;

export type ExchangeFailure = (typeof EXCHANGE_FAILURES)[number];

/** Of ID and access tokens (RFC 9068). A type may have its prefix, and any case (RFC 7515 section 4.1.9). */
const TYPES = /^(application\/)?(at\+)?jwt$/i;

/**
 * What is wrong with a token whose signature, issuer, audience and times are good: it must be an ID or access token of a person.
 * @param type of its header @param own the service's client at the provider @returns null: nothing
 */
export function shownTokenFault(
  { typ, events, client_id, sid, idtyp, nonce, azp, aud, cnf }: Claims,
  type: unknown,
  own: string,
): { code: ExchangeFailure; reason: string } | null {
  const isOther = events !== undefined || (type !== undefined && !(typeof type === 'string' && TYPES.test(type)));
  if (isOther) return { code: 'token_invalid', reason: 'of another type' };
  if (typ !== undefined && typ !== 'ID' && typ !== 'Bearer') return { code: 'token_invalid', reason: 'typ' };
  // Addresses for signing out hold it, and those are in logs and histories of browsers.
  const isForUs = azp === undefined ? [aud].flat().includes(own) : azp === own;
  if (nonce !== undefined && isForUs) return { code: 'token_invalid', reason: 'of a sign-in here' };
  // Whoever shows it would have to prove that it has the key (RFC 7800).
  if (cnf !== undefined) return { code: 'token_invalid', reason: 'bound to a key' };
  // Keycloak names the client and no session of anybody's; Microsoft Entra says it.
  if (idtyp === 'app') return { code: 'token_of_program', reason: 'idtyp' };
  return client_id !== undefined && isAbsent(sid) ? { code: 'token_of_program', reason: 'client_id' } : null;
}
