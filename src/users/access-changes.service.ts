import { AsyncResource } from 'node:async_hooks';
import { Injectable } from '@nestjs/common';

/**
 * Notifies the publisher of changes of accounts, groups, grants and policies that this process makes. The scheduled publication finds
 * changes by other processes.
 */
@Injectable()
export class AccessChangesService {
  private readonly listeners = new Set<() => void>();
  private readonly judges = new Set<() => Promise<unknown>>();

  /** The listener runs in its own asynchronous context, outside of the announcing transaction. @returns a function that unsubscribes */
  subscribe(listener: () => void): () => void {
    const bound = AsyncResource.bind(listener);
    this.listeners.add(bound);
    return () => void this.listeners.delete(bound);
  }

  /** @param judge called in the transaction of a change of accounts that can give access; throws Refused */
  judgeBy(judge: () => Promise<unknown>): void {
    this.judges.add(judge);
  }

  /** @throws Refused where the change may not be made */
  async judge(): Promise<void> {
    for (const judge of this.judges) await judge();
  }

  /** Must be called after the transaction, so that listeners read the change. */
  announce(): void {
    for (const listener of this.listeners) listener();
  }
}
