import { isAbsent, isIdentifier } from './identifiers.js';
import type { Claims } from './identity-provider.js';
import type { NewProviderSession, ProviderSession } from './oidc-store.js';

/** What is kept of a session that began at the provider. @param sealed null: a token was shown. @returns null: it could not be found when the provider ends it */
export function providerSessionOf(
  { sub, sid, iat }: Claims,
  issuer: string,
  sealed: Pick<ProviderSession, 'idToken' | 'refreshToken'> | null,
): NewProviderSession | null {
  if (!isIdentifier(sub)) return null;
  const issuedAt = new Date(Number(iat) * 1000);
  const kept = { issuer, subject: sub, issuedAt, ...(sealed ?? { idToken: null, refreshToken: null }) };
  if (isAbsent(sid)) return { ...kept, sid: null };
  return isIdentifier(sid) ? { ...kept, sid } : null;
}
