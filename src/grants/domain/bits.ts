/** An immutable set of small numbers, one bit each: people as sets. All sets that meet have the same size. */
export class Bits {
  private constructor(private readonly words: Uint32Array) {}

  static none(size: number): Bits {
    return new Bits(new Uint32Array((size + 31) >>> 5));
  }

  static of(size: number, members: Iterable<number>): Bits {
    const words = new Uint32Array((size + 31) >>> 5);
    for (const member of members) words[member >>> 5] = (words[member >>> 5] ?? 0) | (1 << (member & 31));
    return new Bits(words);
  }

  has(member: number): boolean {
    return ((this.words[member >>> 5] ?? 0) & (1 << (member & 31))) !== 0;
  }

  /** `this` itself where nothing is added, so that an unchanged set stays the same object down the tree. */
  or(other: Bits): Bits {
    return this === other || this.contains(other) ? this : this.combine(other, (a, b) => a | b);
  }

  and(other: Bits): Bits {
    return this === other ? this : this.combine(other, (a, b) => a & b);
  }

  /** `this` itself where nothing is taken away. */
  minus(other: Bits): Bits {
    return this.meets(other) ? this.combine(other, (a, b) => a & ~b) : this;
  }

  /** The members of exactly one of the two. */
  differs(other: Bits): Bits {
    return this.combine(other, (a, b) => a ^ b);
  }

  contains(other: Bits): boolean {
    return other.words.every((word, i) => (word & ~(this.words[i] ?? 0)) === 0);
  }

  meets(other: Bits): boolean {
    return this.words.some((word, i) => (word & (other.words[i] ?? 0)) !== 0);
  }

  equals(other: Bits): boolean {
    return this === other || this.words.every((word, i) => word === other.words[i]);
  }

  isEmpty(): boolean {
    return this.words.every((word) => word === 0);
  }

  count(): number {
    let count = 0;
    for (let word of this.words) for (; word !== 0; word &= word - 1) count++;
    return count;
  }

  /** Ascending. */
  members(): number[] {
    const members: number[] = [];
    this.words.forEach((word, i) => {
      for (let rest = word; rest !== 0; rest &= rest - 1) members.push((i << 5) + 31 - Math.clz32(rest & -rest));
    });
    return members;
  }

  /** Equal for equal sets and different for different ones: a key for maps. */
  key(): string {
    return String.fromCharCode(...new Uint16Array(this.words.buffer));
  }

  private combine(other: Bits, join: (a: number, b: number) => number): Bits {
    return new Bits(this.words.map((word, i) => join(word, other.words[i] ?? 0)));
  }
}
