/** A refresh token as it is stored. `id` is the digest of its `jti`; times in milliseconds since 1970. */
export interface RefreshRow {
  id: string;
  /** Id of the token that was exchanged for this token; null: this token was issued at the sign-in. */
  parentId: string | null;
  issuedAt: number;
  expiresAt: number;
  usedAt: number | null;
}

/**
 * The verdict on a presented refresh token. `live`: it is exchanged. `repeat`: the client gets the current pair again. `reuse`: the
 * whole session ends. `superseded`: the request is refused and the session goes on.
 */
export type RotationVerdict = 'live' | 'expired' | 'repeat' | 'reuse' | 'superseded';

/** A token that is sent again within this time after its use is not taken as stolen: a second browser tab may have sent it, too. */
export const PARENT_GRACE_MS = 10_000;

/**
 * Judges a presented refresh token by its stored row and the session's current token. A used token is a sign of theft (RFC 9700 section
 * 4.14.2), unless it is the direct parent of the current one and was used within PARENT_GRACE_MS.
 * @param repeatWindowMs how long after its use a token gets the same pair again, for clients that did not receive the answer
 */
export function judgeRotation(
  presentedToken: RefreshRow,
  currentToken: RefreshRow | null,
  now: number,
  repeatWindowMs: number,
): RotationVerdict {
  if (presentedToken.expiresAt <= now) return 'expired';
  if (presentedToken.usedAt === null) return 'live';
  if (presentedToken.id !== currentToken?.parentId) return 'reuse';
  const sinceUseMs = now - presentedToken.usedAt;
  if (sinceUseMs < repeatWindowMs) return 'repeat';
  return sinceUseMs < PARENT_GRACE_MS ? 'superseded' : 'reuse';
}
