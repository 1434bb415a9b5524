/** Random numbers that a seed repeats (mulberry32). */
export class Chance {
  constructor(private state: number) {}

  /** At least 0, below 1. */
  next(): number {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.state ^ (this.state >>> 15), this.state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  below(count: number): number {
    return Math.floor(this.next() * count);
  }

  /** Small numbers much more often than large ones. */
  skewed(count: number): number {
    return Math.floor((count + 1) ** this.next()) - 1;
  }

  /** One of them, the first much more often than the last. */
  pick<T>(items: readonly T[]): T {
    const picked = items[this.skewed(items.length)];
    if (picked === undefined) throw new Error('nothing to pick from');
    return picked;
  }

  weighted<T>(items: readonly (readonly [T, number])[]): T {
    let rest = this.next() * items.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [item, weight] of items) if ((rest -= weight) < 0) return item;
    throw new Error('nothing to pick from');
  }

  /** Different numbers below `count`, ascending. */
  sample(count: number, size: number): number[] {
    const taken = new Set<number>();
    while (taken.size < size) taken.add(this.below(count));
    return [...taken].sort((a, b) => a - b);
  }
}
