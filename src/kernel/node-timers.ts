import { Timers } from './clock.js';

export class NodeTimers extends Timers {
  override now(): number {
    return performance.now();
  }

  override wait(milliseconds: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted === true) return Promise.reject(signal.reason as Error);
    return new Promise((resolve, reject) => {
      const end = (): void => {
        clearTimeout(timer);
        reject(signal?.reason as Error);
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener('abort', end);
        resolve();
      }, milliseconds).unref();
      signal?.addEventListener('abort', end, { once: true });
    });
  }
}
