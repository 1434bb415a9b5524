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
import type { Snapshot } from '../../trino-rules/model/snapshot.js';
import type { PreparationTask, PreparationTasks, TaskName, TaskResult } from '../domain/preparation-tasks.js';
import { PreparationExceeded, RulesPreparer } from '../domain/run-ports.js';
import type { Artefact } from '../domain/version-access.js';

export type PreparationAnswer<T> = { result: T } | { thrown: string };

/** The compiled program. Tests, which run from source, use it too, because the child process cannot load TypeScript. */
const PROGRAM_URL = new URL('../../../dist/preparation.js', import.meta.url);

/** The signal that ends a Node process when its heap reaches the limit. */
const OUT_OF_MEMORY_SIGNAL = 'SIGABRT';

/**
 * A child process for preparation tasks, one at a time, each with a deadline. It has a lower priority, and ends with the service.
 * A thread would not do: if it exceeded its heap, the whole service would end (Node 24.21, despite `resourceLimits`).
 */
class PreparationProcess {
  private readonly child: ChildProcess;

  constructor(
    private readonly heapMebibytes: number,
    program = PROGRAM_URL,
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
   * @param milliseconds deadline of the task; that of the first task includes loading the program
   * @throws PreparationExceeded; Error with the message of the program's error
   */
  async run<Name extends TaskName>(task: PreparationTask<Name>, milliseconds: number): Promise<TaskResult<Name>> {
    const { child } = this;
    const listenerAbort = new AbortController();
    const { signal } = listenerAbort;
    const rejectWhenLate = async (): Promise<never> => {
      await delay(milliseconds, undefined, { signal });
      throw new PreparationExceeded('deadline', `${milliseconds / 1000} s`);
    };
    const rejectOnExit = async (): Promise<never> => {
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit', { signal });
      const { exitCode, signalCode } = child;
      if (signalCode === OUT_OF_MEMORY_SIGNAL) throw new PreparationExceeded('memory', `${this.heapMebibytes} MiB`);
      throw new Error(`the preparation of the rules ended with ${signalCode ?? `code ${exitCode}`}`);
    };
    const receiveAnswer = async (): Promise<TaskResult<Name>> => {
      // `send` throws if the child could not be started. `once` cannot miss the answer, which arrives in a later turn of the event loop.
      child.send(task);
      const [message] = (await once(child, 'message', { signal })) as [PreparationAnswer<TaskResult<Name>>];
      if ('thrown' in message) throw new Error(message.thrown);
      return message.result;
    };
    this.setIdle(false);
    try {
      return await Promise.race([rejectOnExit(), rejectWhenLate(), receiveAnswer()]);
    } finally {
      listenerAbort.abort();
      this.setIdle(true);
    }
  }

  async end(): Promise<void> {
    const { child } = this;
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exitEvent = once(child, 'exit');
    child.ref();
    child.kill('SIGKILL');
    await exitEvent;
  }

  /** Lets the service's process end while the child is idle. */
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

/** Lowers a process's priority. The lowest priority would delay revokes under constant load. */
function yieldToOthers(pid: number): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // The child has exited already.
  }
}

const BUILT_RULES_URL = new URL('../../../dist/trino-rules/', import.meta.url);

/** The folders with the code that the rules depend on: the compiler, and the model that it uses. */
const COMPILER_FOLDERS = ['compile', 'model'];

/**
 * A digest of the compiler's code: equal digests and equal snapshots give equal bytes. A version number could stay the same while
 * the code changes.
 */
export function compilerDigest(): string {
  const digest = createHash('sha256');
  for (const name of COMPILER_FOLDERS) {
    const folder = new URL(`${name}/`, BUILT_RULES_URL);
    const files = readdirSync(folder).filter((file) => file.endsWith('.js'));
    for (const file of files.sort()) digest.update(`${file}\n`).update(readFileSync(new URL(file, folder)));
  }
  return digest.digest('hex');
}

/** Limits of a preparation. The largest measured snapshot takes 61 s and less than 1 GiB (docs/benchmarks.md); the schedule runs every 300 s. */
const PREPARATION_LIMITS: { milliseconds: number; loadMilliseconds?: number; heapMebibytes: number } = {
  milliseconds: 240_000,
  heapMebibytes: Math.min(1024, Math.floor(getHeapStatistics().heap_size_limit / 2 ** 20)),
};

/** How long a process is kept after a task for OPA, so that the next task finds compiled code and cached data. */
export const KEPT_MS = 600_000;

/** The longest time of a timer, 25 days. */
const LONGEST_MS = 2 ** 31 - 1;

/** Compiles and proves rules in a separate process, so that requests are answered meanwhile and the memory is released afterwards. */
export class SeparateRulesPreparer extends RulesPreparer implements OnApplicationShutdown {
  override readonly compilerDigest = compilerDigest();
  private idleProcess: { process: PreparationProcess; timeout: NodeJS.Timeout } | null = null;

  /** @param idleMs milliseconds for which a process is kept after its task; 0: it ends at once */
  constructor(
    private readonly idleMs = 0,
    private readonly limits = PREPARATION_LIMITS,
    private readonly program = PROGRAM_URL,
  ) {
    super();
  }

  override async run<Name extends TaskName>(
    name: Name,
    ...args: Parameters<PreparationTasks[Name]>
  ): Promise<TaskResult<Name>> {
    const { milliseconds, loadMilliseconds = milliseconds, heapMebibytes } = this.limits;
    const process = this.takeIdleProcess() ?? new PreparationProcess(heapMebibytes, this.program);
    let isKept = false;
    try {
      const result = await process.run({ name, args }, name === 'load' ? loadMilliseconds : milliseconds);
      isKept = this.keepProcess(process);
      return result;
    } finally {
      if (!isKept) await process.end();
    }
  }

  async onApplicationShutdown(): Promise<void> {
    await this.takeIdleProcess()?.end();
  }

  private takeIdleProcess(): PreparationProcess | null {
    const { idleProcess: idleEntry } = this;
    this.idleProcess = null;
    clearTimeout(idleEntry?.timeout);
    return idleEntry?.process ?? null;
  }

  private keepProcess(process: PreparationProcess): boolean {
    if (this.idleMs === 0 || this.idleProcess !== null) return false;
    const timeout = setTimeout(() => void this.takeIdleProcess()?.end(), this.idleMs).unref();
    this.idleProcess = { process, timeout };
    return true;
  }
}

/**
 * Limits of admission proofs. `milliseconds`: for one proof. `work`: users × (grants + policies); 2.7 million in the largest catalog of the
 * enterprise benchmark, with a proof of one second. `waiting`: running and queued proofs. `loadMilliseconds`: for loading a new process's program.
 */
const PROOF_LIMITS = { milliseconds: 2_000, work: 3_000_000, waiting: 8, loadMilliseconds: 30_000, heapMebibytes: 256 };

const NO_OBJECTION: AdmissionVerdict = { refusal: null, verdicts: [] };

/** Proves changes in a process that stays alive, because loading the compiler takes long. A change whose proof exceeds the limits is left to the next run. */
export class SeparateAdmissionProof extends AdmissionProof implements OnApplicationShutdown {
  private readonly proveInTurn = serialRunner();
  private readonly judgeInTurn = serialRunner();
  private waitingProofCount = 0;
  /** Keeps its process for the next proof. */
  private readonly prover: SeparateRulesPreparer;
  private readonly preparer: RulesPreparer;

  constructor(
    private readonly log: Log,
    private readonly artefacts: readonly Artefact[],
    private readonly limits = PROOF_LIMITS,
    program?: URL,
  ) {
    super();
    this.prover = new SeparateRulesPreparer(LONGEST_MS, limits, program);
    this.preparer = new SeparateRulesPreparer(0, PREPARATION_LIMITS, program);
  }

  override async judge(snapshot: Snapshot, formerSnapshot: Snapshot | null): Promise<AdmissionVerdict> {
    const { users, grants, policies } = snapshot;
    const workEstimate = users.length * (grants.length + policies.length);
    if (workEstimate > this.limits.work || this.waitingProofCount >= this.limits.waiting) return NO_OBJECTION;
    this.waitingProofCount += 1;
    try {
      return await this.proveInTurn(() => this.prove(snapshot, formerSnapshot));
    } finally {
      this.waitingProofCount -= 1;
    }
  }

  /** Uses another process than `judge`, so that calls of `judge` never wait for it. Judges one snapshot at a time. Never rejects. */
  override judgeGuarantees(snapshot: Snapshot): Promise<AdmissionVerdict> {
    return this.judgeInTurn(async () => {
      try {
        return await this.preparer.run('admit', snapshot, null, this.artefacts);
      } catch (error) {
        if (!(error instanceof PreparationExceeded)) return this.verdictOnFailure(error);
        this.log.warn('guarantees not judged: over the limits', { reason: error.message });
        return { refusal: error.message, verdicts: [] };
      }
    });
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all([
      this.proveInTurn(() => this.prover.onApplicationShutdown()),
      this.judgeInTurn(() => Promise.resolve()),
    ]);
  }

  /** Never rejects. */
  private async prove(snapshot: Snapshot, formerSnapshot: Snapshot | null): Promise<AdmissionVerdict> {
    try {
      await this.prover.run('load');
    } catch (error) {
      this.log.warn('admission proof skipped: no process for it', { err: error });
      return NO_OBJECTION;
    }
    try {
      return await this.prover.run('admit', snapshot, formerSnapshot, this.artefacts);
    } catch (error) {
      if (!(error instanceof PreparationExceeded)) return this.verdictOnFailure(error);
      this.log.warn('admission proof skipped: over its limits', { reason: error.message });
      return NO_OBJECTION;
    }
  }

  private verdictOnFailure(error: unknown): AdmissionVerdict {
    this.log.error('admission proof failed: rules could not be compiled', { err: error });
    const refusal = 'the rules cannot be compiled; the log has the reason';
    return { refusal, verdicts: [] };
  }
}
