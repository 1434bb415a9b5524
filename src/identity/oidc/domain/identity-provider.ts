import type { SignInFailure } from './sign-in-failure.js';

/** Secrets of one sign-in, which the browser keeps sealed until it comes back (RFC 7636, OpenID Connect Core 3.1.2.1). */
export interface FlowSecrets {
  nonce: string;
  verifier: string;
}

/** What the provider vouched for by its signature, or why it was not taken. `reason` is for logs: never the provider's prose. */
export type Vouched =
  | { kind: 'vouched'; claims: Claims; idToken: string; refreshToken: string | null }
  | { kind: 'failed'; code: SignInFailure; reason: string };

/**
 * What the provider says of somebody's session there. `renewed`: it goes on, `claims` of a new ID token, if there is one. `ended`: not for
 * who asks. `silent`: nothing of use. `refreshToken`: the next one; null: the former one serves on.
 */
export type Renewal =
  | { kind: 'renewed'; claims: Claims | null; refreshToken: string | null }
  | { kind: 'ended' }
  | { kind: 'silent'; reason: string; refreshToken: string | null };

/** Why a token is not taken. `past`: it has expired, or is older than ten minutes. */
export type ProviderTokenFault = 'past' | 'future' | 'audience' | 'other';

/** Whether the provider signed a token that anybody shows, of late. `type`: of its header. `reason` is for logs. */
export type VouchedToken =
  | { kind: 'vouched'; claims: Claims; type: unknown }
  | { kind: 'refused'; fault: ProviderTokenFault; reason: string }
  | { kind: 'unavailable' };

export type Claims = Readonly<Record<string, unknown>>;

/** The company's identity provider. */
export abstract class IdentityProvider {
  /** Where people sign in; null: the provider does not say. @param isAnew also those who are signed in there already */
  abstract authorizationUrl(state: string, secrets: FlowSecrets, isAnew: boolean): Promise<string | null>;
  /** Exchanges what people bring back from there. @param answer the parameters of the address, as they came */
  abstract redeem(answer: URLSearchParams, state: string, secrets: FlowSecrets): Promise<Vouched>;
  /** Asks whether a session there goes on (RFC 6749 section 6). */
  abstract renew(refreshToken: string): Promise<Renewal>;
  /** Judges what somebody shows, perhaps the provider itself; what it means is for the caller to read. @param typ of its header; null: any */
  abstract judge(token: string, audience: string, typ: string | null): Promise<VouchedToken>;
  /** Where the owner of an ID token signs out there; null: nowhere, or the provider does not say. */
  abstract signOutUrl(idToken: string): Promise<string | null>;
  /** Whether it answered when it was last asked; null: it was not asked yet. */
  abstract isReachable(): boolean | null;
  /** Asks for its discovery document, whether or not that is needed. */
  abstract probe(): Promise<void>;
  /** Closes connections. */
  abstract close(): void;
}
