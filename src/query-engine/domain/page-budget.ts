/** `share`: the owner's share is used up. `full`: the budget is, and no page of an owner who holds more can be evicted. */
export type Claim = 'granted' | 'share' | 'full';

/** Owners that fill the whole budget together. */
const OWNERS = 4;

/**
 * The bytes that pages and answers of this replica may hold, with a share for each owner. Pages at rest, which no reader
 * uses at the moment, are evicted for owners who hold less, and for their own once they have been read; the engine gives such a page again while
 * it waits.
 */
export class PageBudget {
  private readonly share: number;
  private readonly charges = new Set<PageCharge>();
  private readonly byOwner = new Map<string, number>();
  private held = 0;

  /** @param most bytes in all. @param largestPage bytes that one owner can hold at least. */
  constructor(
    private readonly most: number,
    largestPage: number,
  ) {
    this.share = Math.max(largestPage, Math.floor(most / OWNERS));
  }

  /** Bytes that are held now. */
  get bytes(): number {
    return this.held;
  }

  open(owner: string): PageCharge {
    const charge = new PageCharge(owner, this);
    this.charges.add(charge);
    return charge;
  }

  /** For charges: claims that many more bytes for its owner. */
  claim({ owner }: PageCharge, bytes: number): Claim {
    while (this.of(owner) + bytes > this.share) {
      const spare = this.spareOf(owner);
      if (spare === null) return 'share';
      spare.evict();
    }
    while (this.held + bytes > this.most) {
      const heaviest = this.heaviestAtRest();
      if (heaviest === null || this.of(heaviest.owner) <= this.of(owner)) return 'full';
      heaviest.evict();
    }
    this.add(owner, bytes);
    return 'granted';
  }

  /** For charges: releases its bytes. */
  close(charge: PageCharge, bytes: number): void {
    this.charges.delete(charge);
    this.add(charge.owner, -bytes);
  }

  private of(owner: string): number {
    return this.byOwner.get(owner) ?? 0;
  }

  private add(owner: string, bytes: number): void {
    this.held += bytes;
    const mine = this.of(owner) + bytes;
    if (mine === 0) this.byOwner.delete(owner);
    else this.byOwner.set(owner, mine);
  }

  /** The owner's oldest page at rest that has been read. */
  private spareOf(owner: string): PageCharge | null {
    for (const charge of this.charges) if (charge.owner === owner && charge.isSpare) return charge;
    return null;
  }

  /** The oldest page at rest of the owner with the most bytes. */
  private heaviestAtRest(): PageCharge | null {
    let heaviest: PageCharge | null = null;
    for (const charge of this.charges) {
      if (!charge.rests) continue;
      if (heaviest === null || this.of(charge.owner) > this.of(heaviest.owner)) heaviest = charge;
    }
    return heaviest;
  }
}

/** Bytes that one page or answer holds, from the first one that is read until the last holder has released it. */
export class PageCharge {
  private bytes = 0;
  private holders = 1;
  private onEvict: (() => void) | null = null;
  private isRead = false;

  constructor(
    readonly owner: string,
    private readonly budget: PageBudget,
  ) {}

  /** Held by the execution alone, by no reader. */
  get rests(): boolean {
    return this.onEvict !== null && this.holders === 1;
  }

  /** At rest, and read to its end. */
  get isSpare(): boolean {
    return this.isRead && this.rests;
  }

  /** Raises the charge to that many bytes, if it is lower. */
  atLeast(bytes: number): Claim {
    if (bytes <= this.bytes) return 'granted';
    const claim = this.budget.claim(this, bytes - this.bytes);
    if (claim === 'granted') this.bytes = bytes;
    return claim;
  }

  /** Allows eviction. @param onEvict called when other owners need the memory. */
  rest(onEvict: () => void): void {
    this.onEvict = onEvict;
  }

  /** Its page has been read to its end: allows eviction for its own owner, too. */
  spare(): void {
    this.isRead = true;
  }

  evict(): void {
    this.onEvict?.();
    this.release();
  }

  /** Another holder: a reader. @returns its release, which may be called more than once. */
  retain(): () => void {
    this.holders += 1;
    let held = true;
    return () => {
      if (held) this.leave();
      held = false;
    };
  }

  /** Ends the first hold. Called once. */
  release(): void {
    this.onEvict = null;
    this.leave();
  }

  private leave(): void {
    this.holders -= 1;
    if (this.holders === 0) this.budget.close(this, this.bytes);
  }
}
