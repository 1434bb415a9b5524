import { getOrInsert } from './collections.js';

/** The place of an admitted request, which may acquire slots (permits to run), one at a time. */
export interface Place {
  readonly owner: Owner;
  /** Whether the request has had a slot. From the first slot on it cannot be displaced. */
  hasBegun: boolean;
  isDisplaced: boolean;
}

export type Acquisition = 'granted' | 'displaced' | 'aborted';

interface Waiter {
  place: Place;
  settle: (acquisition: Acquisition) => void;
}

interface Owner {
  readonly name: string;
  placeCount: number;
  runningCount: number;
  readonly waiters: Waiter[];
}

/**
 * A semaphore that is max-min fair between owners: the next slot goes to the owner with the fewest slots. Requests of one owner are served in
 * order. Every request, waiting or running, occupies a place. If no place is free, a new request displaces the newest waiting request of the
 * owner with the most places (longest queue drop).
 */
export class FairQueue {
  /** Owners by name, the least recently served first. */
  private readonly owners = new Map<string, Owner>();
  private placeCount = 0;
  private runningCount = 0;

  constructor(
    private readonly maxRunning: number,
    private readonly maxPlaces: number,
  ) {}

  get takenPlaceCount(): number {
    return this.placeCount;
  }

  get waitingCount(): number {
    return Array.from(this.owners.values()).reduce((sum, { waiters }) => sum + waiters.length, 0);
  }

  /** Occupies a place, which `leave` must free. Null: there is no place for this owner. */
  enter(name: string): Place | null {
    const ownerPlaceCount = (this.owners.get(name)?.placeCount ?? 0) + 1;
    if (this.placeCount >= this.maxPlaces && !this.displace(ownerPlaceCount)) return null;
    const owner = getOrInsert(this.owners, name, () => ({ name, placeCount: 0, runningCount: 0, waiters: [] }));
    owner.placeCount += 1;
    this.placeCount += 1;
    return { owner, hasBegun: false, isDisplaced: false };
  }

  /** Waits for a slot. If the slot is granted, `release` must free it. */
  acquire(place: Place, signal?: AbortSignal): Promise<Acquisition> {
    if (signal?.aborted === true) return Promise.resolve('aborted');
    const { waiters } = place.owner;
    return new Promise((resolve) => {
      const abort = (): void => {
        waiters.splice(waiters.indexOf(waiter), 1);
        resolve('aborted');
      };
      const settle = (acquisition: Acquisition): void => {
        signal?.removeEventListener('abort', abort);
        resolve(acquisition);
      };
      const waiter = { place, settle };
      signal?.addEventListener('abort', abort, { once: true });
      waiters.push(waiter);
      this.grantSlots();
    });
  }

  release({ owner }: Place): void {
    this.runningCount -= 1;
    owner.runningCount -= 1;
    this.owners.delete(owner.name);
    this.owners.set(owner.name, owner);
    this.grantSlots();
  }

  leave(place: Place): void {
    if (place.isDisplaced) return;
    const { owner } = place;
    owner.placeCount -= 1;
    this.placeCount -= 1;
    if (owner.placeCount === 0) this.owners.delete(owner.name);
  }

  private grantSlots(): void {
    while (this.runningCount < this.maxRunning) {
      const owner = leastBusyOwnerOf(this.owners.values());
      const nextWaiter = owner?.waiters.shift();
      if (owner === null || nextWaiter === undefined) return;
      this.runningCount += 1;
      owner.runningCount += 1;
      nextWaiter.place.hasBegun = true;
      nextWaiter.settle('granted');
    }
  }

  /** Removes the newest waiting request of the owner with the most places in the queue, if these are more than `ownerPlaceCount`. */
  private displace(ownerPlaceCount: number): boolean {
    let largestOwner: Owner | null = null;
    for (const owner of this.owners.values()) {
      if (owner.placeCount > (largestOwner?.placeCount ?? ownerPlaceCount) && owner.waiters.some(hasNotBegun))
        largestOwner = owner;
    }
    if (largestOwner === null) return false;
    for (const { place, settle } of largestOwner.waiters.splice(largestOwner.waiters.findLastIndex(hasNotBegun), 1)) {
      this.leave(place);
      place.isDisplaced = true;
      settle('displaced');
    }
    return true;
  }
}

function hasNotBegun({ place }: Waiter): boolean {
  return !place.hasBegun;
}

function leastBusyOwnerOf(owners: Iterable<Owner>): Owner | null {
  let leastBusyOwner: Owner | null = null;
  for (const owner of owners) {
    if (owner.waiters.length > 0 && (leastBusyOwner === null || owner.runningCount < leastBusyOwner.runningCount))
      leastBusyOwner = owner;
  }
  return leastBusyOwner;
}
