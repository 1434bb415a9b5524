import type { OnApplicationShutdown } from '@nestjs/common';
import { type ChildProcess, fork } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { getHeapStatistics } from 'node:v8';
import { AdmissionProof, type AdmissionVerdict } from '../../grants/domain/admission-ports.js';
import { serialRunner } from '../../kernel/promises.js';
import type { Log } from '../../platform/log/log.js';
import type { AccessChange } from '../../trino-rules/diff/access-change.js';
import type { Snapshot } from '../../trino-rules/model/snapshot.js';
import type { Candidate, Preparation } from '../domain/candidate.js';
import type { WithdrawalOrder } from '../domain/prepared-withdrawal.js';
import { type CompiledText, PreparationExceeded, RulesPreparer } from '../domain/run-ports.js';

export type PreparationTask =
  | { kind: 'prepare'; preparation: Preparation }
  | { kind: 'withdraw'; preparation: Preparation; order: WithdrawalOrder }
  | { kind: 'compile'; snapshot: Snapshot; limit: number | null }
  | { kind: 'compare'; before: string; after: string }
  | { kind: 'prove'; snapshot: Snapshot; former: Snapshot | null }
  | { kind: 'load' };

export type PreparationAnswer<T> = { result: T } | { thrown: string };

/** The built program: the child process cannot load TypeScript, and tests run from source. */
const PROGRAM = new URL('../../../dist/preparation.js', import.meta.url);

/** Node aborts when its heap reaches the limit. */
const OUT_OF_MEMORY = 'SIGABRT';

/**
 * A child process for the tasks of `preparation.ts`, one at a time, each with a deadline. Not a thread: one that exceeds its heap
 * ends the whole process (Node 24.21, despite `resourceLimits`). It has a lower priority, and ends with the service.
 */
class PreparationProcess {
  private readonly child: ChildProcess;

  constructor(
    private readonly heapMebibytes: number,
    program = PROGRAM,
  ) {
    this.child = fork(fileURLToPath(program), {
      execArgv: [`--max-old-space-size=${heapMebibytes}`],
      env: {}, // empty, because the service's environment contains secrets
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    this.child.on('error', () => undefined); // the current task rejects with the error
    const { pid } = this.child;
    if (pid !== undefined) yieldToOthers(pid);
    this.setIdle(true);
  }

  /**
   * Runs a task. After a rejection the process is unusable, and the caller must end it.
   * @param milliseconds for the task, plus loading the program for the first one
   * @throws PreparationExceeded; Error with the message of the program's error
   */
  async run<T>(task: PreparationTask, milliseconds: number): Promise<T> {
    const { child } = this;
    const listening = new AbortController();
    const { signal } = listening;
    const late = async (): Promise<never> => {
      await delay(milliseconds, undefined, { signal });
      throw new PreparationExceeded('deadline', `${milliseconds / 1000} s`);
    };
    const exited = async (): Promise<never> => {
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit', { signal });
      const { exitCode, signalCode } = child;
      if (signalCode === OUT_OF_MEMORY) throw new PreparationExceeded('memory', `${this.heapMebibytes} MiB`);
      throw new Error(`the preparation of the rules ended with ${signalCode ?? `code ${exitCode}`}`);
    };
    const answered = async (): Promise<T> => {
      // Sent first: a child that could not be started throws here, and no answer arrives before the next turn of the event loop.
      child.send(task);
      const [message] = (await once(child, 'message', { signal })) as [PreparationAnswer<T>];
      if ('thrown' in message) throw new Error(message.thrown);
      return message.result;
    };
    this.setIdle(false);
    try {
      return await Promise.race([exited(), late(), answered()]);
    } finally {
      listening.abort();
      this.setIdle(true);
    }
  }

  async end(): Promise<void> {
    const { child } = this;
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.ref();
    child.kill('SIGKILL');
    await ended;
  }

  /** An idle child does not keep the service's process alive. */
  private setIdle(isIdle: boolean): void {
    if (isIdle) {
      this.child.unref();
      this.child.channel?.unref();
    } else {
      this.child.ref();
      this.child.channel?.ref();
    }
  }
}

/** Lowers the priority so that a tenth of a busy core is left. With the lowest one, constant requests would keep revokes from publication. */
function yieldToOthers(pid: number): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // The child has exited already.
  }
}

const BUILT = new URL('../../../dist/trino-rules/', import.meta.url);

/** The code that the rules depend on: the compiler and what it reads of the model. */
const FOLDERS = ['compile', 'model'];

/**
 * A digest of the compiler's code: equal digests and equal snapshots give equal bytes. A version number could stay the same while
 * the code changes.
 */
export function compilerDigest(): string {
  const digest = createHash('sha256');
  for (const name of FOLDERS) {
    const folder = new URL(`${name}/`, BUILT);
    const files = readdirSync(folder).filter((file) => file.endsWith('.js'));
    for (const file of files.sort()) digest.update(`${file}\n`).update(readFileSync(new URL(file, folder)));
  }
  return digest.digest('hex');
}

/** Limits of a preparation. The largest measured snapshot takes 61 s and less than 1 GiB (docs/benchmarks.md); the schedule runs every 300 s. */
const LIMITS = {
  milliseconds: 240_000,
  heapMebibytes: Math.min(1024, Math.floor(getHeapStatistics().heap_size_limit / 2 ** 20)),
};

/** Prepares each candidate in its own process, so that requests are answered meanwhile and the memory is released afterwards. */
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

  private runInProcess<T>(task: PreparationTask): Promise<T> {
    return inOwnProcess<T>(task, this.limits, this.program);
  }
}

async function inOwnProcess<T>(
  task: PreparationTask,
  { milliseconds, heapMebibytes }: typeof LIMITS,
  program?: URL,
): Promise<T> {
  const process = new PreparationProcess(heapMebibytes, program);
  try {
    return await process.run<T>(task, milliseconds);
  } finally {
    await process.end();
  }
}

/**
 * `milliseconds`: for one proof. `work`: most rows × users (the largest catalog of the enterprise benchmark has 2.7 million and
 * takes one second). `waiting`: most queued proofs. `loadMilliseconds`: for loading the program of a new process.
 */
const PROOF_LIMITS = { milliseconds: 2_000, work: 3_000_000, waiting: 8, loadMilliseconds: 30_000, heapMebibytes: 256 };

const LEFT_TO_THE_RUN: AdmissionVerdict = { refusal: null, verdicts: [] };

/** Keeps one process, because loading the compiler takes longer than most proofs. Proofs over a limit are left to the run. */
export class SeparateAdmissionProof extends AdmissionProof implements OnApplicationShutdown {
  private process: PreparationProcess | null = null;
  private readonly proveInTurn = serialRunner();
  private readonly judgeInTurn = serialRunner();
  private waiting = 0;

  constructor(
    private readonly log: Log,
    private readonly limits = PROOF_LIMITS,
    private readonly program?: URL,
  ) {
    super();
  }

  override async judge(snapshot: Snapshot, former: Snapshot | null): Promise<AdmissionVerdict> {
    const { users, grants, policies } = snapshot;
    const work = users.length * (grants.length + policies.length);
    if (work > this.limits.work || this.waiting >= this.limits.waiting) return LEFT_TO_THE_RUN;
    this.waiting += 1;
    try {
      return await this.proveInTurn(() => this.prove(snapshot, former));
    } finally {
      this.waiting -= 1;
    }
  }

  /** In a process of its own, one after the other, so that writes are admitted meanwhile. Never rejects. */
  override judgeGuarantees(snapshot: Snapshot): Promise<AdmissionVerdict> {
    return this.judgeInTurn(async () => {
      const task = { kind: 'prove', snapshot, former: null } as const;
      try {
        return await inOwnProcess<AdmissionVerdict>(task, LIMITS, this.program);
      } catch (error) {
        if (!(error instanceof PreparationExceeded)) return this.verdictOnFailure(error);
        this.log.warn('guarantees not judged: over the limits', { reason: error.message });
        return { refusal: error.message, verdicts: [] };
      }
    });
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all([this.proveInTurn(() => this.endProcess()), this.judgeInTurn(() => Promise.resolve())]);
  }

  /** Never rejects. */
  private async prove(snapshot: Snapshot, former: Snapshot | null): Promise<AdmissionVerdict> {
    const process = await this.readyProcess();
    if (process === null) return LEFT_TO_THE_RUN;
    try {
      return await process.run<AdmissionVerdict>({ kind: 'prove', snapshot, former }, this.limits.milliseconds);
    } catch (error) {
      await this.endProcess();
      if (error instanceof PreparationExceeded) {
        this.log.warn('admission proof skipped: over its limits', { reason: error.message });
        return LEFT_TO_THE_RUN;
      }
      return this.verdictOnFailure(error);
    }
  }

  private verdictOnFailure(error: unknown): AdmissionVerdict {
    this.log.error('admission proof failed: rules could not be compiled', { err: error });
    const refusal = 'the rules cannot be compiled; the log has the reason';
    return { refusal, verdicts: [] };
  }

  /** A process that has loaded its program. Null: none could be started, for which no change is refused. */
  private async readyProcess(): Promise<PreparationProcess | null> {
    if (this.process !== null) return this.process;
    const process = new PreparationProcess(this.limits.heapMebibytes, this.program);
    this.process = process;
    try {
      await process.run({ kind: 'load' }, this.limits.loadMilliseconds);
      return process;
    } catch (error) {
      await this.endProcess();
      this.log.warn('admission proof skipped: no process for it', { err: error });
      return null;
    }
  }

  private async endProcess(): Promise<void> {
    const { process } = this;
    this.process = null;
    await process?.end();
  }
}
