import { Injectable } from '@nestjs/common';

/**
 * Notifies the publisher of changed accounts, groups, grants and policies. Only of this process's changes: the schedule finds
 * the others.
 */
@Injectable()
export class AccessChangesService {
  private readonly listeners = new Set<() => void>();

  /** @returns a function that unsubscribes. */
  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  /** To be called after the transaction, so that a listener reads what was changed. */
  announce(): void {
    for (const listener of this.listeners) listener();
  }
}
