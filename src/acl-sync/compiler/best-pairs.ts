/** Keeps for each of some items the partner with which it gains most, so that the best pair is found without asking all. */
export class BestPairs<T> {
  private readonly partners = new Map<T, { partner: T; gain: number } | null>();

  /** @param gain the same both ways; a pair without gain is none. */
  constructor(
    items: readonly T[],
    private readonly gain: (a: T, b: T) => number,
  ) {
    for (const item of items) this.add(item);
  }

  list(): T[] {
    return [...this.partners.keys()];
  }

  best(): [T, T] | null {
    let best: [T, T] | null = null;
    let most = 0;
    for (const [item, found] of this.partners) {
      if (found && found.gain > most) {
        best = [item, found.partner];
        most = found.gain;
      }
    }
    return best;
  }

  replace(pair: readonly T[], items: readonly T[]): void {
    for (const item of pair) this.partners.delete(item);
    for (const [item, found] of this.partners) if (found && pair.includes(found.partner)) this.add(item);
    for (const item of items) this.add(item);
  }

  private add(item: T): void {
    let found: { partner: T; gain: number } | null = null;
    for (const partner of this.partners.keys()) {
      const gain = partner === item ? 0 : this.gain(item, partner);
      if (gain > (found?.gain ?? 0)) found = { partner, gain };
    }
    this.partners.set(item, found);
  }
}
