import fc from 'fast-check';
import { cutPage, judgeAsked, readRowCursor, writeRowCursor } from './row-window.js';

describe('a place in a result', () => {
  it('comes back as it was written', () => {
    fc.assert(fc.property(fc.nat(1e15 - 1), (row) => readRowCursor(writeRowCursor(row)) === row));
  });

  it.each(['', 'x', 'MQ==', 'MQ ', 'LTE', 'MDE', 'MS41', writeRowCursor(1e15)])('is not %j', (text) => {
    expect(readRowCursor(text)).toBeNull();
  });
});

describe('judgeAsked', () => {
  it.each([
    [0, 0, 0, 'next'],
    [5, 2, 5, 'next'],
    [2, 2, 5, 'newest'],
    [0, 2, 5, 'gone'],
    [3, 2, 5, 'gone'],
    [6, 2, 5, 'unknown-place'],
  ])('%i, with a newest page from %i to before %i: %s', (row, from, to, asked) => {
    expect(judgeAsked(row, from, to)).toBe(asked);
  });
});

describe('cutPage', () => {
  const held = { start: 100, rows: Array<unknown>(10) };

  it.each([
    [100, 4, 0, { to: 104, reached: 'limit' }],
    [104, 6, 0, { to: 110, reached: 'end-of-page' }],
    [104, Infinity, 0, { to: 110, reached: 'end-of-page' }],
    [104, 6, 107, { to: 107, reached: 'max-rows' }],
    [100, 4, 107, { to: 104, reached: 'limit' }],
    [104, 6, 110, { to: 110, reached: 'max-rows' }],
  ])('from %i at most %i, of %i in all', (from, limit, maxRows, cut) => {
    expect(cutPage(from, limit, held, maxRows)).toEqual(cut);
  });

  it('hands every row out once, whatever the limits and pages are', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 50 })),
        fc.integer({ min: 1, max: 20 }),
        fc.nat(100),
        (pages, limit, maxRows) => {
          const rows: number[] = [];
          let start = 0;
          for (const length of pages) {
            let to = start;
            while (to < start + length && !(maxRows > 0 && rows.length === maxRows)) {
              const cut = cutPage(to, limit, { start, rows: Array<unknown>(length) }, maxRows);
              for (let row = to; row < cut.to; row += 1) rows.push(row);
              to = cut.to;
            }
            start += length;
          }
          const all = pages.reduce((sum, length) => sum + length, 0);

          expect(rows).toEqual(Array.from({ length: maxRows === 0 ? all : Math.min(all, maxRows) }, (_, row) => row));
        },
      ),
    );
  });
});
