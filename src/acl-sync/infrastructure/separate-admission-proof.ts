import type { OnApplicationShutdown } from '@nestjs/common';
import { AdmissionProof } from '../../grants/domain/admission-ports.js';
import type { Log } from '../../platform/log/log.js';
import type { Finding } from '../../trino-rules/document/finding.js';
import type { Snapshot } from '../../trino-rules/model/snapshot.js';
import { PreparationExceeded } from '../domain/rules-preparer.js';
import { PreparationProcess } from './preparation-process.js';

/**
 * `milliseconds`: for one proof. `work`: most rows × users (the largest catalog of the enterprise benchmark has 2.7 million and
 * takes one second). `waiting`: most queued proofs. `loadMilliseconds`: for loading the program of a new process.
 */
const LIMITS = { milliseconds: 2_000, work: 3_000_000, waiting: 8, loadMilliseconds: 30_000, heapMebibytes: 256 };

/** Keeps one process, because loading the compiler takes longer than most proofs. Proofs over a limit are left to the run. */
export class SeparateAdmissionProof extends AdmissionProof implements OnApplicationShutdown {
  private process: PreparationProcess | null = null;
  private inLine: Promise<unknown> = Promise.resolve();
  private waiting = 0;

  constructor(
    private readonly log: Log,
    private readonly limits = LIMITS,
    private readonly program?: URL,
  ) {
    super();
  }

  override async refusal(snapshot: Snapshot): Promise<string | null> {
    const { users, grants, policies } = snapshot;
    const work = users.length * (grants.length + policies.length);
    if (work > this.limits.work || this.waiting >= this.limits.waiting) return null;
    this.waiting += 1;
    const proved = this.inLine.then(() => this.proved(snapshot));
    this.inLine = proved;
    try {
      return await proved;
    } finally {
      this.waiting -= 1;
    }
  }

  async onApplicationShutdown(): Promise<void> {
    await this.inLine;
    await this.discard();
  }

  /** Never rejects. */
  private async proved(snapshot: Snapshot): Promise<string | null> {
    const process = await this.ready();
    if (process === null) return null;
    try {
      const finding = await process.run<Finding | null>({ kind: 'prove', snapshot }, this.limits.milliseconds);
      return finding?.message ?? null;
    } catch (error) {
      await this.discard();
      if (error instanceof PreparationExceeded) {
        this.log.warn('admission proof skipped: over its limits', { reason: error.message });
        return null;
      }
      this.log.error('admission proof failed: rules could not be compiled', { err: error });
      return 'the rules that follow from this change cannot be compiled; the log has the reason';
    }
  }

  /** Null: no process could be started; the change is not refused for it. */
  private async ready(): Promise<PreparationProcess | null> {
    if (this.process !== null) return this.process;
    const process = new PreparationProcess(this.limits.heapMebibytes, this.program);
    this.process = process;
    try {
      await process.run({ kind: 'load' }, this.limits.loadMilliseconds);
      return process;
    } catch (error) {
      await this.discard();
      this.log.warn('admission proof skipped: no process for it', { err: error });
      return null;
    }
  }

  private async discard(): Promise<void> {
    const { process } = this;
    this.process = null;
    await process?.end();
  }
}
