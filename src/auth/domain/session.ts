import { Refused } from '../../kernel/errors.js';
import type { Account } from '../../users/domain/account.js';
import type { RefreshRow } from './refresh-rotation.js';

/** A sign-in and all tokens that are refreshed from it (a token family). */
export interface Session {
  id: string;
  userId: number;
  createdAt: Date;
  /** Refreshing the session's tokens does not move this time. */
  expiresAt: Date;
  userAgent: string | null;
  address: string;
}

/** The fields of a session that its tokens need. */
export type TokenSession = Pick<Session, 'id' | 'userId' | 'expiresAt'>;

export interface SessionView extends Session {
  /** Number by which lists are sorted. Newer sessions have higher numbers. */
  number: number;
  /** The last use of a browser's session. For a session with tokens: the last refresh, or else the sign-in. */
  lastUsedAt: Date;
}

/** A refresh token to be stored. `id` is the digest of its `jti`. */
export interface NewRefreshToken {
  id: string;
  issuedAt: Date;
  expiresAt: Date;
}

/** A session of the web console, found by its cookie. */
export interface BrowserSession {
  id: string;
  account: Account;
  /** When the person last gave the password or signed in at the provider. */
  provedAt: Date;
}

/** The authentication of the person at the start of a session. */
export interface StoredProof {
  /** The hash that the password was checked against; null: the identity provider authenticated the person. */
  checkedHash: string | null;
  /** Time of the person's last authentication. Null: the person signed in by password at the API, so the session never needs a recent authentication. */
  provedAt: Date | null;
}

export interface SignInProof extends StoredProof {
  /** An additional limit of the session's lifetime, in milliseconds. */
  maxLifetimeMs?: number;
  /** The way of signing in, for the audit event; null: by password at the API. */
  method: 'console' | 'oidc' | 'exchange' | null;
}

/** The account of a session, with the time of the person's last authentication. */
export type SessionAccount = Account & Pick<StoredProof, 'provedAt'>;

/** The stored rows of a presented refresh token and of its session's live token. */
export interface PresentedRefresh {
  /** `expiresAt` in milliseconds since 1970. */
  session: Pick<Session, 'id' | 'userId'> & { expiresAt: number };
  presentedToken: RefreshRow;
  /** The session's live token; null: there is none. */
  currentToken: RefreshRow | null;
}

/** Milliseconds for which an authentication (a proof) counts as recent. */
const RECENT_PROOF_MS = 5 * 60_000;

export function isRecentProof(provedAt: Date, now: Date): boolean {
  return now.getTime() - provedAt.getTime() <= RECENT_PROOF_MS;
}

/** @throws Refused `reauthentication_required` if the session's last authentication is too old, and for every API token */
export function requireRecentProof(
  { credential }: { credential: { kind: 'session'; provedAt: Date | null } | { kind: 'token' } },
  now: Date,
): void {
  const hasRecentProof =
    credential.kind === 'session' && (credential.provedAt === null || isRecentProof(credential.provedAt, now));
  if (!hasRecentProof) throw new Refused('reauthentication_required');
}
