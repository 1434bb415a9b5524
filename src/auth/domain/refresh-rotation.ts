/** A refresh token as it is stored. `id` is the digest of its `jti`; times in milliseconds since 1970. */
export interface RefreshRow {
  id: string;
  /** Id of the token that was exchanged for this one; null: issued at the sign-in. */
  parentId: string | null;
  issuedAt: number;
  expiresAt: number;
  usedAt: number | null;
}

/**
 * The verdict on a presented refresh token. `live`: it is exchanged. `repeat`: the client gets the current pair again. `reuse`: the
 * whole session ends. `superseded`: the request is refused and the session goes on.
 */
export type Rotation = 'live' | 'expired' | 'repeat' | 'reuse' | 'superseded';

/** How long after its use the current token's parent is assumed to come from a second browser tab. */
export const PARENT_GRACE_MS = 10_000;

/**
 * Judges a presented refresh token against its stored row and the session's live one.
 * A used token is a sign of theft (OAuth 2.0 BCP, RFC 9700 4.14.2), unless it is the direct parent of the current one and was
 * used less than ten seconds ago: then a second browser tab lost the race.
 * @param repeatMs how long after its use the token gets the same pair again, for clients that lost the answer
 */
export function judgeRotation(
  presented: RefreshRow,
  current: RefreshRow | null,
  now: number,
  repeatMs: number,
): Rotation {
  if (presented.expiresAt <= now) return 'expired';
  if (presented.usedAt === null) return 'live';
  if (presented.id !== current?.parentId) return 'reuse';
  const since = now - presented.usedAt;
  if (since < repeatMs) return 'repeat';
  return since < PARENT_GRACE_MS ? 'superseded' : 'reuse';
}
