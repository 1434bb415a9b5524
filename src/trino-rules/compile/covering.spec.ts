import fc from 'fast-check';
import { Bitset } from './bitset.js';
import { type Draft, factorOut, Weights } from './rectangles.js';

const CLASSES = 40;
const ROWS = 6;
const COST = { rule: 14, person: 3, sibling: 1 };

describe('drafts that share what they have in common', () => {
  it('cover all users that must be covered and none that may not, wherever the budget ends', () => {
    fc.assert(
      fc.property(anyDrafts(), fc.integer({ min: 0, max: 500 }), (begun, steps) => {
        const is = new Set(covered(factorOut(begun, weights(), COST, steps), ({ classes }) => classes));
        const must = covered(begun, ({ classes }) => classes);
        const may = new Set(covered(begun, (draft) => draft.allowedClasses));

        expect(must.filter((cell) => !is.has(cell))).toEqual([]);
        expect([...is].filter((cell) => !may.has(cell))).toEqual([]);
      }),
    );
  });

  it('are left as they are without a budget, and are no more bytes with one', () => {
    fc.assert(
      fc.property(anyDrafts(), (begun) => {
        expect(factorOut(begun, weights(), COST, 0)).toEqual(begun);
        expect(bytes(factorOut(begun, weights(), COST))).toBeLessThanOrEqual(bytes(begun));
      }),
    );
  });
});

/** Classes of different sizes, the largest first. */
function weights(): Weights {
  return new Weights(Array.from({ length: CLASSES }, (_, i) => COST.person * (i < 5 ? 5 - i : 1)));
}

function bytes(drafts: readonly Draft[]): number {
  return drafts.reduce(
    (sum, { classes, rows }) => sum + COST.rule + COST.sibling * rows.count() + weights().weightOf(classes),
    0,
  );
}

function covered(drafts: readonly Draft[], usersOf: (draft: Draft) => Bitset): string[] {
  const cells = drafts.flatMap((draft) =>
    draft.rows.members().flatMap((row) =>
      usersOf(draft)
        .members()
        .map((some) => `${row}:${some}`),
    ),
  );
  return cells;
}

/** One draft for each row; users that must be in a row may be in it. */
function anyDrafts(): fc.Arbitrary<Draft[]> {
  const some = fc.uniqueArray(fc.nat(CLASSES - 1), { minLength: 1, maxLength: CLASSES });
  return fc.array(fc.tuple(some, some), { minLength: 1, maxLength: ROWS }).map((rows) =>
    rows.map(([must, may], row) => ({
      classes: Bitset.of(CLASSES, must),
      rows: Bitset.of(ROWS, [row]),
      allowedClasses: Bitset.of(CLASSES, [...must, ...may]),
    })),
  );
}

/** Weights of 70 classes: one weight in the first word, two in the second; the third word is incomplete. */
const ofWords = (): Weights => new Weights(Array.from({ length: 70 }, (_, i) => (i < 32 ? 3 : i < 64 ? i % 2 : 5)));
const of = (...classes: number[]): Bitset => Bitset.of(70, classes);

describe('weights of classes', () => {
  it('add up, in words of one weight and of several', () => {
    expect(ofWords().wordCount).toBe(3);
    expect(ofWords().weightOf(of())).toBe(0);
    expect(ofWords().weightOf(of(0, 31))).toBe(6);
    expect(ofWords().weightOf(of(32, 33, 34, 35, 63))).toBe(3);
    expect(ofWords().weightOf(of(0, 33, 64, 69))).toBe(14);
  });

  it('are those of the classes in both of two sets', () => {
    expect(ofWords().weightOfIntersection(of(0, 1, 33, 35, 64), of(1, 2, 33, 34, 69))).toBe(4);
  });
});
