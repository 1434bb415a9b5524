import { Bits } from '../../grants/domain/bits.js';
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
 * Rectangles that cover all that must be covered, and only what may be. Begins with one for each row, and takes out of two
 * of them what they have in common, again and again, as long as that saves bytes: greedy, because the best cover by
 * rectangles is NP-hard to find.
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
  const drafts = new BestPairs(firstDrafts(cells, classes), gain);
  for (let pair = drafts.best(); pair; pair = drafts.best()) {
    const shared = common(...pair);
    const left = pair.map((draft) => ({ ...draft, classes: draft.classes.minus(shared.classes) }));
    drafts.replace(
      pair,
      [shared, ...left].filter(({ classes }) => !classes.isEmpty()),
    );
  }
  return drafts.list().map(({ classes: some, rows }) => {
    const people = some.members().flatMap((each) => classes[each]?.people ?? []);
    return { people: Bits.of(size, people), rows: rows.members() };
  });
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

function firstDrafts(cells: readonly Cell[], classes: readonly PeopleAlike[]): Draft[] {
  const where = (row: number, signs: string) => {
    const found = classes.flatMap(({ signature }, i) => (signs.includes(signature.charAt(row)) ? [i] : []));
    return Bits.of(classes.length, found);
  };
  return cells.map((_, row) => ({
    classes: where(row, MUST),
    rows: Bits.of(cells.length, [row]),
    may: where(row, MUST + MAY),
  }));
}
