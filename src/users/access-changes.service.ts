import { Injectable } from '@nestjs/common';

/**
 * Tells whoever publishes that what people may see has changed, or who may. Only this process's changes: the schedule finds the
 * others.
 */
@Injectable()
export class AccessChangesService {
  private readonly listeners = new Set<() => void>();

  /** @returns the way out. */
  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  /** To be called after the transaction, so that a listener reads what was changed. */
  announce(): void {
    for (const listener of this.listeners) listener();
  }
}
