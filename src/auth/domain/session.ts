import type { RefreshRow } from './rotation.js';

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

/** What tokens are issued for. */
export type LivingSession = Pick<Session, 'id' | 'userId' | 'expiresAt'>;

/** A session as its owner sees it. */
export interface SessionView extends Session {
  /** Rises with time: the order of lists. */
  number: number;
  /** When it was begun or last refreshed. */
  lastUsedAt: Date;
}

/** A refresh token to be stored: never itself, only the digest of its `jti`. */
export interface NewRefreshToken {
  id: string;
  issuedAt: Date;
  expiresAt: Date;
}

/** A presented refresh token beside its session's live one, as they are stored. */
export interface PresentedRefresh {
  session: Pick<Session, 'id' | 'userId'>;
  presented: RefreshRow;
  /** Null: none is live any more. */
  current: RefreshRow | null;
}
