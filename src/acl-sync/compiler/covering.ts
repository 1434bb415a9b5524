import { Bits } from './bits.js';
import { BestPairs } from './best-pairs.js';

/** Who must be covered in a row, and who may be (they among them). */
export interface Cell {
  must: Bits;
  may: Bits;
}

/** In bytes: a rule without people and rows, a person more, a row more. */
export interface Costs {
  rule: number;
  person: number;
  sibling: number;
}

export interface Covered {
  people: Bits;
  rows: readonly number[];
}

/** A rectangle in the making, over classes of people and over rows. */
interface Draft {
  /** All of them `may`. */
  classes: Bits;
  rows: Bits;
  /** The classes that may be in all of its rows. */
  may: Bits;
}

/**
 * Rectangles that cover all that must be covered, and only what may be. Begins with one for each row, or for people who are
 * alike, and takes out of two of them what they have in common, again and again, as long as that saves bytes: greedy, because
 * the best cover by rectangles is NP-hard to find.
 */
export function cover(cells: readonly Cell[], cost: Costs): Covered[] {
  const classes = classesOf(cells);
  const size = cells[0]?.must.size ?? 0;
  const weights = classes.map(({ people }) => people.length * cost.person);
  const weigh = (set: Bits) => set.members().reduce((sum, each) => sum + (weights[each] ?? 0), 0);
  const costOf = (rows: Bits) => cost.rule + cost.sibling * rows.count();
  /** The common part costs a rule, names once who was named twice, and makes a draft needless of which nothing is left. */
  const gain = (a: Draft, b: Draft): number => {
    const isNeedless = [b.may.contains(a.classes), a.may.contains(b.classes)];
    if (!isNeedless.includes(true) && !a.classes.meets(b.classes)) return 0;
    const saved = [a, b].reduce((sum, { rows }, i) => (isNeedless[i] ? sum + costOf(rows) : sum), 0);
    return weigh(a.classes.and(b.classes)) + saved - costOf(a.rows.or(b.rows));
  };
  const begun = rowByRow(cells, classes);
  // Many people alike in few ways, and many rows: then the people's side is the shorter one to begin with.
  const ways = classes.length < begun.length ? [begun, classByClass(cells, classes)] : [begun];
  const covers = ways.map((drafts) => inParts(drafts).flatMap((some) => shareWhatPays(some, gain)));
  const bytes = (drafts: readonly Draft[]) =>
    drafts.reduce((sum, { classes: some, rows }) => sum + costOf(rows) + weigh(some), 0);
  const shortest = covers.reduce((a, b) => (bytes(b) < bytes(a) ? b : a));
  return shortest.map(({ classes: some, rows }) => {
    const people = some.members().flatMap((each) => classes[each]?.people ?? []);
    return { people: Bits.of(size, people), rows: rows.members() };
  });
}

function shareWhatPays(begun: readonly Draft[], gain: (a: Draft, b: Draft) => number): Draft[] {
  const drafts = new BestPairs(begun, gain);
  for (let pair = drafts.best(); pair; pair = drafts.best()) {
    const shared = common(...pair);
    const left = pair.map((draft) => ({ ...draft, classes: draft.classes.minus(shared.classes) }));
    drafts.replace(
      pair,
      [shared, ...left].filter(({ classes }) => !classes.isEmpty()),
    );
  }
  return drafts.list();
}

/** The work grows with the third power of the drafts; beyond so many, only those that begin alike are looked at together. */
const MOST_AT_ONCE = 2048;

function inParts(drafts: readonly Draft[]): Draft[][] {
  if (drafts.length <= MOST_AT_ONCE) return [[...drafts]];
  const sorted = drafts.map((draft) => ({ draft, key: draft.classes.key() })).sort((a, b) => (a.key < b.key ? -1 : 1));
  const parts = Array.from({ length: Math.ceil(drafts.length / MOST_AT_ONCE) }, (_, i) => i * MOST_AT_ONCE);
  return parts.map((from) => sorted.slice(from, from + MOST_AT_ONCE).map(({ draft }) => draft));
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

/** People who must and may be in the same rows; the signature has a sign for each row. */
interface PeopleAlike {
  signature: string;
  people: number[];
}

function classesOf(cells: readonly Cell[]): PeopleAlike[] {
  const [first, ...others] = cells;
  if (!first) return [];
  const everybody = others.reduce((all, { must }) => all.or(must), first.must);
  const classes = new Map<string, PeopleAlike>();
  for (const person of everybody.members()) {
    const signature = cells.map(({ must, may }) => (must.has(person) ? MUST : may.has(person) ? MAY : NOT)).join('');
    const known = classes.get(signature);
    if (known) known.people.push(person);
    else classes.set(signature, { signature, people: [person] });
  }
  return [...classes.values()];
}

const MUST = '!';
const MAY = '?';
const NOT = '-';

/** Rows for the very same people are one from the start: nothing can be gained by telling them apart. */
function rowByRow(cells: readonly Cell[], classes: readonly PeopleAlike[]): Draft[] {
  const alike = new Map<string, number[]>();
  cells.forEach((_, row) => {
    const signs = classes.map(({ signature }) => signature.charAt(row)).join('');
    const known = alike.get(signs);
    if (known) known.push(row);
    else alike.set(signs, [row]);
  });
  return [...alike].map(([signs, rows]) => {
    const where = (some: string) =>
      Bits.of(
        classes.length,
        classes.flatMap((_, i) => (some.includes(signs.charAt(i)) ? [i] : [])),
      );
    return { classes: where(MUST), rows: Bits.of(cells.length, rows), may: where(MUST + MAY) };
  });
}

/** The other way to begin: everything about people who are alike, however many rows it is about. */
function classByClass(cells: readonly Cell[], classes: readonly PeopleAlike[]): Draft[] {
  return classes.map(({ signature }, i) => {
    const rows = cells.flatMap((_, row) => (signature.charAt(row) === MUST ? [row] : []));
    const may = classes.flatMap((other, j) => (rows.every((row) => other.signature.charAt(row) !== NOT) ? [j] : []));
    return {
      classes: Bits.of(classes.length, [i]),
      rows: Bits.of(cells.length, rows),
      may: Bits.of(classes.length, may),
    };
  });
}
