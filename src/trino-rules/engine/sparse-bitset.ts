/** A bit set that stores only its words (32 bits each) that are not zero. */
export interface SparseBitset {
  /** The index of each stored word among all words of the set, ascending. */
  readonly wordIndexes: Uint32Array;
  readonly words: Uint32Array;
}

/** @param positions of the members, in any order. */
export function sparseBitset(positions: readonly number[]): SparseBitset {
  const lastPosition = positions.reduce((maximum, position) => Math.max(maximum, position), -1);
  return toSparseBitset(bitset((lastPosition + 32) >>> 5, positions));
}

export function toSparseBitset(denseSet: Bitset): SparseBitset {
  const wordIndexes = new Uint32Array(denseSet.reduce((count, word) => (word === 0 ? count : count + 1), 0));
  const words = new Uint32Array(wordIndexes.length);
  let storedCount = 0;
  for (let index = 0; index < denseSet.length; index++) {
    if (denseSet[index] === 0) continue;
    wordIndexes[storedCount] = index;
    words[storedCount++] = wordAt(denseSet, index);
  }
  return { wordIndexes, words };
}

/** A mutable bit set that stores all its words (32 bits each). */
export type Bitset = Uint32Array;

export function bitset(wordCount: number, positions: Iterable<number>): Bitset {
  const words: Bitset = new Uint32Array(wordCount);
  for (const position of positions) addMember(words, position);
  return words;
}

export function allWordIndexes(wordCount: number): Uint32Array {
  return new Uint32Array(wordCount).map((_, index) => index);
}

/** Collects which words (32 users each) of the bit sets must be evaluated. */
export class WordMarks {
  private readonly marks: Uint8Array;

  constructor(wordCount: number) {
    this.marks = new Uint8Array(wordCount);
  }

  add({ wordIndexes }: SparseBitset): void {
    for (const index of wordIndexes) this.marks[index] = 1;
  }

  addAllWords(): void {
    this.marks.fill(1);
  }

  addPositions(positions: readonly number[]): void {
    for (const position of positions) this.marks[position >>> 5] = 1;
  }

  /** The marked indexes, ascending. Removes the marks. */
  takeIndexes(): Uint32Array {
    const markedIndexes = new Uint32Array(this.marks.length);
    let count = 0;
    for (let index = 0; index < this.marks.length; index++) if (this.marks[index] === 1) markedIndexes[count++] = index;
    this.marks.fill(0);
    return markedIndexes.subarray(0, count);
  }
}

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
  for (let index = 0; index < (members?.length ?? 0); index++) addWord(words, index, members?.[index] ?? 0);
}

export function removeAll(words: Bitset, members: Bitset | null | undefined): void {
  for (let index = 0; index < (members?.length ?? 0); index++)
    words[index] = wordAt(words, index) & ~(members?.[index] ?? 0);
}

export function addSparseSet(words: Bitset, { wordIndexes, words: addedWords }: SparseBitset): void {
  for (let i = 0; i < wordIndexes.length; i++) addWord(words, wordAt(wordIndexes, i), wordAt(addedWords, i));
}

/** Adds members to `decidedMembers`. @returns those that were in neither of the other sets before; null: none */
export function addNewMembers(
  { wordIndexes, words }: SparseBitset,
  decidedMembers: Bitset,
  excludedMembers: Bitset | null = null,
): SparseBitset | null {
  const newWords = words.map((word, i) => {
    const index = wordAt(wordIndexes, i);
    return word & ~(wordAt(decidedMembers, index) | (excludedMembers?.[index] ?? 0));
  });
  if (newWords.every((word) => word === 0)) return null;
  const newMembers = { wordIndexes, words: newWords };
  addSparseSet(decidedMembers, newMembers);
  return newMembers;
}

export function hasMember({ wordIndexes, words }: SparseBitset, position: number): boolean {
  const i = wordIndexes.indexOf(position >>> 5);
  return i >= 0 && (wordAt(words, i) & (1 << (position & 31))) !== 0;
}

/** The positions of the members in one word (32 bits) of a set, ascending. */
export function positionsInWord(index: number, word: number): number[] {
  const positions: number[] = [];
  for (let bits = word; bits !== 0; bits &= bits - 1) positions.push((index << 5) + 31 - Math.clz32(bits & -bits));
  return positions;
}

export function sparseMembers({ wordIndexes, words }: SparseBitset): number[] {
  return [...wordIndexes].flatMap((index, i) => positionsInWord(index, wordAt(words, i)));
}

/** The positions of all members, ascending. */
export function membersOf(words: Bitset): number[] {
  return sparseMembers(toSparseBitset(words));
}

/** The positions that are only in `a`, and those only in `b`. @param activeWords the words of the sets to compare @param comparedUsers null: all users */
export function differences(
  activeWords: Uint32Array,
  a: Bitset | null,
  b: Bitset | null,
  comparedUsers: Bitset | null,
): [number[], number[]] {
  const [onlyA, onlyB]: [number[], number[]] = [[], []];
  for (const index of activeWords) {
    const [wordA, wordB] = [a?.[index] ?? 0, b?.[index] ?? 0];
    const differingBits = (wordA ^ wordB) & (comparedUsers === null ? -1 : wordAt(comparedUsers, index));
    if (differingBits === 0) continue;
    onlyA.push(...positionsInWord(index, differingBits & wordA));
    onlyB.push(...positionsInWord(index, differingBits & wordB));
  }
  return [onlyA, onlyB];
}

export function countMembers(word: number): number {
  let count = 0;
  for (let bits = word; bits !== 0; bits &= bits - 1) count++;
  return count;
}
