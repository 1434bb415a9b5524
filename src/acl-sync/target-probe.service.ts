import { Injectable } from '@nestjs/common';
import { Log } from '../platform/log/log.js';
import { RulesTarget, RulesTargetUnavailable, type TargetFailure } from './domain/rules-target.js';

/** `denied`: rights are missing. */
export type TargetCheck = 'available' | 'denied' | TargetFailure;

const TARGET_MS = 20_000;

/** Checks whether the rules target can be read and written. */
@Injectable()
export class TargetProbe {
  private last: TargetCheck = 'available';

  constructor(
    private readonly target: RulesTarget,
    private readonly log: Log,
  ) {}

  /** Logs a failed check, unless the check before it failed for the same reason. @throws when the signal is aborted */
  async check(signal?: AbortSignal): Promise<TargetCheck> {
    const timeout = AbortSignal.timeout(TARGET_MS);
    const before = this.last;
    try {
      const access = await this.target.checkAccess(signal === undefined ? timeout : AbortSignal.any([signal, timeout]));
      this.last = access.kind === 'granted' ? 'available' : 'denied';
      if (access.kind === 'denied' && before !== 'denied') {
        const { missing, identity } = access;
        this.log.error('TRINO_ACL_TARGET_DENIED', { target: this.target.name, missing, identity });
      }
    } catch (error) {
      signal?.throwIfAborted();
      if (!(error instanceof RulesTargetUnavailable)) throw error;
      const { reason, message, auditId } = error;
      this.last = reason;
      if (reason !== before) {
        this.log.warn('rules target check failed', { target: this.target.name, reason, message, audit_id: auditId });
      }
    }
    return this.last;
  }
}
