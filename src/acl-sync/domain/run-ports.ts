import { NamedError } from '../../kernel/errors.js';
import type { PreparationTasks, TaskName, TaskResult } from './preparation-tasks.js';

export class PreparationExceeded extends NamedError {
  constructor(
    readonly reason: 'deadline' | 'memory',
    limitText: string,
  ) {
    super(`compiling and checking the rules takes more than ${limitText}`);
  }
}

/** Compiles and checks rules outside the event loop, because that takes seconds. */
export abstract class RulesPreparer {
  /** Digest of the compiler. Equal compilers make equal texts from equal snapshots. */
  abstract readonly compilerDigest: string;
  /** Runs a task. @throws PreparationExceeded; Error with the message of the task's error */
  abstract run<Name extends TaskName>(
    name: Name,
    ...args: Parameters<PreparationTasks[Name]>
  ): Promise<TaskResult<Name>>;
}

/** The right to publish, while the lock is held. */
export interface Lease {
  /** Checks that the lock is still held. Must be called before every write. @throws LeaseLost */
  confirm(): Promise<void>;
}

export abstract class SyncLock {
  /**
   * @param lockTimeoutMs how long to wait for another run
   * @returns `busy` when the other run took longer
   */
  abstract whileHeld<T>(
    lockTimeoutMs: number,
    work: (lease: Lease) => Promise<T>,
  ): Promise<{ kind: 'held'; result: T } | { kind: 'busy' }>;
}

/** Thrown if the connection that held the lock is lost, so that another run may have started. */
export class LeaseLost extends NamedError {
  constructor() {
    super('the connection to the database that kept other runs away was lost');
  }
}
