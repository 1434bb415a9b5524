import type { SignInFailure } from './sign-in-failure.js';

/** Secrets of one sign-in, which the browser keeps sealed until it comes back (RFC 7636, OpenID Connect Core 3.1.2.1). */
export interface FlowSecrets {
  nonce: string;
  verifier: string;
}

/** What the provider vouched for by its signature, or why it was not taken. `reason` is for logs: never the provider's prose. */
export type Vouched =
  { kind: 'vouched'; claims: Claims; idToken: string } | { kind: 'failed'; code: SignInFailure; reason: string };

/** Whether the provider signed a logout token for this service, of late. `reason` is for logs. */
export type VouchedLogout =
  { kind: 'vouched'; claims: Claims } | { kind: 'refused'; reason: string } | { kind: 'unavailable' };

export type Claims = Readonly<Record<string, unknown>>;

/** The company's identity provider. */
export abstract class IdentityProvider {
  /** Where people sign in; null: the provider does not say. @param isAnew also those who are signed in there already */
  abstract authorizationUrl(state: string, secrets: FlowSecrets, isAnew: boolean): Promise<string | null>;
  /** Exchanges what people bring back from there. @param answer the parameters of the address, as they came */
  abstract redeem(answer: URLSearchParams, state: string, secrets: FlowSecrets): Promise<Vouched>;
  /** Judges what the provider sent by the back channel; what it ends is for the caller to read. */
  abstract judgeLogout(token: string): Promise<VouchedLogout>;
  /** Where the owner of an ID token signs out there; null: nowhere, or the provider does not say. */
  abstract signOutUrl(idToken: string): Promise<string | null>;
  /** Whether it answered when it was last asked; null: it was not asked yet. */
  abstract isReachable(): boolean | null;
  /** Asks for its discovery document, whether or not that is needed. */
  abstract probe(): Promise<void>;
  /** Closes connections. */
  abstract close(): void;
}
