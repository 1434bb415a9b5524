/** A person at a provider. */
export interface PersonKey {
  issuer: string;
  subject: string;
}

/** What a web client exchanges for tokens. */
export interface SignInCode {
  userId: number;
  /** The client's own (RFC 7636, S256). */
  challenge: string;
  expiresAt: Date;
}

/** Where people's accounts and what is taken once are kept. Digests are SHA-256, in hexadecimal. */
export abstract class OidcStore {
  /** The id of the person's account; null: none. */
  abstract accountOf(person: PersonKey): Promise<number | null>;
  abstract isLinked(userId: number): Promise<boolean>;
  /** False: the account or the person is linked otherwise, perhaps since a moment. */
  abstract link(userId: number, person: PersonKey, at: Date): Promise<boolean>;
  /** Stores a code, and forgets those that have expired. */
  abstract putCode(digest: string, code: SignInCode, now: Date): Promise<void>;
  /** Takes a code away, whoever has it; null: there is none, or somebody took it before. */
  abstract takeCode(digest: string): Promise<SignInCode | null>;
  /** False: it was used before. Forgets what has expired. */
  abstract use(digest: string, expiresAt: Date, now: Date): Promise<boolean>;
  abstract wasUsed(digest: string): Promise<boolean>;
}
