import { setTimeout as delay } from 'node:timers/promises';
import { Timers } from '../../kernel/timers.js';

export class NodeTimers extends Timers {
  override now(): number {
    return performance.now();
  }

  override async wait(milliseconds: number, signal?: AbortSignal): Promise<void> {
    try {
      await delay(milliseconds, undefined, { ref: false, ...(signal === undefined ? {} : { signal }) });
    } catch (error) {
      signal?.throwIfAborted();
      throw error;
    }
  }
}
