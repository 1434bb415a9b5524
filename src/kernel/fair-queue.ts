import { getOrInsert } from './collections.js';

/** An admitted request: it may acquire slots, one at a time. */
export interface Place {
  readonly owner: Owner;
  /** True after the first slot; it cannot be displaced any more. */
  begun: boolean;
  displaced: boolean;
}

export type Acquisition = 'granted' | 'displaced' | 'aborted';

interface Waiter {
  place: Place;
  settle: (acquisition: Acquisition) => void;
}

interface Owner {
  readonly name: string;
  places: number;
  running: number;
  readonly waiting: Waiter[];
}

/**
 * A semaphore that is max-min fair between owners: next is the owner with the fewest acquired slots, among equal ones the least
 * recently served. Requests of one owner are served in order. When all places are taken, a request of an owner with fewer places
 * displaces the newest waiting request of the owner with most (longest queue drop).
 */
export class FairQueue {
  /** Ordered by the last time that they were served, the oldest first. */
  private readonly owners = new Map<string, Owner>();
  private placesTaken = 0;
  private running = 0;

  constructor(
    private readonly concurrency: number,
    private readonly places: number,
  ) {}

  get taken(): number {
    return this.placesTaken;
  }

  get waiting(): number {
    return Array.from(this.owners.values()).reduce((sum, { waiting }) => sum + waiting.length, 0);
  }

  /** Null: all places are taken, and no other owner has more of them. A place must be given back by `leave`. */
  enter(name: string): Place | null {
    const share = (this.owners.get(name)?.places ?? 0) + 1;
    if (this.placesTaken >= this.places && !this.displace(share)) return null;
    const owner = getOrInsert(this.owners, name, () => ({ name, places: 0, running: 0, waiting: [] }));
    owner.places += 1;
    this.placesTaken += 1;
    return { owner, begun: false, displaced: false };
  }

  /** Waits for a slot; a granted one must be given back by `release`. */
  acquire(place: Place, signal?: AbortSignal): Promise<Acquisition> {
    if (signal?.aborted === true) return Promise.resolve('aborted');
    const { waiting } = place.owner;
    return new Promise((resolve) => {
      const abort = (): void => {
        waiting.splice(waiting.indexOf(waiter), 1);
        resolve('aborted');
      };
      const settle = (acquisition: Acquisition): void => {
        signal?.removeEventListener('abort', abort);
        resolve(acquisition);
      };
      const waiter = { place, settle };
      signal?.addEventListener('abort', abort, { once: true });
      waiting.push(waiter);
      this.grant();
    });
  }

  release({ owner }: Place): void {
    this.running -= 1;
    owner.running -= 1;
    this.owners.delete(owner.name);
    this.owners.set(owner.name, owner);
    this.grant();
  }

  leave(place: Place): void {
    if (place.displaced) return;
    const { owner } = place;
    owner.places -= 1;
    this.placesTaken -= 1;
    if (owner.places === 0) this.owners.delete(owner.name);
  }

  private grant(): void {
    while (this.running < this.concurrency) {
      const owner = fewestRunning(this.owners.values());
      const next = owner?.waiting.shift();
      if (owner === null || next === undefined) return;
      this.running += 1;
      owner.running += 1;
      next.place.begun = true;
      next.settle('granted');
    }
  }

  /** False: no owner with more places than `share` has one that has not begun. */
  private displace(share: number): boolean {
    let largest: Owner | null = null;
    for (const owner of this.owners.values()) {
      if (owner.places > (largest?.places ?? share) && owner.waiting.some(hasNotBegun)) largest = owner;
    }
    if (largest === null) return false;
    for (const { place, settle } of largest.waiting.splice(largest.waiting.findLastIndex(hasNotBegun), 1)) {
      this.leave(place);
      place.displaced = true;
      settle('displaced');
    }
    return true;
  }
}

function hasNotBegun({ place }: Waiter): boolean {
  return !place.begun;
}

function fewestRunning(owners: Iterable<Owner>): Owner | null {
  let found: Owner | null = null;
  for (const owner of owners) {
    if (owner.waiting.length > 0 && (found === null || owner.running < found.running)) found = owner;
  }
  return found;
}
