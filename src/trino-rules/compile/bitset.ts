/** An immutable set of small numbers, one bit each. Operands have the same size. */
export class Bitset {
  private constructor(private readonly words: Int32Array) {}

  static of(size: number, members: Iterable<number>): Bitset {
    const words = new Int32Array((size + 31) >>> 5);
    for (const member of members) words[member >>> 5] = (words[member >>> 5] ?? 0) | (1 << (member & 31));
    return new Bitset(words);
  }

  get size(): number {
    return this.words.length * 32;
  }

  has(member: number): boolean {
    return ((this.words[member >>> 5] ?? 0) & (1 << (member & 31))) !== 0;
  }

  /** The union. Returns `this` if nothing is added, so that an unchanged set stays the same object. */
  or(other: Bitset): Bitset {
    if (this === other || this.contains(other)) return this;
    const { words } = other;
    const result = this.words.slice();
    for (let i = 0; i < result.length; i++) result[i] = word(result, i) | word(words, i);
    return new Bitset(result);
  }

  and(other: Bitset): Bitset {
    if (this === other) return this;
    const { words } = other;
    const result = this.words.slice();
    for (let i = 0; i < result.length; i++) result[i] = word(result, i) & word(words, i);
    return new Bitset(result);
  }

  /** The difference; returns `this` if nothing is removed. */
  minus(other: Bitset): Bitset {
    if (!this.intersects(other)) return this;
    const { words } = other;
    const result = this.words.slice();
    for (let i = 0; i < result.length; i++) result[i] = word(result, i) & ~word(words, i);
    return new Bitset(result);
  }

  contains(other: Bitset): boolean {
    if (this === other) return true;
    const { words } = other;
    for (let i = 0; i < words.length; i++) if ((word(words, i) & ~word(this.words, i)) !== 0) return false;
    return true;
  }

  intersects(other: Bitset): boolean {
    const { words } = other;
    for (let i = 0; i < words.length; i++) if ((word(words, i) & word(this.words, i)) !== 0) return true;
    return false;
  }

  isEmpty(): boolean {
    for (let i = 0; i < this.words.length; i++) if (word(this.words, i) !== 0) return false;
    return true;
  }

  count(): number {
    let count = 0;
    for (let i = 0; i < this.words.length; i++) count += bitCount(word(this.words, i));
    return count;
  }

  unionCount(other: Bitset): number {
    let count = 0;
    for (let i = 0; i < this.words.length; i++) count += bitCount(word(this.words, i) | word(other.words, i));
    return count;
  }

  /** The members from 32 × index to 32 × index + 31, one bit each. */
  wordAt(index: number): number {
    return word(this.words, index);
  }

  members(): number[] {
    const members: number[] = [];
    this.forEach((member) => members.push(member));
    return members;
  }

  /** Visits the members in ascending order. */
  forEach(visit: (member: number) => void): void {
    const { words } = this;
    for (let i = 0; i < words.length; i++) {
      for (let bits = word(words, i); bits !== 0; bits &= bits - 1) visit((i << 5) + 31 - Math.clz32(bits & -bits));
    }
  }

  /** A key for maps. Keys of sets with equal `size` can be joined without ambiguity. */
  key(): string {
    const { words } = this;
    return words.length <= SHORT_SET_WORDS ? `${words.join()};` : String.fromCharCode(...new Uint16Array(words.buffer));
  }
}

export function bitCount(word: number): number {
  const bitsPerPair = word - ((word >>> 1) & 0x55555555);
  const bitsPerNibble = (bitsPerPair & 0x33333333) + ((bitsPerPair >>> 2) & 0x33333333);
  return Math.imul((bitsPerNibble + (bitsPerNibble >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}

/** `key` writes a set of up to this many words as decimal numbers. For longer sets that would be slower than packing the words into characters. */
const SHORT_SET_WORDS = 4;

function word(words: Int32Array, index: number): number {
  return words[index] ?? 0;
}
