import { Bitset } from './bitset.js';
import { getOrInsert } from './get-or-insert.js';
import { shareWhatPays, type Costs, type Draft } from './sharing.js';
import { Weights } from './weights.js';

/** The users that must be covered in a row, and those that may be (a superset). */
export interface Cell {
  must: Bitset;
  /** Only worked out where it is asked for. */
  may: () => Bitset;
}

export interface Covered {
  people: Bitset;
  rows: readonly number[];
}

/**
 * Rectangles that cover all that must be covered, and only what may be. Begins with one for each row, or for people who are
 * alike, and takes out of two of them what they have in common, again and again, as long as that saves bytes: greedy, because
 * the best cover by rectangles is NP-hard to find.
 */
export function cover(cells: readonly Cell[], cost: Costs): Covered[] {
  const all = cells.reduce((some, { must }) => some.or(must), Bitset.none(cells[0]?.must.size ?? 0));
  if (cells.every(({ must }) => must.contains(all))) return [{ people: all, rows: [...cells.keys()] }];
  const classes = classesOf(cells, all);
  const size = cells[0]?.must.size ?? 0;
  const weights = new Weights(classes.map(({ people }) => people.length * cost.person));
  const begun = rowByRow(cells, classes);
  // Many people alike in few ways, and many rows: then the people's side is the shorter one to begin with.
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

/** The work grows with the third power of the drafts; beyond so many, only those that begin alike are looked at together. */
const MOST_AT_ONCE = 512;

function inParts(drafts: readonly Draft[]): Draft[][] {
  if (drafts.length <= MOST_AT_ONCE) return [[...drafts]];
  const sorted = drafts.map((draft) => ({ draft, key: draft.classes.key() })).sort((a, b) => (a.key < b.key ? -1 : 1));
  const parts = Array.from({ length: Math.ceil(drafts.length / MOST_AT_ONCE) }, (_, i) => i * MOST_AT_ONCE);
  return parts.map((from) => sorted.slice(from, from + MOST_AT_ONCE).map(({ draft }) => draft));
}

/** People who must and may be in the same rows. */
interface PeopleAlike {
  people: number[];
  must: Bitset;
  /** Those of `must` among them. */
  may: Bitset;
}

/** The largest first: see `Weights`. */
function classesOf(cells: readonly Cell[], all: Bitset): PeopleAlike[] {
  // Nothing is to be said of the others who may be covered.
  const may = transposed(cells.map((cell) => cell.may().and(all)));
  const classes = new Map<string, PeopleAlike>();
  for (const [person, rows] of transposed(cells.map(({ must }) => must))) {
    const allowed = Bitset.of(cells.length, may.get(person) ?? []);
    const alike = { people: [], must: Bitset.of(cells.length, rows), may: allowed };
    getOrInsert(classes, alike.must.key() + alike.may.key(), () => alike).people.push(person);
  }
  return [...classes.values()].sort((a, b) => b.people.length - a.people.length);
}

/** For each of the members, in which of the sets they are. */
function transposed(sets: readonly Bitset[]): Map<number, number[]> {
  const columns = new Map<number, number[]>();
  sets.forEach((set, index) => {
    set.forEach((member) => {
      getOrInsert(columns, member, () => []).push(index);
    });
  });
  return columns;
}

/** Rows for the very same people are one from the start: nothing can be gained by telling them apart. */
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

/** The other way to begin: everything about people who are alike, however many rows it is about. */
function classByClass(classes: readonly PeopleAlike[]): Draft[] {
  return classes.map(({ must: rows }, i) => {
    const may = Bitset.where(classes.length, (other) => classes[other]?.may.contains(rows) === true);
    return { classes: Bitset.of(classes.length, [i]), rows, may };
  });
}
