import { bitCount, Bitset } from './bitset.js';
import { getOrInsert } from './get-or-insert.js';

/** The users of one row who must be covered, and those who may be covered. */
export interface Cell {
  must: Bitset;
  /** A superset of `must`, computed on demand. */
  may: () => Bitset;
}

export interface Covered {
  people: Bitset;
  rows: readonly number[];
}

/**
 * Rectangles that cover all cells that must be covered, and only cells that may be. Begins with a rectangle for each row, or for each
 * class of people, and factors out the common part of two as long as that saves bytes: greedy, because the optimum is NP-hard.
 */
export function cover(cells: readonly Cell[], cost: Costs): Covered[] {
  const all = cells.reduce((some, { must }) => some.or(must), Bitset.none(cells[0]?.must.size ?? 0));
  if (cells.every(({ must }) => must.contains(all))) return [{ people: all, rows: [...cells.keys()] }];
  const classes = classesOf(cells, all);
  const size = cells[0]?.must.size ?? 0;
  const weights = new Weights(classes.map(({ people }) => people.length * cost.person));
  const begun = rowByRow(cells, classes);
  // With fewer classes than rows, a cover that begins with classes can be shorter.
  const ways = classes.length < begun.length ? [begun, classByClass(classes)] : [begun];
  const covers = ways.map((drafts) => inParts(drafts).flatMap((some) => shareWhatPays(some, weights, cost)));
  const bytes = (drafts: readonly Draft[]) =>
    drafts.reduce((sum, draft) => sum + cost.rule + cost.sibling * draft.rows.count() + weights.of(draft.classes), 0);
  const shortest = covers.reduce((a, b) => (bytes(b) < bytes(a) ? b : a));
  return shortest.map(({ classes: some, rows }) => {
    const people = some.members().flatMap((each) => classes[each]?.people ?? []);
    return { people: Bitset.of(size, people), rows: rows.members() };
  });
}

/** Most drafts in one part. The work is cubic in their number, so more of them are sorted and divided into parts. */
const MOST_AT_ONCE = 512;

function inParts(drafts: readonly Draft[]): Draft[][] {
  if (drafts.length <= MOST_AT_ONCE) return [[...drafts]];
  const sorted = drafts.map((draft) => ({ draft, key: draft.classes.key() })).sort((a, b) => (a.key < b.key ? -1 : 1));
  const parts = Array.from({ length: Math.ceil(drafts.length / MOST_AT_ONCE) }, (_, i) => i * MOST_AT_ONCE);
  return parts.map((from) => sorted.slice(from, from + MOST_AT_ONCE).map(({ draft }) => draft));
}

/** A class: people who must and may be in the same rows. */
interface PeopleAlike {
  people: number[];
  must: Bitset;
  /** A superset of `must`. */
  may: Bitset;
}

/** The classes of people who must be covered, the largest first: see `Weights`. */
function classesOf(cells: readonly Cell[], all: Bitset): PeopleAlike[] {
  // People who need not be covered anywhere are left out.
  const may = transposed(cells.map((cell) => cell.may().and(all)));
  const classes = new Map<string, PeopleAlike>();
  for (const [person, rows] of transposed(cells.map(({ must }) => must))) {
    const allowed = Bitset.of(cells.length, may.get(person) ?? []);
    const alike = { people: [], must: Bitset.of(cells.length, rows), may: allowed };
    getOrInsert(classes, alike.must.key() + alike.may.key(), () => alike).people.push(person);
  }
  return [...classes.values()].sort((a, b) => b.people.length - a.people.length);
}

/** For each member, the indexes of the sets that it is in. */
function transposed(sets: readonly Bitset[]): Map<number, number[]> {
  const columns = new Map<number, number[]>();
  sets.forEach((set, index) => {
    set.forEach((member) => {
      getOrInsert(columns, member, () => []).push(index);
    });
  });
  return columns;
}

/** One draft for each row, or for several rows with the same people. */
function rowByRow(cells: readonly Cell[], classes: readonly PeopleAlike[]): Draft[] {
  const must = transposed(classes.map((some) => some.must));
  const may = transposed(classes.map((some) => some.may));
  const setOf = (some: readonly number[] | undefined): Bitset => Bitset.of(classes.length, some ?? []);
  const alike = new Map<string, { classes: Bitset; may: Bitset; rows: number[] }>();
  cells.forEach((_, row) => {
    const draft = { classes: setOf(must.get(row)), may: setOf(may.get(row)), rows: [] };
    getOrInsert(alike, draft.classes.key() + draft.may.key(), () => draft).rows.push(row);
  });
  return [...alike.values()].map((draft) => ({ ...draft, rows: Bitset.of(cells.length, draft.rows) }));
}

/** One draft for each class. */
function classByClass(classes: readonly PeopleAlike[]): Draft[] {
  return classes.map(({ must: rows }, i) => {
    const may = Bitset.where(classes.length, (other) => classes[other]?.may.contains(rows) === true);
    return { classes: Bitset.of(classes.length, [i]), rows, may };
  });
}

/** Bytes of a rule without people and siblings, of one more person, and of one more sibling. */
export interface Costs {
  rule: number;
  person: number;
  sibling: number;
}

/** A candidate rectangle of classes of people × rows. */
export interface Draft {
  classes: Bitset;
  rows: Bitset;
  /** The classes that may be in all of its rows. */
  may: Bitset;
}

/** A draft with the best partner found so far. */
interface Entry {
  draft: Draft;
  weight: number;
  rows: number;
  isLive: boolean;
  partner: Entry | null;
  /** Bytes saved with the partner; an upper bound if the partner has been used up. */
  gain: number;
}

/** Budget in words of sets and entries. Never in time, because equal snapshots must give equal bytes. */
const STEPS_PER_DRAFT = 20_000;

/** Factors out the common parts of pairs of drafts, the pair that saves most first, while that saves bytes and the budget lasts. */
export function shareWhatPays(
  begun: readonly Draft[],
  weights: Weights,
  cost: Costs,
  stepsPerDraft = STEPS_PER_DRAFT,
): Draft[] {
  const sharing = new Sharing(weights, cost, begun.length * stepsPerDraft);
  for (const draft of begun) sharing.add(draft);
  for (let pair = sharing.bestPair(); pair; pair = sharing.bestPair()) sharing.share(...pair);
  return sharing.drafts();
}

class Sharing {
  /** In order of creation; used-up ones are removed from time to time. */
  private entries: Entry[] = [];
  private live = 0;

  constructor(
    private readonly weights: Weights,
    private readonly cost: Costs,
    private stepsLeft: number,
  ) {}

  add(draft: Draft): void {
    const weight = this.weights.of(draft.classes);
    const entry = { draft, weight, rows: draft.rows.count(), isLive: true, partner: null, gain: 0 };
    this.findPartner(entry);
    this.entries.push(entry);
    this.live++;
  }

  drafts(): Draft[] {
    return this.entries.flatMap(({ isLive, draft }) => (isLive ? [draft] : []));
  }

  /** The pair that saves most; null: no pair saves anything, or the budget is spent. */
  bestPair(): [Entry, Entry] | null {
    while (this.stepsLeft > 0) {
      let best: Entry | null = null;
      for (const entry of this.entries) if (entry.isLive && entry.gain > (best?.gain ?? 0)) best = entry;
      this.stepsLeft -= this.entries.length;
      if (!best?.partner) return null;
      if (best.partner.isLive) return [best, best.partner];
      this.findPartner(best);
    }
    return null;
  }

  share(a: Entry, b: Entry): void {
    const shared = common(a.draft, b.draft);
    for (const entry of [a, b]) entry.isLive = false;
    this.live -= 2;
    if (this.entries.length > 2 * this.live) this.entries = this.entries.filter(({ isLive }) => isLive);
    const left = [a, b].map(({ draft }) => ({ ...draft, classes: draft.classes.minus(shared.classes) }));
    for (const draft of [shared, ...left]) if (!draft.classes.isEmpty()) this.add(draft);
  }

  private findPartner(entry: Entry): void {
    entry.partner = null;
    entry.gain = 0;
    for (const other of this.entries) {
      if (!other.isLive || other === entry) continue;
      // An upper bound of the gain: that of two drafts with the same rows of which nothing is left.
      const gainAtMost = Math.min(entry.weight, other.weight) + this.costOf(Math.min(entry.rows, other.rows));
      if (gainAtMost <= entry.gain) continue;
      const gain = this.gain(entry, other);
      if (gain <= entry.gain) continue;
      entry.partner = other;
      entry.gain = gain;
    }
    this.stepsLeft -= this.entries.length;
  }

  /** Bytes saved by a draft of the common part: its users are named only once, and a draft without other users needs no rule. */
  private gain(a: Entry, b: Entry): number {
    const weight = this.weights.ofBoth(a.draft.classes, b.draft.classes);
    this.stepsLeft -= this.weights.words;
    const saved = this.savedOf(a, b, weight) + this.savedOf(b, a, weight);
    if (weight === 0 && saved === 0) return 0;
    return weight + saved - this.costOf(a.draft.rows.countWith(b.draft.rows));
  }

  /** Bytes of the rule of a draft if nothing is left of it, else 0. */
  private savedOf(one: Entry, other: Entry, weightOfBoth: number): number {
    const isNeedless = weightOfBoth === one.weight || other.draft.may.contains(one.draft.classes);
    return isNeedless ? this.costOf(one.rows) : 0;
  }

  private costOf(rows: number): number {
    return this.cost.rule + this.cost.sibling * rows;
  }
}

/** The draft of all rows of both, with the classes of either that may be in all these rows. */
function common(a: Draft, b: Draft): Draft {
  const may = a.may.and(b.may);
  return {
    classes: a.classes.or(b.classes).and(may),
    rows: a.rows.or(b.rows),
    may,
  };
}

/** Sums up the bytes of sets of classes. Classes are sorted by size, so in most words of a set all members have the same weight. */
export class Weights {
  /** The weight of each member of a word; null where they differ. */
  private readonly each: readonly (number | null)[];

  constructor(private readonly weights: readonly number[]) {
    this.each = Array.from({ length: this.words }, (_, word) => {
      const some = new Set(weights.slice(word * 32, word * 32 + 32));
      return some.size > 1 ? null : ([...some][0] ?? 0);
    });
  }

  get words(): number {
    return (this.weights.length + 31) >>> 5;
  }

  of(set: Bitset): number {
    return this.ofBoth(set, set);
  }

  /** Weight of the intersection. */
  ofBoth(a: Bitset, b: Bitset): number {
    let sum = 0;
    for (let index = 0; index < this.each.length; index++) {
      const word = a.wordAt(index) & b.wordAt(index);
      if (word !== 0) sum += this.ofWord(index, word);
    }
    return sum;
  }

  private ofWord(index: number, word: number): number {
    const each = this.each[index] ?? null;
    if (each !== null) return each * bitCount(word);
    let sum = 0;
    for (let rest = word; rest !== 0; rest &= rest - 1)
      sum += this.weights[(index << 5) + 31 - Math.clz32(rest & -rest)] ?? 0;
    return sum;
  }
}
