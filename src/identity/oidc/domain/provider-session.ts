import type { Claims } from './identity-provider.js';
import type { ProviderSession } from './oidc-store.js';

/** What is kept of a session that began at the provider. @param idToken sealed */
export function providerSessionOf(claims: Claims, issuer: string, idToken: string): ProviderSession {
  return { issuer, subject: String(claims['sub']), sid: textOrNull(claims['sid']), idToken };
}

function textOrNull(claim: unknown): string | null {
  return typeof claim === 'string' && claim !== '' ? claim : null;
}
