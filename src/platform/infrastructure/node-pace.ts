import { setTimeout as delay } from 'node:timers/promises';
import { Pace } from '../../kernel/pace.js';

export class NodePace extends Pace {
  override now(): number {
    return performance.now();
  }

  override async wait(milliseconds: number, signal?: AbortSignal): Promise<void> {
    await delay(milliseconds, undefined, { ref: false, ...(signal === undefined ? {} : { signal }) });
  }

  override chance(): number {
    return Math.random();
  }
}
