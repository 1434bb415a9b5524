import { AsyncResource } from 'node:async_hooks';
import { Injectable } from '@nestjs/common';

/**
 * Notifies the publisher when this process changes accounts, groups, grants or policies. The scheduled publication finds changes by other
 * processes.
 */
@Injectable()
export class AccessChangesService {
  private readonly listeners = new Set<() => void>();
  private readonly accessChecks = new Set<() => Promise<unknown>>();

  /** Adds a listener. It runs in its own asynchronous context, outside of the announcing transaction. @returns a function that removes it */
  subscribe(listener: () => void): () => void {
    const boundListener = AsyncResource.bind(listener);
    this.listeners.add(boundListener);
    return () => void this.listeners.delete(boundListener);
  }

  /** Adds a check that runs in the transaction of each account change that may give access. It refuses the change by throwing Refused. */
  addCheck(check: () => Promise<unknown>): void {
    this.accessChecks.add(check);
  }

  /** Runs all checks. Must be called in the transaction of the change. @throws Refused if a check refuses the change */
  async check(): Promise<void> {
    for (const check of this.accessChecks) await check();
  }

  /** Calls the listeners. Must be called after the transaction of the change, so that listeners read the change. */
  announce(): void {
    for (const listener of this.listeners) listener();
  }
}
