/** The words of a bit set that have members: small for few members, however far apart. */
export interface SparseBitset {
  /** Which words, ascending. */
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

/** A bit set with all its words, to be written to. */
export type Bitset = Uint32Array;

/** @param width how many words there are. */
export function bitset(width: number, positions: Iterable<number>): Bitset {
  const words: Bitset = new Uint32Array(width);
  for (const position of positions) addWord(words, position >>> 5, 1 << (position & 31));
  return words;
}

/** Empty sets, cut out of larger blocks of memory: an array of its own for each takes longer than what is written into it. */
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

/** All users. */
export function everyWord(width: number): Uint32Array {
  return Uint32Array.from({ length: width }, (_, index) => index);
}

/** Gathers which words are worth looking at. */
export class WordMarks {
  private readonly marks: Uint8Array;

  constructor(width: number) {
    this.marks = new Uint8Array(width);
  }

  add({ at }: SparseBitset): void {
    for (const index of at) this.marks[index] = 1;
  }

  addPositions(positions: readonly number[]): void {
    for (const position of positions) this.marks[position >>> 5] = 1;
  }

  /** The marked ones, ascending; the marks are wiped. */
  take(): Uint32Array {
    const taken: number[] = [];
    for (let index = 0; index < this.marks.length; index++) if (this.marks[index] === 1) taken.push(index);
    this.marks.fill(0);
    return Uint32Array.from(taken);
  }
}

/** `Words` are never shorter than the indexes they are asked for. */
export function wordAt(words: Bitset, index: number): number {
  return words[index] ?? 0;
}

export function addWord(words: Bitset, index: number, members: number): void {
  words[index] = wordAt(words, index) | members;
}

/** Adds the members of a set; undefined: none. */
export function addAll(words: Bitset, members: Bitset | undefined): void {
  members?.forEach((word, index) => {
    addWord(words, index, word);
  });
}

/** Takes the members of a set out. */
export function removeAll(words: Bitset, members: Bitset | undefined): void {
  members?.forEach((word, index) => {
    words[index] = wordAt(words, index) & ~word;
  });
}

export function addSparse(words: Bitset, { at, words: more }: SparseBitset): void {
  for (let i = 0; i < at.length; i++) addWord(words, wordAt(at, i), wordAt(more, i));
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

/** The positions that one word of a set holds, ascending. */
export function members(index: number, word: number): number[] {
  const positions: number[] = [];
  for (let rest = word; rest !== 0; rest &= rest - 1) positions.push((index << 5) + 31 - Math.clz32(rest & -rest));
  return positions;
}

/** The positions of a whole set, ascending. */
export function membersOf(words: Bitset): number[] {
  return [...words].flatMap((word, index) => members(index, word));
}

/** Counts members, and keeps the positions of the first of them. */
export class MemberTally {
  count = 0;
  readonly first: number[] = [];

  constructor(private readonly keep: number) {}

  add(index: number, word: number): void {
    if (word === 0) return;
    this.count += countMembers(word);
    const room = this.keep - this.first.length;
    if (room > 0) this.first.push(...members(index, word).slice(0, room));
  }
}

/**
 * Two sets at some of their words, and of these only among some: those in the first alone, and those in the second alone.
 * @param keep how many of either
 */
export function differing(
  active: Uint32Array,
  a: Bitset | null,
  b: Bitset | null,
  among: Bitset | null,
  keep: number,
): [MemberTally, MemberTally] {
  const [onlyA, onlyB] = [new MemberTally(keep), new MemberTally(keep)];
  for (const index of active) {
    const [inA, inB] = [a === null ? 0 : wordAt(a, index), b === null ? 0 : wordAt(b, index)];
    const differ = (inA ^ inB) & (among === null ? -1 : wordAt(among, index));
    if (differ === 0) continue;
    onlyA.add(index, differ & inA);
    onlyB.add(index, differ & inB);
  }
  return [onlyA, onlyB];
}

/** How many members one word of a set holds. */
export function countMembers(word: number): number {
  let count = 0;
  for (let rest = word; rest !== 0; rest &= rest - 1) count++;
  return count;
}
