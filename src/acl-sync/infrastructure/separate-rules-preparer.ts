import { getHeapStatistics } from 'node:v8';
import type { AccessChange } from '../../trino-rules/diff/access-change.js';
import type { Snapshot } from '../../trino-rules/model/snapshot.js';
import type { Candidate, Preparation } from '../domain/candidate.js';
import type { WithdrawalOrder } from '../domain/prepared-withdrawal.js';
import { type CompiledText, RulesPreparer } from '../domain/rules-preparer.js';
import { compilerDigest } from './compiler-digest.js';
import { PreparationProcess, PROGRAM } from './preparation-process.js';
import type { Task } from './preparation.js';

/** The largest measured snapshot takes 61 s and less than 1 GiB (docs/benchmarks.md); the schedule runs every 300 s. */
const LIMITS = {
  milliseconds: 240_000,
  heapMebibytes: Math.min(1024, Math.floor(getHeapStatistics().heap_size_limit / 2 ** 20)),
};

/** One process per preparation, so that requests are answered meanwhile and its memory is released. */
export class SeparateRulesPreparer extends RulesPreparer {
  override readonly build = compilerDigest();

  constructor(
    private readonly limits = LIMITS,
    private readonly program = PROGRAM,
  ) {
    super();
  }

  override prepare(preparation: Preparation): Promise<Candidate> {
    return this.runInProcess({ kind: 'prepare', preparation });
  }

  override compile(snapshot: Snapshot, limit: number | null): Promise<CompiledText> {
    return this.runInProcess({ kind: 'compile', snapshot, limit });
  }

  override compare(before: string, after: string): Promise<AccessChange> {
    return this.runInProcess({ kind: 'compare', before, after });
  }

  override withdraw(preparation: Preparation, order: WithdrawalOrder): Promise<Candidate | null> {
    return this.runInProcess({ kind: 'withdraw', preparation, order });
  }

  /** The program's result for a task of this kind. */
  private async runInProcess<T>(task: Task): Promise<T> {
    const process = new PreparationProcess(this.limits.heapMebibytes, this.program);
    try {
      return await process.run<T>(task, this.limits.milliseconds);
    } finally {
      await process.end();
    }
  }
}
