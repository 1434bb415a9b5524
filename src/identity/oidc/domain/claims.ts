import { foldedName, nameProblem } from '../../../kernel/name.js';
import { type Failed, failure } from './flow.js';

/** Claims of a token whose signature, issuer, audience and times are valid. */
export type Claims = Readonly<Record<string, unknown>>;

/** Whether a claim can identify a person or a session: 1 to 255 ASCII characters, as OpenID Connect Core 2 demands of `sub`. */
export function isIdentifier(claim: unknown): claim is string {
  return typeof claim === 'string' && /^[\x20-\x7e]{1,255}$/.test(claim);
}

export function isAbsent(claim: unknown): boolean {
  return claim === undefined || claim === null || claim === '';
}

/** A person's groups by a claim. `unknown`: the claim does not list them, which differs from no groups. */
export type ClaimedGroups =
  | { kind: 'unknown' }
  | {
      kind: 'known';
      names: string[];
      /** Names that several groups of the provider share. */
      ambiguous: string[];
      /** The number of names that are invalid as names of groups. */
      unusable: number;
    };

/**
 * Reads the claim: a list of names or paths (`/analysts`), absent for a person without groups. Microsoft Entra also omits it above
 * 200 groups, which `_claim_names` or `hasgroups` indicates.
 */
export function readGroupsClaim(claims: Claims, claim: string): ClaimedGroups {
  const named = claims['_claim_names'];
  const isElsewhere = typeof named === 'object' && named !== null && Object.hasOwn(named, claim);
  if (isElsewhere || claims['hasgroups'] === true) return { kind: 'unknown' };
  const value = claims[claim] ?? [];
  const listed: unknown[] = Array.isArray(value) ? value : [value];
  if (!listed.every((name) => typeof name === 'string')) return { kind: 'unknown' };
  const paths = listed.map((name) => name.replace(/^\//, ''));
  const usable = paths.filter((name) => nameProblem(name) === null);
  const count = new Map<string, number>();
  for (const name of usable) count.set(foldedName(name), (count.get(foldedName(name)) ?? 0) + 1);
  const isOne = (name: string) => count.get(foldedName(name)) === 1;
  return {
    kind: 'known',
    names: usable.filter(isOne),
    ambiguous: [...new Set(usable.filter((name) => !isOne(name)))],
    unusable: paths.length - usable.length,
  };
}

/** One session of the provider, or all sessions of a person. */
export type EndedAtProvider = { sid: string } | { subject: string };

/** The member of `events` that marks a logout token. */
const EVENT = 'http://schemas.openid.net/event/backchannel-logout';

/** The sessions that a logout token ends (OpenID Connect Back-Channel Logout 1.0 section 2.6). @returns null: it is no logout token */
export function sessionsEndedBy({
  jti,
  sid,
  sub,
  events,
  nonce,
}: Claims): { jti: string; ended: EndedAtProvider } | null {
  const event = typeof events === 'object' && events !== null ? (events as Claims)[EVENT] : null;
  const isLogout = typeof event === 'object' && event !== null && !Array.isArray(event);
  // A token with a nonce is an ID token, which must not end sessions.
  if (!isLogout || nonce !== undefined || typeof jti !== 'string' || jti === '') return null;
  if (isAbsent(sid)) return isIdentifier(sub) ? { jti, ended: { subject: sub } } : null;
  return isIdentifier(sid) ? { jti, ended: { sid } } : null;
}

/** Milliseconds by which the provider's clock may run ahead. */
const AHEAD_MS = 60_000;

/** The last sign-in at the provider itself (OpenID Connect Core 2, `auth_time`), never later than now; null: unknown. */
export function signedInAt({ auth_time: seconds }: Claims, now: Date): Date | null {
  if (typeof seconds !== 'number' || !(seconds > 0)) return null;
  const at = seconds * 1000;
  return at > now.getTime() + AHEAD_MS ? null : new Date(Math.min(at, now.getTime()));
}

/** The time of a proof that is missing: never recent. */
const NEVER = new Date(0);

/** The time of the proof for a session that begins with these claims. */
export function provedAtOf(claims: Claims, now: Date): Date {
  return signedInAt(claims, now) ?? NEVER;
}

/**
 * The time of the sign-in at the provider; fails unless it came after the flow began, because providers may disregard `max_age`.
 * @param startedAt the flow's beginning in milliseconds since 1970
 */
export function judgeNewSignIn(claims: Claims, { startedAt, now }: { startedAt: number; now: Date }): Date | Failed {
  const at = signedInAt(claims, now);
  if (at === null) return failure('not_signed_in_anew', 'no auth_time');
  // `auth_time` has whole seconds.
  const isAnew = at.getTime() >= Math.floor(startedAt / 1000) * 1000;
  return isAnew ? at : failure('not_signed_in_anew', 'auth_time');
}

/**
 * The same as `judgeAnew`, and fails unless the returned person is the person of the session.
 * @param session `atProvider`: the provider's session behind it; `ownerId`: the account that the person is linked to now, or null
 */
export function judgeConfirmation(
  claims: Claims,
  session: { userId: number; atProvider: { subject: string } | null; ownerId: number | null },
  times: { startedAt: number; now: Date },
): Date | Failed {
  const { userId, atProvider, ownerId } = session;
  if (atProvider === null) return failure('session_ended', 'unknown');
  if (claims['sub'] !== atProvider.subject) return failure('other_person', 'sub');
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

/** Types of ID and access tokens (RFC 9068), with or without the prefix, in any case (RFC 7515 section 4.1.9). */
const TYPES = /^(application\/)?(at\+)?jwt$/i;

/**
 * Why a presented token is not an ID or access token of a person; null: it is one.
 * @param type the header's `typ` @param own the id of this service's client at the provider
 */
export function presentedTokenFault(
  { typ, events, client_id, sid, idtyp, nonce, azp, aud, cnf }: Claims,
  type: unknown,
  own: string,
): Failed<ExchangeFailure> | null {
  const isOther = events !== undefined || (type !== undefined && !(typeof type === 'string' && TYPES.test(type)));
  if (isOther) return failure('token_invalid', 'of another type');
  if (typ !== undefined && typ !== 'ID' && typ !== 'Bearer') return failure('token_invalid', 'typ');
  // ID tokens from this service's own sign-ins are refused: its sign-out addresses contain them, and appear in logs and histories.
  const isForUs = azp === undefined ? [aud].flat().includes(own) : azp === own;
  if (nonce !== undefined && isForUs) return failure('token_invalid', 'of a sign-in here');
  // The client would have to prove possession of the key (RFC 7800).
  if (cnf !== undefined) return failure('token_invalid', 'bound to a key');
  // Tokens of programs: Keycloak's have `client_id` and no session, Microsoft Entra's have `idtyp`.
  if (idtyp === 'app') return failure('token_of_program', 'idtyp');
  return client_id !== undefined && isAbsent(sid) ? failure('token_of_program', 'client_id') : null;
}
