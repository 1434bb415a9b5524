import { getHeapStatistics } from 'node:v8';
import { Worker } from 'node:worker_threads';
import type { Snapshot } from '../../grants/domain/snapshot.js';
import type { Candidate, Preparation } from '../domain/candidate.js';
import type { Task } from './preparation.js';
import { PreparationExceeded, RulesPreparer } from '../domain/rules-preparer.js';

/** As it was built: a thread of its own cannot load TypeScript, and tests run from the source. */
const PROGRAM = new URL('../../../dist/acl-sync/infrastructure/preparation.js', import.meta.url);

/** The largest world that is measured takes 61 s and less than 1 GiB (docs/benchmarks.md); the schedule comes every 300 s. */
const LIMITS = { milliseconds: 240_000, heapMebibytes: Math.min(1024, getHeapStatistics().heap_size_limit >> 20) };

/** A thread for each preparation, so that requests are answered meanwhile and its memory is given back. */
export class ThreadedRulesPreparer extends RulesPreparer {
  constructor(
    private readonly limits = LIMITS,
    private readonly program = PROGRAM,
  ) {
    super();
  }

  override prepare(preparation: Preparation): Promise<Candidate> {
    return this.inThread({ kind: 'prepare', preparation });
  }

  override compile(snapshot: Snapshot): Promise<string> {
    return this.inThread({ kind: 'compile', snapshot });
  }

  override withdraw(preparation: Preparation, how: 'compiled' | 'closed'): Promise<Candidate | null> {
    return this.inThread({ kind: 'withdraw', preparation, how });
  }

  /** What the program answers to a task of this kind. */
  private async inThread<T>(task: Task): Promise<T> {
    const { milliseconds, heapMebibytes } = this.limits;
    const worker = new Worker(this.program, {
      workerData: task,
      resourceLimits: { maxOldGenerationSizeMb: heapMebibytes },
    });
    let deadline: NodeJS.Timeout | undefined;
    try {
      return await new Promise<T>((resolve, reject) => {
        deadline = setTimeout(
          () => reject(new PreparationExceeded('deadline', `${milliseconds / 1000} s`)),
          milliseconds,
        );
        worker.once('message', (answer: T) => resolve(answer));
        worker.once('error', (error: NodeJS.ErrnoException) => {
          const isMemory = error.code === 'ERR_WORKER_OUT_OF_MEMORY';
          reject(isMemory ? new PreparationExceeded('memory', `${heapMebibytes} MiB`) : error);
        });
        // After a message this changes nothing; a thread that dies without one must not leave the run waiting.
        worker.once('exit', (code) => reject(new Error(`the preparation of the rules ended with code ${code}`)));
      });
    } finally {
      clearTimeout(deadline);
      await worker.terminate();
    }
  }
}
