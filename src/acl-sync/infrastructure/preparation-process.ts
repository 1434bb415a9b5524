import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { constants, setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';
import { PreparationExceeded } from '../domain/rules-preparer.js';
import type { Answer, Task } from './preparation.js';

/** As it was built: a process of its own cannot load TypeScript, and tests run from the source. */
const PROGRAM = new URL('../../../dist/acl-sync/infrastructure/preparation.js', import.meta.url);

/** By Node, when its heap has reached the limit. */
const OUT_OF_MEMORY = 'SIGABRT';

/**
 * A process that carries out the tasks of `preparation.ts`, one at a time, each within its deadline. No thread: one that outgrows its
 * heap ends the whole process (Node 24.21, whatever `resourceLimits` say). It yields to requests, and ends with the service.
 */
export class PreparationProcess {
  private readonly child: ChildProcess;

  constructor(
    private readonly heapMebibytes: number,
    program = PROGRAM,
  ) {
    this.child = fork(fileURLToPath(program), {
      execArgv: [`--max-old-space-size=${heapMebibytes}`],
      env: {}, // nothing of the service's settings, which are secrets in part
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    this.child.on('error', () => undefined); // told to the task under way
    const { pid } = this.child;
    if (pid !== undefined) yieldToOthers(pid);
    this.idle(true);
  }

  /**
   * After a rejection the process is of no use any more, and is to be ended.
   * @param milliseconds for the task, and for loading the program if it is the first
   * @throws PreparationExceeded; Error with what the program threw
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

  /** An idle process keeps no other one alive. */
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

function yieldToOthers(pid: number): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_LOW);
  } catch {
    // It has ended already.
  }
}
