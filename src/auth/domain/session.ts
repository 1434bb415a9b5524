import type { Account } from '../../users/domain/account.js';
import type { RefreshRow } from './refresh-rotation.js';

/** A sign-in and everything refreshed from it (a token family). */
export interface Session {
  id: string;
  userId: number;
  createdAt: Date;
  /** However often it is refreshed, it ends then. */
  expiresAt: Date;
  userAgent: string | null;
  address: string;
}

/** The session that tokens are issued for. */
export type LivingSession = Pick<Session, 'id' | 'userId' | 'expiresAt'>;

/** A session as its owner sees it. */
export interface SessionView extends Session {
  /** Rises with time: the order of lists. */
  number: number;
  /** When it was begun, last refreshed, or, of a browser, last used. */
  lastUsedAt: Date;
}

/** A refresh token to be stored: never itself, only the digest of its `jti`. */
export interface NewRefreshToken {
  id: string;
  issuedAt: Date;
  expiresAt: Date;
}

/** What a cookie of the web console admits. */
export interface BrowserSession {
  id: string;
  account: Account;
  /** When the person last proved who it is. */
  provedAt: Date;
}

/** When a person proved to the provider who it is, whose session here lasts `longest` milliseconds at most. */
export interface VouchedProof {
  provedAt: Date;
  longest: number;
}

/** How the person of a browser proved who it is: by a password, or to the provider. */
export type BrowserProof = { checkedHash: string } | VouchedProof;

/** `checkedHash`: that the password was checked against; null: the identity provider vouched. */
export interface StoredProof {
  checkedHash: string | null;
  /** When the person last proved who it is; null: a session with tokens by a password, which is asked for no other proof. */
  provedAt: Date | null;
}

/** The account of an access token, and when its person last proved who it is. */
export type AdmittedSession = Account & Pick<StoredProof, 'provedAt'>;

/** A presented refresh token beside its session's live one, as they are stored. */
export interface PresentedRefresh {
  /** `expiresAt` in milliseconds since 1970. */
  session: Pick<Session, 'id' | 'userId'> & { expiresAt: number };
  presented: RefreshRow;
  /** Null: none is live any more. */
  current: RefreshRow | null;
}

/** Where sessions and their refresh tokens are kept. A session lives until it expires or is ended. */
export abstract class SessionStore {
  /**
   * Begins a session if the account is active and still has the hash that its password was checked against, and keeps both so
   * until the transaction ends. @returns false: one of them changed meanwhile, and nothing was stored.
   */
  abstract begin(session: Session, token: NewRefreshToken, proof: StoredProof): Promise<boolean>;
  /** The same of a session without tokens, known by the digest of its cookie. */
  abstract beginForBrowser(
    session: Session,
    cookieDigest: Buffer,
    proof: StoredProof & { provedAt: Date },
  ): Promise<boolean>;
  /** Of a cookie that was used since `idleSince`; notes the use, to the minute. One query, and one more where a use is noted. */
  abstract admitBrowser(cookieDigest: Buffer, idleSince: Date, now: Date): Promise<BrowserSession | null>;
  /** The person has proved once more who it is. @returns false: the account has no such session that lives and asks for it */
  abstract prove(of: Pick<Session, 'id' | 'userId'>, at: Date, now: Date): Promise<boolean>;
  /** The account, if it is active and the session is its own and lives; one query by two primary keys. */
  abstract admit(sessionId: string, userId: number, now: Date): Promise<AdmittedSession | null>;
  /** Null: no such token, or its session does not live, or its account is not active. */
  abstract findRefresh(tokenId: string, now: Date): Promise<PresentedRefresh | null>;
  /**
   * Marks a live token used and stores the next, or neither. @returns its session; null when it was not live: used before or
   * just now by a concurrent request, expired, of another session or account, or those have ended.
   */
  abstract rotate(
    tokenId: string,
    of: Pick<Session, 'id' | 'userId'>,
    next: NewRefreshToken,
  ): Promise<LivingSession | null>;
  /** Ends a session of any user: after theft, or by logout. False: it had ended. */
  abstract end(sessionId: string, now: Date): Promise<boolean>;
  /** Ends all of an account's, but for the one that is named. @returns how many. */
  abstract endAllOf(userId: number, now: Date, except: string | null): Promise<number>;
  /** The sessions of one user. */
  abstract ownedBy(userId: number): OwnSessions;
  /** Removes expired and ended sessions and tokens. @returns how many sessions. */
  abstract sweep(now: Date): Promise<number>;
}

/** The sessions of one user; no method can reach another user's. */
export abstract class OwnSessions {
  /** Active sessions (of browsers: used since `idleSince`), the newest first, with numbers below `after` (null: at the newest), at most `limit`. */
  abstract list(times: { now: Date; idleSince: Date }, after: number | null, limit: number): Promise<SessionView[]>;
  /** `unknown`: this user never had such a session, or it has been removed since. */
  abstract end(sessionId: string, now: Date): Promise<'ended' | 'had-ended' | 'unknown'>;
}
