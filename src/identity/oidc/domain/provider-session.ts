import { type Claims, isAbsent, isIdentifier } from './claims.js';

export interface PersonKey {
  issuer: string;
  subject: string;
}

export type Link = PersonKey & { linkedAt: Date };

/** The identity provider's data about a session that began with a sign-in at the provider. */
export interface ProviderSession {
  issuer: string;
  /** The claim `sub`, even if the settings link accounts by another claim. */
  subject: string;
  /** The provider's id of its own session; null: the provider gave none. */
  sid: string | null;
  /** The sealed ID token, for the sign-out at the provider; null: the session began with a presented token. */
  idToken: string | null;
  /** The sealed refresh token; null: the provider gave none. */
  refreshToken: string | null;
}

/** A provider session with the time at which its token was issued. */
export type NewProviderSession = ProviderSession & { issuedAt: Date };

/** A session that is rechecked: the provider is asked to renew the session's refresh token, and a refusal ends the session. */
export interface Recheck {
  userId: number;
  session: ProviderSession & { refreshToken: string };
  /** When the provider last authenticated the person, or was last asked to renew the token, whichever is later. */
  askedAt: Date;
  /** Whether a recheck is due and the caller must make it. Only one of several concurrent callers gets true. */
  isDue: boolean;
}

/** A finished sign-in that waits until the web client exchanges its code for tokens. */
export interface SignInCode {
  session: ProviderSession;
  userId: number;
  /** The web client's challenge (RFC 7636, S256). */
  challenge: string;
  /** When the person signed in at the provider itself. */
  provedAt: Date;
  expiresAt: Date;
}

/**
 * The data about a session from verified claims.
 * @param sealedTokens the provider's tokens, sealed; null: the session began with a presented token
 * @returns null: `sub` or `sid`, by which the provider ends sessions, is invalid
 */
export function providerSessionOf(
  { sub, sid, iat }: Claims,
  issuer: string,
  sealedTokens: Pick<ProviderSession, 'idToken' | 'refreshToken'> | null,
): NewProviderSession | null {
  if (!isIdentifier(sub)) return null;
  const issuedAt = new Date(Number(iat) * 1000);
  const sessionFields = { issuer, subject: sub, issuedAt, ...(sealedTokens ?? { idToken: null, refreshToken: null }) };
  if (isAbsent(sid)) return { ...sessionFields, sid: null };
  return isIdentifier(sid) ? { ...sessionFields, sid } : null;
}
