import { Worker } from 'node:worker_threads';
import { PreparationExceeded } from '../domain/rules-preparer.js';
import type { Task } from './preparation.js';

/** As it was built: a thread of its own cannot load TypeScript, and tests run from the source. */
const PROGRAM = new URL('../../../dist/acl-sync/infrastructure/preparation.js', import.meta.url);

/** A thread that carries out the tasks of `preparation.ts`, one at a time, each within its deadline. */
export class PreparationThread {
  private readonly worker: Worker;

  constructor(
    private readonly heapMebibytes: number,
    program = PROGRAM,
  ) {
    this.worker = new Worker(program, { resourceLimits: { maxOldGenerationSizeMb: heapMebibytes } });
    this.worker.unref(); // an idle thread keeps no process alive
    this.worker.on('error', () => undefined); // told to the task under way
  }

  /**
   * After a rejection the thread is of no use any more, and is to be ended.
   * @param milliseconds for the task, and for loading the program if it is the first
   * @throws PreparationExceeded, or what the program threw
   */
  async run<T>(task: Task, milliseconds: number): Promise<T> {
    const { worker, heapMebibytes } = this;
    const listening = new AbortController();
    worker.ref();
    try {
      return await new Promise<T>((resolve, reject) => {
        const deadline = setTimeout(
          () => reject(new PreparationExceeded('deadline', `${milliseconds / 1000} s`)),
          milliseconds,
        );
        const listeners = {
          message: (answer: T) => resolve(answer),
          error: (error: NodeJS.ErrnoException) => {
            const isMemory = error.code === 'ERR_WORKER_OUT_OF_MEMORY';
            reject(isMemory ? new PreparationExceeded('memory', `${heapMebibytes} MiB`) : error);
          },
          // A thread that dies without a message must not leave the run waiting.
          exit: (code: number) => reject(new Error(`the preparation of the rules ended with code ${code}`)),
        };
        for (const [event, listener] of Object.entries(listeners)) worker.on(event, listener);
        listening.signal.addEventListener('abort', () => {
          clearTimeout(deadline);
          for (const [event, listener] of Object.entries(listeners)) worker.off(event, listener);
        });
        worker.postMessage(task);
      });
    } finally {
      listening.abort();
      worker.unref();
    }
  }

  async end(): Promise<void> {
    await this.worker.terminate();
  }
}
