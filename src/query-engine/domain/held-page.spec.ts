import fc from 'fast-check';
import { ByteBudget, HeldPage, judgeFirstRow, type Reservation } from './held-page.js';
import { JsonScanner } from './json-scanner.js';
import { PageRows } from './page-rows.js';

function rowsOf(count: number): PageRows {
  return PageRows.scan(new JsonScanner(Buffer.from(JSON.stringify(Array.from({ length: count }, () => [1])))));
}

function pageOf(start: number, count: number): HeldPage {
  const budget = new ByteBudget(600, 50);
  return new HeldPage(start, rowsOf(count), budget.reserve('ana'), budget);
}

function reserved(budget: ByteBudget, owner: string, bytes: number): Reservation {
  const reservation = budget.reserve(owner);
  expect(reservation.raiseTo(bytes)).toBe('granted');
  return reservation;
}

describe('ByteBudget', () => {
  it('gives each owner a hard share, and takes it back', () => {
    const budget = new ByteBudget(600, 50);
    const first = reserved(budget, 'ana', 60);
    const more = budget.reserve('ana');

    expect(more.raiseTo(41)).toBe('share');
    expect(budget.reserve('bo').raiseTo(100)).toBe('granted');
    first.release();
    first.release();
    expect(more.raiseTo(41)).toBe('granted');
    expect(budget.bytes).toBe(141);
  });

  it('counts bytes once, however often they are claimed', () => {
    const budget = new ByteBudget(600, 50);
    const reservation = reserved(budget, 'ana', 80);

    expect(reservation.raiseTo(30)).toBe('granted');
    expect(reservation.raiseTo(90)).toBe('granted');
    expect(budget.bytes).toBe(90);
  });

  it('lets one owner hold the largest page, and nobody more than there is', () => {
    const budget = new ByteBudget(60, 50);
    reserved(budget, 'ana', 50);

    expect(budget.reserve('bo').raiseTo(10)).toBe('granted');
    expect(budget.reserve('cy').raiseTo(1)).toBe('full');
  });

  it('reclaims bytes where a share is used up, before it refuses', () => {
    const kept: Reservation[] = [];
    const budget = new ByteBudget(600, 50, (owner) => {
      for (const reservation of kept) if (reservation.owner === owner) reservation.release();
    });
    kept.push(reserved(budget, 'ana', 70));
    reserved(budget, 'ana', 30);
    kept.push(reserved(budget, 'bo', 10));

    expect(budget.reserve('ana').raiseTo(70)).toBe('granted');
    expect(budget.bytes).toBe(110);
    expect(budget.reserve('ana').raiseTo(1)).toBe('share');
  });
});

describe('HeldPage', () => {
  it('is counted until its last holder has released it', () => {
    const budget = new ByteBudget(600, 50);
    const page = new HeldPage(0, rowsOf(2), reserved(budget, 'ana', 60), budget);
    const [one, other] = [0, 1].map(() =>
      page.rowsForReader({ startRow: 0, endRow: 2, next: 2 }, [], { onFault: () => undefined }),
    );
    expect(one?.claim(10, 10)).toBe('granted');
    expect(budget.bytes).toBe(70);
    one?.release();
    one?.release();

    expect(page.isBeingRead).toBe(true);
    page.release();
    expect(budget.bytes).toBe(60);
    other?.release();
    expect(budget.bytes).toBe(0);
  });

  it.each([
    [41, 'share', []],
    [101, 'too-large', ['too-large']],
  ])('is too large if %i needed bytes exceed a share beside it: %s', (neededBytes, outcome, expected) => {
    const budget = new ByteBudget(840, 50);
    const page = new HeldPage(0, rowsOf(2), reserved(budget, 'ana', 60), budget);
    const faults: string[] = [];
    const reader = page.rowsForReader({ startRow: 0, endRow: 2, next: 2 }, [], {
      onFault: (kind) => faults.push(kind),
    });

    expect(reader.claim(120, neededBytes)).toBe(outcome);
    expect(faults).toEqual(expected);
  });
});

describe('judgePlace', () => {
  it.each([
    [0, 0, 0, 'next'],
    [5, 2, 5, 'next'],
    [2, 2, 5, 'newest'],
    [0, 2, 5, 'gone'],
    [3, 2, 5, 'gone'],
    [6, 2, 5, 'unknown-place'],
  ])('%i, with a newest page from %i to before %i: %s', (row, from, to, place) => {
    expect(judgeFirstRow(row, from, to)).toBe(place);
  });
});

describe('an answer out of a page', () => {
  it.each([
    [100, 4, 0, { toRow: 104, reason: 'limit' }],
    [104, 6, 0, { toRow: 110, reason: 'end-of-page' }],
    [104, Infinity, 0, { toRow: 110, reason: 'end-of-page' }],
    [104, 6, 107, { toRow: 107, reason: 'max-rows' }],
    [100, 4, 107, { toRow: 104, reason: 'limit' }],
    [104, 6, 110, { toRow: 110, reason: 'max-rows' }],
  ])('from %i at most %i, of %i in all', (from, limit, maxRows, cut) => {
    expect(pageOf(100, 10).endFrom(from, limit, maxRows)).toEqual(cut);
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
              const cut = pageOf(start, length).endFrom(to, limit, maxRows);
              for (let row = to; row < cut.toRow; row += 1) rows.push(row);
              to = cut.toRow;
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
