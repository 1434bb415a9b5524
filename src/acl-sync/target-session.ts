import {
  type LiveRules,
  type NextRules,
  type RulesTarget,
  RulesTargetMoved,
  TARGET_MS,
} from './domain/rules-target.js';
import type { Lease } from './domain/sync-lock.js';

/** Writes of a run that another writer of the target may forestall. */
const MAX_WRITES = 10;

/** What one run may do at the target: read and write for so long, write so often, and only while it holds the lock. */
export class TargetSession {
  private signal = AbortSignal.timeout(TARGET_MS);
  private writes = 0;

  constructor(
    private readonly target: RulesTarget,
    private readonly lease: Lease,
  ) {}

  /** Grants the whole time again, after work that took its own. */
  renew(): void {
    this.signal = AbortSignal.timeout(TARGET_MS);
  }

  /** @throws RulesTargetUnavailable, LeaseLost */
  async read(): Promise<LiveRules> {
    const live = await this.target.read(this.signal);
    await this.lease.confirm();
    return live;
  }

  /**
   * Writes at once again where another writer left the rules alone: labels, annotations, other keys.
   * @returns false: the rules are no longer the planned ones
   * @throws RulesTargetMoved when the last write was forestalled; RulesTargetUnavailable, LeaseLost
   */
  async replace(planned: LiveRules, next: NextRules): Promise<boolean> {
    for (let live = planned; live.text === planned.text; live = await this.read()) {
      this.writes += 1;
      try {
        await this.target.publish(next, live, this.signal);
        return true;
      } catch (error) {
        if (!(error instanceof RulesTargetMoved) || this.writes === MAX_WRITES) throw error;
      }
    }
    return false;
  }
}
