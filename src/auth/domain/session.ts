import { Refused } from '../../kernel/errors.js';
import type { Account } from '../../users/domain/account.js';
import type { RefreshRow } from './refresh-rotation.js';

/** A sign-in and everything refreshed from it (a token family). */
export interface Session {
  id: string;
  userId: number;
  createdAt: Date;
  /** Refreshing does not extend it. */
  expiresAt: Date;
  userAgent: string | null;
  address: string;
}

/** The fields of a session that its tokens need. */
export type LivingSession = Pick<Session, 'id' | 'userId' | 'expiresAt'>;

/** A session in a list. */
export interface SessionView extends Session {
  /** Rises with time and orders lists. */
  number: number;
  /** The last use of a browser's session; otherwise the last refresh, or the sign-in. */
  lastUsedAt: Date;
}

/** A refresh token as it is stored: `id` is the digest of its `jti`. */
export interface NewRefreshToken {
  id: string;
  issuedAt: Date;
  expiresAt: Date;
}

/** A session of the web console, known by its cookie. */
export interface BrowserSession {
  id: string;
  account: Account;
  /** When the person last gave the password or signed in at the provider. */
  provedAt: Date;
}

/** How the person was authenticated at the start of a session. */
export interface StoredProof {
  /** The hash that the password was checked against; null: the identity provider authenticated the person. */
  checkedHash: string | null;
  /** Time of the last proof; null: a token session begun with a password, which never needs a recent proof. */
  provedAt: Date | null;
}

export interface SignInProof extends StoredProof {
  /** The session's longest lifetime in milliseconds, where shorter than the setting. */
  longest?: number;
  /** The way of the sign-in in the audit event; null: a password, for tokens. */
  by: 'console' | 'oidc' | 'exchange' | null;
}

/** The account of an access token, with the time of its last proof. */
export type AdmittedSession = Account & Pick<StoredProof, 'provedAt'>;

/** A presented refresh token and the live one of its session, as they are stored. */
export interface PresentedRefresh {
  /** `expiresAt` in milliseconds since 1970. */
  session: Pick<Session, 'id' | 'userId'> & { expiresAt: number };
  presented: RefreshRow;
  /** Null: no token of the session is live. */
  current: RefreshRow | null;
}

/** How long a proof counts as recent. */
const PROOF_MS = 5 * 60_000;

export function isRecentProof(provedAt: Date, now: Date): boolean {
  return now.getTime() - provedAt.getTime() <= PROOF_MS;
}

/** @throws Refused `reauthentication_required` where the last proof of a session is too old, and for API tokens */
export function requireRecentProof(
  { credential }: { credential: { kind: 'session'; provedAt: Date | null } | { kind: 'token' } },
  now: Date,
): void {
  const isProved =
    credential.kind === 'session' && (credential.provedAt === null || isRecentProof(credential.provedAt, now));
  if (!isProved) throw new Refused('reauthentication_required');
}
