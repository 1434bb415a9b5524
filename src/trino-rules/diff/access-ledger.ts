import { describePermission, describeRestriction, isRestriction, type AccessFact } from '../engine/access-fact.js';
import { addWord, countMembers, differing, wordAt, type Bitset, type MemberTally } from '../engine/sparse-bitset.js';

/** An access fact that these users gained or lost. */
export interface ChangedAccess {
  /** `SELECT from sales.eu.orders`; for a restriction that is gone or new, the restriction. */
  what: string;
  /** Names on the engine, sorted; `any other user` for those that no rule names. */
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

/** Keeps the first changes, and counts all of them. */
export class AccessLedger {
  readonly gained: ChangedAccess[] = [];
  readonly lost: ChangedAccess[] = [];
  /** Things that are gained or lost, each once however many people it concerns. */
  gainedInAll = 0;
  lostInAll = 0;
  changedPairs = 0;
  allPairs = 0;
  private readonly changed: Bitset;
  private readonly gaining: Bitset;
  private readonly losing: Bitset;

  constructor(
    private readonly names: readonly string[],
    width: number,
    private readonly bounds: Bounds,
  ) {
    this.changed = new Uint32Array(width);
    this.gaining = new Uint32Array(width);
    this.losing = new Uint32Array(width);
  }

  /** A restriction that is dropped is gained access. Only people among `among` count. */
  compare(
    fact: () => AccessFact,
    active: Uint32Array,
    before: Bitset | null,
    after: Bitset | null,
    among: Bitset | null = null,
  ): void {
    const [less, more] = differing(active, before, after, among, this.bounds.people);
    if (more.count === 0 && less.count === 0) return;
    const changed = fact();
    const [gains, loses] = isRestriction(changed) ? [this.losing, this.gaining] : [this.gaining, this.losing];
    for (const index of active) {
      const [had, has] = [before === null ? 0 : wordAt(before, index), after === null ? 0 : wordAt(after, index)];
      const counted = among === null ? -1 : wordAt(among, index);
      addWord(this.changed, index, (had ^ has) & counted);
      addWord(gains, index, has & ~had & counted);
      addWord(loses, index, had & ~has & counted);
    }
    const what = isRestriction(changed) ? `not: ${describeRestriction(changed)}` : describePermission(changed);
    const [gained, lost] = isRestriction(changed) ? [less, more] : [more, less];
    if (gained.count > 0 && this.gainedInAll++ < this.bounds.things) this.gained.push(this.changedAccess(what, gained));
    if (lost.count > 0 && this.lostInAll++ < this.bounds.things) this.lost.push(this.changedAccess(what, lost));
  }

  /** People who gain anything, of those that no rule names one for each kind. */
  get peopleGaining(): number {
    return this.gaining.reduce((sum, word) => sum + countMembers(word), 0);
  }

  get peopleLosing(): number {
    return this.losing.reduce((sum, word) => sum + countMembers(word), 0);
  }

  /** Users with a change at the node that is not closed yet. */
  changes(): Bitset {
    return this.changed.slice();
  }

  /** Ends a node: counts users with a change, and users with access before or after. */
  closeNode(active: Uint32Array, had: Bitset): void {
    for (const index of active) {
      this.changedPairs += countMembers(wordAt(this.changed, index));
      this.allPairs += countMembers(wordAt(had, index));
      this.changed[index] = 0;
    }
  }

  private changedAccess(what: string, { count, first }: MemberTally): ChangedAccess {
    const people = first.map((position) => this.names[position] ?? '').sort();
    return { what, people, others: count - people.length };
  }
}

export function countAt(words: Bitset, active: Uint32Array): number {
  return active.reduce((sum, index) => sum + countMembers(wordAt(words, index)), 0);
}
