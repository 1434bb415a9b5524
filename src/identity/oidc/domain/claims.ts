import { isObject } from '../../../kernel/json-reader.js';
import { foldedName, nameProblem } from '../../../kernel/name.js';
import { type Failure, failure } from './flow.js';

/** Claims of a token whose signature, issuer, audience and times are valid. */
export type Claims = Readonly<Record<string, unknown>>;

/** Whether a claim is an identifier of a person or a session: 1 to 255 ASCII characters, as OpenID Connect Core 2 demands of `sub`. */
export function isIdentifier(claim: unknown): claim is string {
  return typeof claim === 'string' && /^[\x20-\x7e]{1,255}$/.test(claim);
}

export function isAbsent(claim: unknown): boolean {
  return claim === undefined || claim === null || claim === '';
}

/** A person's groups by a claim. `unknown`: the token does not list the groups. `known` with no names: the person has no groups. */
export type ClaimedGroups =
  | { kind: 'unknown' }
  | {
      kind: 'known';
      names: string[];
      /** Names that several groups of the provider share. */
      ambiguousNames: string[];
      /** The number of names that are left out because they are invalid for groups. */
      unusableCount: number;
    };

/**
 * Reads the claim about groups: a list of names or paths (`/analysts`), absent for a person without groups. Microsoft Entra also omits
 * the claim for more than 200 groups, and marks that by `_claim_names` or `hasgroups`.
 */
export function readGroupsClaim(claims: Claims, claim: string): ClaimedGroups {
  const claimNames = claims['_claim_names'];
  const isOmitted = typeof claimNames === 'object' && claimNames !== null && Object.hasOwn(claimNames, claim);
  if (isOmitted || claims['hasgroups'] === true) return { kind: 'unknown' };
  const claimValue = claims[claim] ?? [];
  const listedNames: unknown[] = Array.isArray(claimValue) ? claimValue : [claimValue];
  if (!listedNames.every((name) => typeof name === 'string')) return { kind: 'unknown' };
  const groupNames = listedNames.map((name) => name.replace(/^\//, ''));
  const usableNames = groupNames.filter((name) => nameProblem(name) === null);
  const countsByName = new Map<string, number>();
  for (const name of usableNames) countsByName.set(foldedName(name), (countsByName.get(foldedName(name)) ?? 0) + 1);
  const isUnique = (name: string) => countsByName.get(foldedName(name)) === 1;
  return {
    kind: 'known',
    names: usableNames.filter(isUnique),
    ambiguousNames: [...new Set(usableNames.filter((name) => !isUnique(name)))],
    unusableCount: groupNames.length - usableNames.length,
  };
}

/** The sessions that a sign-out at the provider ends: those of the provider's session `sid`, or all sessions of a person. */
export type SignOutTarget = { sid: string } | { subject: string };

/** The member of `events` that marks a logout token. */
const LOGOUT_EVENT = 'http://schemas.openid.net/event/backchannel-logout';

/** The sessions that a logout token ends (OpenID Connect Back-Channel Logout 1.0 section 2.6). @returns null for another kind of token */
export function sessionsEndedBy({
  jti,
  sid,
  sub,
  events,
  nonce,
}: Claims): { jti: string; target: SignOutTarget } | null {
  const event = typeof events === 'object' && events !== null ? (events as Claims)[LOGOUT_EVENT] : null;
  const isLogout = isObject(event);
  // A token with a nonce is an ID token, which must not end sessions.
  if (!isLogout || nonce !== undefined || typeof jti !== 'string' || jti === '') return null;
  if (isAbsent(sid)) return isIdentifier(sub) ? { jti, target: { subject: sub } } : null;
  return isIdentifier(sid) ? { jti, target: { sid } } : null;
}

/** Milliseconds by which the provider's clock may run ahead. */
const MAX_CLOCK_LEAD_MS = 60_000;

/** The last sign-in at the provider itself (OpenID Connect Core 2, `auth_time`), at most now. Null: absent, invalid, or too far in the future. */
export function signInTimeOf({ auth_time: seconds }: Claims, now: Date): Date | null {
  if (typeof seconds !== 'number' || !(seconds > 0)) return null;
  const signInTime = seconds * 1000;
  return signInTime > now.getTime() + MAX_CLOCK_LEAD_MS ? null : new Date(Math.min(signInTime, now.getTime()));
}

/** The time recorded for a sign-in whose time is unknown: so old that the sign-in never counts as a recent proof. */
const UNKNOWN_SIGN_IN_TIME = new Date(0);

/** Time of the proof for a new session: when the person last signed in at the provider, or UNKNOWN_SIGN_IN_TIME. */
export function provedAtOf(claims: Claims, now: Date): Date {
  return signInTimeOf(claims, now) ?? UNKNOWN_SIGN_IN_TIME;
}

/**
 * The time of the sign-in at the provider, or a failure if the person did not sign in after the flow began. Providers may disregard `max_age`.
 * @param startedAt the flow's beginning in milliseconds since 1970
 */
export function judgeNewSignIn(claims: Claims, { startedAt, now }: { startedAt: number; now: Date }): Date | Failure {
  const signInTime = signInTimeOf(claims, now);
  if (signInTime === null) return failure('not_signed_in_anew', 'no auth_time');
  // The flow's beginning is rounded down to whole seconds, as `auth_time` has no fractions.
  const isNewSignIn = signInTime.getTime() >= Math.floor(startedAt / 1000) * 1000;
  return isNewSignIn ? signInTime : failure('not_signed_in_anew', 'auth_time');
}

/**
 * Like `judgeNewSignIn`, but also a failure if another person signed in.
 * @param session `ownerId`: the account that is linked to the person who signed in; null: none
 */
export function judgeConfirmation(
  claims: Claims,
  session: { userId: number; providerSession: { subject: string } | null; ownerId: number | null },
  times: { startedAt: number; now: Date },
): Date | Failure {
  const { userId, providerSession, ownerId } = session;
  if (providerSession === null) return failure('session_ended', 'unknown');
  if (claims['sub'] !== providerSession.subject) return failure('other_person', 'sub');
  if (ownerId !== userId) return failure('other_person', 'link');
  return judgeNewSignIn(claims, times);
}

/** Codes of the API for the reasons why a presented token of the provider opens no session. */
export const EXCHANGE_FAILURES = [
  'token_invalid',
  'token_expired',
  'clocks_differ',
  'token_wrong_audience',
  'token_used',
  'token_without_subject',
  'token_of_program',
  'name_missing',
  'name_invalid',
  'name_taken',
  'account_missing',
  'account_deactivated',
  'busy',
  'provider_unavailable',
] as const;

export type ExchangeFailure = (typeof EXCHANGE_FAILURES)[number];

/** Values of `typ` in ID and access tokens (RFC 9068), with or without the prefix, in any case (RFC 7515 section 4.1.9). */
const TOKEN_TYPES = /^(application\/)?(at\+)?jwt$/i;

/**
 * The reason to refuse a presented token; null if it is an ID or access token of a person and may open a session.
 * @param type the header's `typ` @param ownClientId this service's client id at the provider
 */
export function presentedTokenFault(
  { typ, events, client_id, sid, idtyp, nonce, azp, aud, cnf }: Claims,
  type: unknown,
  ownClientId: string,
): Failure<ExchangeFailure> | null {
  const isOtherTokenType =
    events !== undefined || (type !== undefined && !(typeof type === 'string' && TOKEN_TYPES.test(type)));
  if (isOtherTokenType) return failure('token_invalid', 'of another type');
  if (typ !== undefined && typ !== 'ID' && typ !== 'Bearer') return failure('token_invalid', 'typ');
  // ID tokens of this service's own sign-ins are refused, because sign-out URLs contain them, and logs and browser histories contain URLs.
  const isForThisService = azp === undefined ? [aud].flat().includes(ownClientId) : azp === ownClientId;
  if (nonce !== undefined && isForThisService) return failure('token_invalid', 'of a sign-in here');
  // A token with `cnf` is refused, because the client would have to prove possession of a key (RFC 7800).
  if (cnf !== undefined) return failure('token_invalid', 'bound to a key');
  // Tokens of programs are refused: those of Keycloak have `client_id` and no session, those of Microsoft Entra have `idtyp`.
  if (idtyp === 'app') return failure('token_of_program', 'idtyp');
  return client_id !== undefined && isAbsent(sid) ? failure('token_of_program', 'client_id') : null;
}
