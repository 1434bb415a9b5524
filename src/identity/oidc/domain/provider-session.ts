import { type Claims, isAbsent, isIdentifier } from './claims.js';

/** A person at a provider. */
export interface PersonKey {
  issuer: string;
  subject: string;
}

/** The person of an account. */
export type Link = PersonKey & { linkedAt: Date };

/** A session that began at the provider, by the provider's names. */
export interface ProviderSession {
  issuer: string;
  /** The claim `sub`, also where people are linked by another claim. */
  subject: string;
  /** The id of the provider's own session; null: it has none. */
  sid: string | null;
  /** Sealed, for the sign-out at the provider; null: the session began with a presented token. */
  idToken: string | null;
  /** Sealed; null: the provider gave none. */
  refreshToken: string | null;
}

/** A provider session with the time at which its token was issued. */
export type NewProviderSession = ProviderSession & { issuedAt: Date };

/** A session that the provider can be asked about. */
export interface Recheck {
  userId: number;
  session: ProviderSession & { refreshToken: string };
  /** When the provider was last asked, or vouched for the session. */
  askedAt: Date;
  /** `askedAt` is long enough ago, and this call has taken the recheck. */
  isDue: boolean;
}

/** A sign-in that a web client exchanges for tokens by a code. */
export interface SignInCode {
  session: ProviderSession;
  userId: number;
  /** The client's challenge (RFC 7636, S256). */
  challenge: string;
  /** When the person signed in at the provider itself. */
  provedAt: Date;
  expiresAt: Date;
}

/** @param sealed null: the session began with a presented token. @returns null: without valid ids the provider could not end it later */
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
