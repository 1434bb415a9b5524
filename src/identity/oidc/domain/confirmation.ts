import type { Claims } from './identity-provider.js';
import type { ProviderSession } from './oidc-store.js';
import type { SignInFailure } from './sign-in-failure.js';

/** `at`: when the person signed in at the provider. `reason` is for the log. */
export type Confirmation = { kind: 'confirmed'; at: Date } | { kind: 'refused'; code: SignInFailure; reason: string };

/** Milliseconds by which the provider's clock may be ahead. */
const AHEAD_MS = 60_000;

/** When a person last signed in at the provider itself (OpenID Connect Core 2, `auth_time`), never later than now; null: it does not say. */
export function signedInAt({ auth_time: seconds }: Claims, now: Date): Date | null {
  if (typeof seconds !== 'number' || !(seconds > 0)) return null;
  const at = seconds * 1000;
  return at > now.getTime() + AHEAD_MS ? null : new Date(Math.min(at, now.getTime()));
}

/** The time of a proof that nobody gave. */
const NEVER = new Date(0);

/** When a session that begins with these claims was proved. */
export function provedAtOf(claims: Claims, now: Date): Date {
  return signedInAt(claims, now) ?? NEVER;
}

/**
 * Whether somebody who was to sign in anew did so: providers may disregard `max_age`.
 * @param startedAt milliseconds since 1970
 */
export function judgeAnew(claims: Claims, { startedAt, now }: { startedAt: number; now: Date }): Confirmation {
  const at = signedInAt(claims, now);
  if (at === null) return { kind: 'refused', code: 'not_signed_in_anew', reason: 'no auth_time' };
  // The claim has whole seconds.
  const isAnew = at.getTime() >= Math.floor(startedAt / 1000) * 1000;
  return isAnew ? { kind: 'confirmed', at } : { kind: 'refused', code: 'not_signed_in_anew', reason: 'auth_time' };
}

/**
 * Whether somebody who comes back is the person of the session, and signed in after it was asked for.
 * @param session as it began, and whose account the person has by now; null: none
 */
export function judgeConfirmation(
  claims: Claims,
  session: { userId: number; atProvider: ProviderSession | null; ownerId: number | null },
  times: { startedAt: number; now: Date },
): Confirmation {
  const { userId, atProvider, ownerId } = session;
  if (atProvider === null) return { kind: 'refused', code: 'session_ended', reason: 'unknown' };
  if (claims['sub'] !== atProvider.subject) return { kind: 'refused', code: 'other_person', reason: 'sub' };
  if (ownerId !== userId) return { kind: 'refused', code: 'other_person', reason: 'link' };
  return judgeAnew(claims, times);
}
