import { bitCount, type Bitset } from './bitset.js';

/** The bytes of classes of users, sorted, so that most words of a set have one weight. */
export class Weights {
  /** By word of a set: what each of its members weighs; of a word whose members differ it is not known. */
  private readonly each: readonly (number | null)[];

  /** @param weights by class. */
  constructor(private readonly weights: readonly number[]) {
    this.each = Array.from({ length: this.words }, (_, word) => {
      const some = new Set(weights.slice(word * 32, word * 32 + 32));
      return some.size > 1 ? null : ([...some][0] ?? 0);
    });
  }

  get words(): number {
    return (this.weights.length + 31) >>> 5;
  }

  of(set: Bitset): number {
    return this.ofBoth(set, set);
  }

  /** Of those who are in both. */
  ofBoth(a: Bitset, b: Bitset): number {
    let sum = 0;
    for (let index = 0; index < this.each.length; index++) {
      const word = a.wordAt(index) & b.wordAt(index);
      if (word !== 0) sum += this.ofWord(index, word);
    }
    return sum;
  }

  private ofWord(index: number, word: number): number {
    const each = this.each[index] ?? null;
    if (each !== null) return each * bitCount(word);
    let sum = 0;
    for (let rest = word; rest !== 0; rest &= rest - 1)
      sum += this.weights[(index << 5) + 31 - Math.clz32(rest & -rest)] ?? 0;
    return sum;
  }
}
