import type { EndedAtProvider } from './logout-token.js';

/** A person at a provider. */
export interface PersonKey {
  issuer: string;
  subject: string;
}

/** The person of an account, and since when. */
export interface Link extends PersonKey {
  linkedAt: Date;
}

/** What the provider calls a session that began there. */
export interface ProviderSession {
  issuer: string;
  /** The claim `sub`, whichever claim people are linked by. */
  subject: string;
  /** Of the provider's own session; null: it names none. */
  sid: string | null;
  /** Sealed; null: nobody signs out there by it. */
  idToken: string | null;
  /** Sealed; null: the provider gave none. */
  refreshToken: string | null;
}

/** `issuedAt`: of the token that says so. */
export interface NewProviderSession extends ProviderSession {
  issuedAt: Date;
}

/** A session for which the provider may be asked. */
export interface Recheck {
  userId: number;
  session: ProviderSession & { refreshToken: string };
  /** When it was last asked, or vouched for the session. */
  askedAt: Date;
  /** That was long enough ago, and nobody else asks now. */
  isDue: boolean;
}

/** `sessionId` null: there is none. */
export interface StandIn {
  userId: number;
  sessionId: string | null;
}

/** What a web client exchanges for tokens. */
export interface SignInCode {
  session: ProviderSession;
  userId: number;
  /** The client's own (RFC 7636, S256). */
  challenge: string;
  /** When the person signed in at the provider itself. */
  provedAt: Date;
  expiresAt: Date;
}

/** Where people's accounts and what is taken once are kept. Of codes and the like, the digests. */
export abstract class OidcStore {
  /** The id of the person's account; null: none. */
  abstract accountOf(person: PersonKey): Promise<number | null>;
  /** The id of the account that SCIM knows by that external id; null: none. */
  abstract pushedAccount(externalId: string): Promise<number | null>;
  /** Null: the account has no person. */
  abstract linkOf(userId: number): Promise<Link | null>;
  /** False: the account or the person is linked otherwise, perhaps since a moment. */
  abstract link(userId: number, person: PersonKey, at: Date): Promise<boolean>;
  /** The person has signed in there. */
  abstract signedIn(userId: number, at: Date): Promise<void>;
  /**
   * Notes which claims about groups are applied, and holds back others of the account until the transaction ends.
   * @returns false: newer ones were applied
   */
  abstract takeClaims(userId: number, issuedAt: Date, heldUntil: Date): Promise<boolean>;
  /** Whether the time is over for which the claims applied last count; holds back others as `takeClaims` does. */
  abstract haveClaimsLapsed(userId: number, now: Date): Promise<boolean>;
  /** Takes away the link, and codes of the account. @returns whose it was, and the sessions that began there; null: there was none */
  abstract unlink(userId: number): Promise<{ person: PersonKey; sessionIds: string[] } | null>;
  /** Stores a code, and forgets those that have expired. */
  abstract putCode(digest: Buffer, code: SignInCode, now: Date): Promise<void>;
  /** Takes a code away, whoever has it; null: there is none, or somebody took it before. */
  abstract takeCode(digest: Buffer): Promise<SignInCode | null>;
  /** Also once more, of the same person: the provider's session may be another one by then. */
  abstract keepSession(sessionId: string, session: ProviderSession, at: Date): Promise<void>;
  /** Takes the turn to ask for a session, where it was not asked for since `before`: one caller alone. @returns null: it has no refresh token */
  abstract takeRecheck(sessionId: string, before: Date, now: Date): Promise<Recheck | null>;
  /**
   * The account of a session, and another one of its sessions that lives and by which that provider can be asked.
   * @returns null: there is no such session
   */
  abstract standIn(sessionId: string, issuer: string, now: Date): Promise<StandIn | null>;
  /** False: the session has another refresh token by now. */
  abstract replaceRefreshToken(sessionId: string, former: string, next: string | null): Promise<boolean>;
  /** What was kept of a session; null: it did not begin at a provider. */
  abstract sessionOf(sessionId: string): Promise<ProviderSession | null>;
  /**
   * In a transaction, whose end is waited for by whoever asks `hasEnded`: remembers what was ended, and takes away its codes.
   * @param at by the provider's clock @returns the sessions of it, the ended ones included
   */
  abstract endedAt(issuer: string, ended: EndedAtProvider, at: Date, now: Date): Promise<string[]>;
  /**
   * Whether the provider has ended a session since it issued a token of it, or the account was unlinked. In a transaction, neither
   * happens until that has ended.
   * @param userId null: it is not known yet whose account it is
   */
  abstract hasEnded(session: NewProviderSession, userId: number | null): Promise<boolean>;
  /** False: it was used before. Forgets what has expired. */
  abstract use(digest: Buffer, expiresAt: Date, now: Date): Promise<boolean>;
  abstract wasUsed(digest: Buffer): Promise<boolean>;
}
