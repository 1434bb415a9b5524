import { isAbsent, isIdentifier } from './identifiers.js';
import type { Claims } from './identity-provider.js';
import type { ProviderSession } from './oidc-store.js';

/** What is kept of a session that began at the provider. @param idToken sealed, where people sign out there by it. @returns null: it could not be found when the provider ends it */
export function providerSessionOf(
  { sub, sid }: Claims,
  issuer: string,
  idToken: string | null,
): ProviderSession | null {
  if (!isIdentifier(sub)) return null;
  if (isAbsent(sid)) return { issuer, subject: sub, sid: null, idToken };
  return isIdentifier(sid) ? { issuer, subject: sub, sid, idToken } : null;
}
