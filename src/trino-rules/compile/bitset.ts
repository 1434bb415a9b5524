/** An immutable set of small numbers, one bit each. Operands have the same size. */
export class Bitset {
  private constructor(private readonly words: Int32Array) {}

  static none(size: number): Bitset {
    return new Bitset(new Int32Array((size + 31) >>> 5));
  }

  static of(size: number, members: Iterable<number>): Bitset {
    const words = new Int32Array((size + 31) >>> 5);
    for (const member of members) words[member >>> 5] = (words[member >>> 5] ?? 0) | (1 << (member & 31));
    return new Bitset(words);
  }

  static where(size: number, isMember: (member: number) => boolean): Bitset {
    const words = new Int32Array((size + 31) >>> 5);
    for (let member = 0; member < size; member++) {
      if (isMember(member)) words[member >>> 5] = word(words, member >>> 5) | (1 << (member & 31));
    }
    return new Bitset(words);
  }

  get size(): number {
    return this.words.length * 32;
  }

  has(member: number): boolean {
    return ((this.words[member >>> 5] ?? 0) & (1 << (member & 31))) !== 0;
  }

  /** The union; returns `this` if nothing is added, so that an unchanged set stays the same object. */
  or(other: Bitset): Bitset {
    if (this === other || this.contains(other)) return this;
    const { words } = other;
    const both = this.words.slice();
    for (let i = 0; i < both.length; i++) both[i] = word(both, i) | word(words, i);
    return new Bitset(both);
  }

  and(other: Bitset): Bitset {
    if (this === other) return this;
    const { words } = other;
    const both = this.words.slice();
    for (let i = 0; i < both.length; i++) both[i] = word(both, i) & word(words, i);
    return new Bitset(both);
  }

  /** The difference; returns `this` if nothing is removed. */
  minus(other: Bitset): Bitset {
    if (!this.intersects(other)) return this;
    const { words } = other;
    const left = this.words.slice();
    for (let i = 0; i < left.length; i++) left[i] = word(left, i) & ~word(words, i);
    return new Bitset(left);
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

  /** Size of the union. */
  countWith(other: Bitset): number {
    let count = 0;
    for (let i = 0; i < this.words.length; i++) count += bitCount(word(this.words, i) | word(other.words, i));
    return count;
  }

  /** Members 32 × index to 32 × index + 31, one bit each. */
  wordAt(index: number): number {
    return word(this.words, index);
  }

  members(): number[] {
    const members: number[] = [];
    this.forEach((member) => members.push(member));
    return members;
  }

  /** In ascending order. */
  forEach(visit: (member: number) => void): void {
    const { words } = this;
    for (let i = 0; i < words.length; i++) {
      for (let rest = word(words, i); rest !== 0; rest &= rest - 1) visit((i << 5) + 31 - Math.clz32(rest & -rest));
    }
  }

  /** A key for maps. Keys can be concatenated without becoming ambiguous. */
  key(): string {
    const { words } = this;
    return words.length <= SHORT ? `${words.join()};` : String.fromCharCode(...new Uint16Array(words.buffer));
  }
}

export function bitCount(word: number): number {
  const pairs = word - ((word >>> 1) & 0x55555555);
  const fours = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333);
  return Math.imul((fours + (fours >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}

/** Number of words up to which a key is made from numbers, which is faster for short sets. */
const SHORT = 4;

function word(words: Int32Array, index: number): number {
  return words[index] ?? 0;
}
