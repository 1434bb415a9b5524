import { type createLocalJWKSet, errors, jwtVerify, type JWTHeaderParameters } from 'jose';
import type { Clock, Timers } from '../../../kernel/clock.js';
import type { Claims, ProviderTokenFault } from '../domain/identity-provider.js';
import { LastGood } from './last-good.js';
import { ProviderUnavailable } from './provider-transport.js';

/** Signatures by a key that the provider alone has. */
const ALGORITHMS = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
];

/**
 * In seconds. A token is of the last ten minutes (Microsoft Entra dates its own five minutes back), and clocks may differ by one.
 * Without maxTokenAge a token of next year would pass.
 */
const TIMES = { maxTokenAge: 600, clockTolerance: 60, requiredClaims: ['iat', 'exp'] };

const MINUTE = 60_000;
const LIFETIME = { fresh: 10 * MINUTE, stale: 24 * 60 * MINUTE, pause: 10_000 };

export type Verified =
  | { kind: 'verified'; claims: Claims; header: JWTHeaderParameters }
  | { kind: 'refused'; fault: ProviderTokenFault; reason: string };

/** The provider's keys (RFC 7517). */
export type KeySet = ReturnType<typeof createLocalJWKSet>;

interface Terms {
  typ?: string;
  isOfProvider: boolean;
}

/** Judges tokens by the keys that the provider publishes. */
export class ProviderTokens {
  private readonly keys: LastGood<KeySet>;

  /** @param fetch the provider's keys of now */
  constructor(
    private readonly issuer: string,
    fetch: () => Promise<KeySet>,
    timers: Timers,
    private readonly clock: Clock,
  ) {
    this.keys = new LastGood(fetch, LIFETIME, timers);
  }

  /**
   * Signature, issuer, audience and times of a token.
   * @param terms `typ`: of its header; `isOfProvider`: it came over a connection to the provider, not from anybody
   * @throws ProviderUnavailable where no keys are known
   */
  async verify(token: string, audience: string, { typ, isOfProvider }: Terms): Promise<Verified> {
    const verify = async (keys: KeySet): Promise<Verified> => {
      const expected = { algorithms: ALGORITHMS, issuer: this.issuer, audience, currentDate: this.clock.now() };
      const form = typ === undefined ? {} : { typ };
      const { payload, protectedHeader } = await jwtVerify(token, keys, { ...expected, ...TIMES, ...form });
      return { kind: 'verified', claims: payload, header: protectedHeader };
    };
    const known = await this.keys.get();
    try {
      return await verify(known).catch(async (error: unknown) => {
        if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
        // What the provider gave a moment ago has a key that is newer than those: worth a wait of some seconds.
        return verify(await (isOfProvider ? this.keys.newer() : this.keys.renewed()));
      });
    } catch (error) {
      if (error instanceof ProviderUnavailable) throw error;
      return refusal(error);
    }
  }
}

function refusal(error: unknown): Verified {
  // A key of the provider's that cannot be imported, or is too short.
  if (!(error instanceof errors.JOSEError)) return { kind: 'refused', fault: 'other', reason: 'unusable key' };
  if (error instanceof errors.JWTExpired)
    return { kind: 'refused', fault: 'past', reason: `${error.code} ${error.claim}` };
  if (!(error instanceof errors.JWTClaimValidationFailed))
    return { kind: 'refused', fault: 'other', reason: error.code };
  const isFuture = error.reason === 'check_failed' && ['iat', 'nbf'].includes(error.claim);
  const fault = isFuture ? 'future' : error.claim === 'aud' ? 'audience' : 'other';
  return { kind: 'refused', fault, reason: `${error.code} ${error.claim}` };
}
