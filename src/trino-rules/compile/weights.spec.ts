import { Bitset } from './bitset.js';
import { Weights } from './weights.js';

/** Of 70 classes: the first word of one weight, the second of two, the third shorter than a word. */
const weights = (): Weights => new Weights(Array.from({ length: 70 }, (_, i) => (i < 32 ? 3 : i < 64 ? i % 2 : 5)));
const of = (...classes: number[]): Bitset => Bitset.of(70, classes);

describe('weights of classes', () => {
  it('add up, in words of one weight and of several', () => {
    expect(weights().words).toBe(3);
    expect(weights().of(of())).toBe(0);
    expect(weights().of(of(0, 31))).toBe(6);
    expect(weights().of(of(32, 33, 34, 35, 63))).toBe(3);
    expect(weights().of(of(0, 33, 64, 69))).toBe(14);
  });

  it('are those of the classes in both of two sets', () => {
    expect(weights().ofBoth(of(0, 1, 33, 35, 64), of(1, 2, 33, 34, 69))).toBe(4);
  });
});
