/** The words of a bit set that have members. */
export interface SparseBitset {
  /** Indexes of the words that are not zero, ascending. */
  readonly at: Uint32Array;
  readonly words: Uint32Array;
}

/** @param positions of the members, in any order. */
export function sparseBitset(positions: readonly number[]): SparseBitset {
  const last = positions.reduce((most, position) => Math.max(most, position), -1);
  const all = bitset((last + 32) >>> 5, positions);
  const at = everyWord(all.length).filter((index) => all[index] !== 0);
  return { at, words: at.map((index) => wordAt(all, index)) };
}

/** A mutable bit set with all its words. */
export type Bitset = Uint32Array;

/** @param width number of words */
export function bitset(width: number, positions: Iterable<number>): Bitset {
  const words: Bitset = new Uint32Array(width);
  for (const position of positions) addMember(words, position);
  return words;
}

/** Makes empty sets from larger blocks, because allocating an array for each set takes longer than filling it. */
export class BitsetPool {
  private block: Bitset = new Uint32Array(0);
  private used = 0;
  private sets = 1;

  constructor(private readonly width: number) {}

  take(): Bitset {
    if (this.used === this.block.length) {
      this.sets = Math.min(this.sets * 2, MOST_SETS);
      this.block = new Uint32Array(this.sets * this.width);
      this.used = 0;
    }
    return this.block.subarray(this.used, (this.used += this.width));
  }
}

const MOST_SETS = 256;

/** Indexes of all words. */
export function everyWord(width: number): Uint32Array {
  return Uint32Array.from({ length: width }, (_, index) => index);
}

export class WordMarks {
  private readonly marks: Uint8Array;

  constructor(width: number) {
    this.marks = new Uint8Array(width);
  }

  add({ at }: SparseBitset): void {
    for (const index of at) this.marks[index] = 1;
  }

  addEvery(): void {
    this.marks.fill(1);
  }

  addPositions(positions: readonly number[]): void {
    for (const position of positions) this.marks[position >>> 5] = 1;
  }

  /** The marked indexes, ascending. Removes the marks. */
  take(): Uint32Array {
    const taken: number[] = [];
    for (let index = 0; index < this.marks.length; index++) if (this.marks[index] === 1) taken.push(index);
    this.marks.fill(0);
    return Uint32Array.from(taken);
  }
}

/** Callers only pass indexes below `length`. */
export function wordAt(words: Bitset, index: number): number {
  return words[index] ?? 0;
}

export function addWord(words: Bitset, index: number, members: number): void {
  words[index] = wordAt(words, index) | members;
}

export function addMember(words: Bitset, position: number): void {
  addWord(words, position >>> 5, 1 << (position & 31));
}

export function isMember(words: Bitset, position: number): boolean {
  return (wordAt(words, position >>> 5) & (1 << (position & 31))) !== 0;
}

export function addAll(words: Bitset, members: Bitset | null | undefined): void {
  members?.forEach((word, index) => {
    addWord(words, index, word);
  });
}

export function removeAll(words: Bitset, members: Bitset | null | undefined): void {
  members?.forEach((word, index) => {
    words[index] = wordAt(words, index) & ~word;
  });
}

export function addSparse(words: Bitset, { at, words: more }: SparseBitset): void {
  for (let i = 0; i < at.length; i++) addWord(words, wordAt(at, i), wordAt(more, i));
}

/** Adds the members that neither `decided` nor `before` has to `decided` and to `also`. @returns whether there are any */
export function addNew(
  { at, words }: SparseBitset,
  decided: Bitset,
  before: Bitset | null = null,
  also: Bitset | null = null,
): boolean {
  let isAny = false;
  for (let i = 0; i < at.length; i++) {
    const index = wordAt(at, i);
    const hit = wordAt(words, i) & ~(wordAt(decided, index) | (before?.[index] ?? 0));
    if (hit === 0) continue;
    isAny = true;
    addWord(decided, index, hit);
    if (also !== null) addWord(also, index, hit);
  }
  return isAny;
}

export function hasMember({ at, words }: SparseBitset, position: number): boolean {
  const index = position >>> 5;
  let [low, high] = [0, at.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (wordAt(at, middle) < index) low = middle + 1;
    else high = middle;
  }
  return wordAt(at, low) === index && (wordAt(words, low) & (1 << (position & 31))) !== 0;
}

/** The positions of one word's members, ascending. */
export function members(index: number, word: number): number[] {
  const positions: number[] = [];
  for (let rest = word; rest !== 0; rest &= rest - 1) positions.push((index << 5) + 31 - Math.clz32(rest & -rest));
  return positions;
}

export function sparseMembers({ at, words }: SparseBitset): number[] {
  return [...at].flatMap((index, i) => members(index, wordAt(words, i)));
}

/** The positions of all members, ascending. */
export function membersOf(words: Bitset): number[] {
  return [...words].flatMap((word, index) => members(index, word));
}

/** Compares the active words of two sets, restricted to `among`: the positions only in `a`, and those only in `b`. */
export function differences(
  active: Uint32Array,
  a: Bitset | null,
  b: Bitset | null,
  among: Bitset | null,
): [number[], number[]] {
  const [onlyA, onlyB]: [number[], number[]] = [[], []];
  for (const index of active) {
    const [inA, inB] = [a?.[index] ?? 0, b?.[index] ?? 0];
    const differ = (inA ^ inB) & (among === null ? -1 : wordAt(among, index));
    if (differ === 0) continue;
    onlyA.push(...members(index, differ & inA));
    onlyB.push(...members(index, differ & inB));
  }
  return [onlyA, onlyB];
}

export function countMembers(word: number): number {
  let count = 0;
  for (let rest = word; rest !== 0; rest &= rest - 1) count++;
  return count;
}
