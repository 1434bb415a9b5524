import type { Bitset } from './bitset.js';
import type { Weights } from './weights.js';

/** In bytes: a rule without people and rows, a person more, a row more. */
export interface Costs {
  rule: number;
  person: number;
  sibling: number;
}

/** A rectangle in the making, over classes of people and over rows. */
export interface Draft {
  /** All of them `may`. */
  classes: Bitset;
  rows: Bitset;
  /** The classes that may be in all of its rows. */
  may: Bitset;
}

/** A draft that has not been used up, and the partner with which it gains most, as far as has been looked. */
interface Entry {
  draft: Draft;
  weight: number;
  rows: number;
  isLive: boolean;
  partner: Entry | null;
  /** With the partner; of one that is gone it is a bound, because those who came later have looked for themselves. */
  gain: number;
}

/** For each draft, in words of sets and entries looked at. Never time: equal snapshots must give equal bytes. */
const STEPS_PER_DRAFT = 20_000;

/**
 * Takes out of two drafts what they have in common, the pair that saves most first, as long as that saves bytes and the
 * budget lasts: what is left then is larger than it could be, and right all the same.
 */
export function shareWhatPays(
  begun: readonly Draft[],
  weights: Weights,
  cost: Costs,
  stepsPerDraft = STEPS_PER_DRAFT,
): Draft[] {
  const sharing = new Sharing(weights, cost, begun.length * stepsPerDraft);
  for (const draft of begun) sharing.add(draft);
  for (let pair = sharing.best(); pair; pair = sharing.best()) sharing.share(...pair);
  return sharing.drafts();
}

class Sharing {
  /** In the order in which they came; those used up are swept out now and then. */
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

  /** Null: nothing is gained any more, or the budget is spent. */
  best(): [Entry, Entry] | null {
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
      if (!other.isLive || other === entry || this.gainAtMost(entry, other) <= entry.gain) continue;
      const gain = this.gain(entry, other);
      if (gain <= entry.gain) continue;
      entry.partner = other;
      entry.gain = gain;
    }
    this.stepsLeft -= this.entries.length;
  }

  /** If both became needless, and neither's rows were new to the other. */
  private gainAtMost(a: Entry, b: Entry): number {
    return Math.min(a.weight, b.weight) + this.costOf(Math.min(a.rows, b.rows));
  }

  /** The common part costs a rule and names users once instead of twice; a draft of which nothing is left costs no rule any more. */
  private gain(a: Entry, b: Entry): number {
    const weight = this.weights.ofBoth(a.draft.classes, b.draft.classes);
    this.stepsLeft -= this.weights.words;
    const saved = this.savedOf(a, b, weight) + this.savedOf(b, a, weight);
    if (weight === 0 && saved === 0) return 0;
    return weight + saved - this.costOf(a.draft.rows.countWith(b.draft.rows));
  }

  /** What is saved of a draft of which nothing is left. */
  private savedOf(one: Entry, other: Entry, weightOfBoth: number): number {
    const isNeedless = weightOfBoth === one.weight || other.draft.may.contains(one.draft.classes);
    return isNeedless ? this.costOf(one.rows) : 0;
  }

  private costOf(rows: number): number {
    return this.cost.rule + this.cost.sibling * rows;
  }
}

/** Those of both who may be in all rows of both. */
function common(a: Draft, b: Draft): Draft {
  const may = a.may.and(b.may);
  return {
    classes: a.classes.or(b.classes).and(may),
    rows: a.rows.or(b.rows),
    may,
  };
}
