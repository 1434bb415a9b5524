import { describePermission, describeRestriction } from '../engine/access-fact-text.js';
import { isRestriction, type AccessFact } from '../engine/access-fact.js';
import { countMembers, members, wordAt, type Bitset } from '../engine/sparse-bitset.js';

/** Something that these people may do now and could not before, or the other way round. */
export interface ChangedAccess {
  /** `SELECT from sales.eu.orders`; for a restriction that is gone or new, the restriction. */
  what: string;
  /** As the engine knows them, sorted; a stranger's name is longer than anybody's. */
  people: string[];
  /** How many more than these. */
  others: number;
}

/** How much is written down; everything is counted. */
export interface Bounds {
  /** Things gained, and as many lost. */
  things: number;
  /** People for each of them. */
  people: number;
}

/** Writes down what changes for whom, as far as anybody reads it, and counts all of it. */
export class AccessLedger {
  readonly gained: ChangedAccess[] = [];
  readonly lost: ChangedAccess[] = [];
  /** Things that are gained or lost, each once however many people it concerns. */
  gainedInAll = 0;
  lostInAll = 0;
  changedPairs = 0;
  allPairs = 0;
  private readonly changed: Bitset;

  constructor(
    private readonly names: readonly string[],
    width: number,
    private readonly bounds: Bounds,
  ) {
    this.changed = new Uint32Array(width);
  }

  /** A restriction that is dropped is gained access. Only people among `among` count. */
  compare(
    aspect: AccessFact,
    active: Uint32Array,
    before: Bitset | null,
    after: Bitset | null,
    among: Bitset | null = null,
  ): void {
    const [more, less] = [this.tally(), this.tally()];
    for (const index of active) {
      const mask = among === null ? -1 : wordAt(among, index);
      const had = (before === null ? 0 : wordAt(before, index)) & mask;
      const has = (after === null ? 0 : wordAt(after, index)) & mask;
      if (had === has) continue;
      this.changed[index] = wordAt(this.changed, index) | (had ^ has);
      more.add(index, has & ~had);
      less.add(index, had & ~has);
    }
    if (more.count === 0 && less.count === 0) return;
    const what = isRestriction(aspect) ? `not: ${describeRestriction(aspect)}` : describePermission(aspect);
    const [gained, lost] = isRestriction(aspect) ? [less, more] : [more, less];
    if (gained.count > 0 && this.gainedInAll++ < this.bounds.things) this.gained.push(gained.changedAccess(what));
    if (lost.count > 0 && this.lostInAll++ < this.bounds.things) this.lost.push(lost.changedAccess(what));
  }

  /** For whom something has changed at the node that is not closed yet. */
  changes(): Bitset {
    return this.changed.slice();
  }

  /** Ends a node: counts whoever something changed for, and whoever has anything before or after. */
  closeNode(active: Uint32Array, had: Bitset): void {
    for (const index of active) {
      this.changedPairs += countMembers(wordAt(this.changed, index));
      this.allPairs += countMembers(wordAt(had, index));
      this.changed[index] = 0;
    }
  }

  private tally(): Tally {
    return new Tally(this.names, this.bounds.people);
  }
}

/** Counts people, and remembers the first of them. */
class Tally {
  count = 0;
  private readonly first: string[] = [];

  constructor(
    private readonly names: readonly string[],
    private readonly keep: number,
  ) {}

  add(index: number, word: number): void {
    if (word === 0) return;
    this.count += countMembers(word);
    const room = this.keep - this.first.length;
    if (room > 0)
      this.first.push(
        ...members(index, word)
          .slice(0, room)
          .map((position) => this.names[position] ?? ''),
      );
  }

  changedAccess(what: string): ChangedAccess {
    return { what, people: this.first.sort(), others: this.count - this.first.length };
  }
}

export function countAt(words: Bitset, active: Uint32Array): number {
  return active.reduce((sum, index) => sum + countMembers(wordAt(words, index)), 0);
}
