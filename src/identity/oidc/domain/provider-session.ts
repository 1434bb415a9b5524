import { type Claims, isAbsent, isIdentifier } from './claims.js';

/** Identifies a person at a provider. */
export interface PersonKey {
  issuer: string;
  subject: string;
}

/** The link of an account to a person. */
export type Link = PersonKey & { linkedAt: Date };

/** The provider's data of a session that began there. */
export interface ProviderSession {
  issuer: string;
  /** The claim `sub`, also if accounts are linked by another claim. */
  subject: string;
  /** The id of the provider's own session; null: it has none. */
  sid: string | null;
  /** The sealed ID token, for the sign-out at the provider; null: the session began with a presented token. */
  idToken: string | null;
  /** The sealed refresh token; null: the provider gave none. */
  refreshToken: string | null;
}

/** A provider session with the time at which its token was issued. */
export type NewProviderSession = ProviderSession & { issuedAt: Date };

/** A session with a refresh token, with which the provider can be asked whether it goes on. */
export interface Recheck {
  userId: number;
  session: ProviderSession & { refreshToken: string };
  /** When the provider was last asked about the session, or authenticated its person. */
  askedAt: Date;
  /** Whether a recheck is due and this call got it; concurrent calls get false. */
  isDue: boolean;
}

/** A sign-in for which a web client gets tokens in exchange for a code. */
export interface SignInCode {
  session: ProviderSession;
  userId: number;
  /** The client's challenge (RFC 7636, S256). */
  challenge: string;
  /** When the person signed in at the provider itself. */
  provedAt: Date;
  expiresAt: Date;
}

/** @param sealed null: the session began with a presented token. @returns null: the claims lack the ids by which the provider ends sessions */
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
