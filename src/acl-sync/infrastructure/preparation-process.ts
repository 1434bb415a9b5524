import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { constants, setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';
import { PreparationExceeded } from '../domain/rules-preparer.js';
import type { Answer, Task } from './preparation.js';

/** The built program: the child process cannot load TypeScript, and tests run from source. */
export const PROGRAM = new URL('../../../dist/preparation.js', import.meta.url);

/** Node aborts when its heap reaches the limit. */
const OUT_OF_MEMORY = 'SIGABRT';

/**
 * A child process for the tasks of `preparation.ts`, one at a time, each with a deadline. Not a thread: one that exceeds its heap
 * ends the whole process (Node 24.21, despite `resourceLimits`). It has a lower priority, and ends with the service.
 */
export class PreparationProcess {
  private readonly child: ChildProcess;

  constructor(
    private readonly heapMebibytes: number,
    program = PROGRAM,
  ) {
    this.child = fork(fileURLToPath(program), {
      execArgv: [`--max-old-space-size=${heapMebibytes}`],
      env: {}, // the service's environment holds secrets
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    this.child.on('error', () => undefined); // the current task rejects with it
    const { pid } = this.child;
    if (pid !== undefined) yieldToOthers(pid);
    this.idle(true);
  }

  /**
   * After a rejection the process is unusable; the caller ends it.
   * @param milliseconds for the task, plus loading the program for the first one
   * @throws PreparationExceeded; Error with the message of the program's error
   */
  async run<T>(task: Task, milliseconds: number): Promise<T> {
    const { child, heapMebibytes } = this;
    const listening = new AbortController();
    this.idle(false);
    try {
      return await new Promise<T>((resolve, reject) => {
        const { signal } = listening;
        const deadline = setTimeout(
          () => reject(new PreparationExceeded('deadline', `${milliseconds / 1000} s`)),
          milliseconds,
        );
        signal.addEventListener('abort', () => clearTimeout(deadline));
        const received = (answer: Answer<T>): void =>
          'thrown' in answer ? reject(new Error(answer.thrown)) : resolve(answer.result);
        const ended = (code: number | null, by: NodeJS.Signals | null): void =>
          reject(
            by === OUT_OF_MEMORY
              ? new PreparationExceeded('memory', `${heapMebibytes} MiB`)
              : new Error(`the preparation of the rules ended with ${by ?? `code ${code}`}`),
          );
        child.on('message', received).on('exit', ended).on('error', reject);
        signal.addEventListener('abort', () => child.off('message', received).off('exit', ended).off('error', reject));
        if (child.exitCode !== null || child.signalCode !== null) ended(child.exitCode, child.signalCode);
        else child.send(task);
      });
    } finally {
      listening.abort();
      this.idle(true);
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
  private idle(isIdle: boolean): void {
    if (isIdle) {
      this.child.unref();
      this.child.channel?.unref();
    } else {
      this.child.ref();
      this.child.channel?.ref();
    }
  }
}

/** A tenth of a busy core is left: with the lowest priority, requests without end would keep revokes from being published. */
function yieldToOthers(pid: number): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // The child has exited already.
  }
}
