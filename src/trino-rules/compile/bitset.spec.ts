import fc from 'fast-check';
import { Bitset } from './bitset.js';

const SIZE = 70;

describe('a set of small numbers', () => {
  it('has a key of its own, also behind another key', () => {
    const set = fc
      .uniqueArray(fc.constantFrom(0, 1, 2, 3, 4, 32, 33, 34, 35, 36, 64, 65))
      .map((some) => Bitset.of(SIZE, some));
    fc.assert(
      fc.property(
        set,
        set,
        set,
        set,
        (a, b, c, d) =>
          (a.key() + b.key() === c.key() + d.key()) ===
          (String([a.members(), b.members()]) === String([c.members(), d.members()])),
      ),
      { numRuns: 10_000 },
    );
  });

  it('distinguishes these two pairs, whose words have the same digits in a row', () => {
    const of = (...words: number[]) =>
      Bitset.of(
        64,
        Array.from({ length: 64 }, (_, i) => i).filter((i) => ((words[i >>> 5] ?? 0) & (1 << (i & 31))) !== 0),
      );

    expect(of(1, 2).key() + of(13, 23).key()).not.toBe(of(1, 21).key() + of(3, 23).key());
  });

  it('counts, joins and takes away as plain sets do, with the highest bit of a word too', () => {
    const numbers = fc.uniqueArray(fc.nat(SIZE - 1));
    fc.assert(
      fc.property(numbers, numbers, (some, others) => {
        const [a, b] = [Bitset.of(SIZE, some), Bitset.of(SIZE, others)];
        const sorted = (members: Iterable<number>) => [...new Set(members)].sort((x, y) => x - y);

        expect(a.members()).toEqual(sorted(some));
        expect(a.contains(b)).toBe(others.every((each) => some.includes(each)));
        expect(a.intersects(b)).toBe(others.some((each) => some.includes(each)));
        expect(a.count()).toBe(some.length);
        expect(a.or(b).members()).toEqual(sorted([...some, ...others]));
        expect(a.unionCount(b)).toBe(new Set([...some, ...others]).size);
        expect(a.and(b).members()).toEqual(sorted(some.filter((each) => others.includes(each))));
        expect(a.minus(b).members()).toEqual(sorted(some.filter((each) => !others.includes(each))));
      }),
    );
  });
});
