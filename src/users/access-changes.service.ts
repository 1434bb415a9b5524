import { Injectable } from '@nestjs/common';

/**
 * Notifies the publisher of changes of accounts, groups, grants and policies in this process. The schedule finds those of other
 * processes.
 */
@Injectable()
export class AccessChangesService {
  private readonly listeners = new Set<() => void>();

  /** @returns a function that unsubscribes */
  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  /** To be called after the transaction, so that listeners read the change. */
  announce(): void {
    for (const listener of this.listeners) listener();
  }
}
