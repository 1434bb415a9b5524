import fc from 'fast-check';
import { JsonScanner } from './json-scanner.js';
import { PageRows } from './page-rows.js';
import { ProtocolBreach, readList } from './reading.js';
import { UnscannedRows } from './unscanned-rows.js';

const EXACT = [0, 2];
const cell = fc.oneof(
  fc.constantFrom('null', 'true', '1', '-0', '1.5', '9223372036854775807', '-9007199254740993', '1e30', ' 2 '),
  fc.integer().map(String),
  fc.constantFrom('],[', ']],\\"stats\\":', '[[', '\\\\', '\\"', 'é', '').map((text) => `"${text}"`),
  fc.string().map((text) => JSON.stringify(text)),
);
const anyRows = fc.array(
  fc.tuple(cell, cell, cell).map((cells) => `[${cells.join(',')}]`),
  { minLength: 1, maxLength: 12 },
);

const start = (body: string): JsonScanner => new JsonScanner(Buffer.from(body), body.indexOf(':') + 1);
const taken = (body: string, piece?: number) => UnscannedRows.take(start(body), Infinity, piece);
const flatten = (rows: Pick<PageRows, 'decoded'>): unknown[][] => [...rows.decoded(decode)].flat();

/** The rows, or why there are none. */
function readingOf(rows: Pick<PageRows, 'decoded'> | null): unknown {
  try {
    return rows && flatten(rows).map(lossy);
  } catch (error) {
    return error;
  }
}

/** In two columns no integer may lose digits. */
function decode(row: unknown): unknown[] {
  const values = readList(row, 'a row');
  const isLossy = EXACT.some((at) => Number.isInteger(values[at]) && !Number.isSafeInteger(values[at]));
  if (isLossy) throw new ProtocolBreach('lost digits');
  return [...values];
}

describe('UnscannedRows', () => {
  it('has the rows of a page that is looked through, but for digits that no column needs', () => {
    fc.assert(
      fc.property(anyRows, fc.nat(40), fc.constantFrom(',', ' , ', ',\n'), (rows, piece, comma) => {
        const body = `{"data":[${rows.join(comma)}],"stats":{}}`;
        const read = taken(body, piece);

        expect(readingOf(read)).toEqual(readingOf(PageRows.scan(start(body))));
      }),
      { numRuns: 2_000 },
    );
  });

  it.each([
    ['an end that is written otherwise', '{"data":[[1,2,3]] ,"stats":{}}'],
    ['no rows', '{"data":[],"stats":{}}'],
    ['an end in another order', '{"data":[[1,2,3]],"id":"q","stats":{}}'],
  ])('leaves a page with %s to be looked through', (_, body) => {
    expect(taken(body)).toBeNull();
  });

  it('leaves the scanner behind the rows', () => {
    const scanner = start('{"data":[[1,2,3]],"stats":{}}');
    UnscannedRows.take(scanner, Infinity);

    expect(scanner.bytes.toString('utf8', scanner.at)).toBe(',"stats":{}}');
  });

  it.each([
    ['is cut off', '{"data":[[1,2,3],[4,5,[6]],"stats":{}}'],
    ['goes on', '{"data":[[1,2,3]],"more":[[1]],"stats":{}}'],
    ['is no JSON', '{"data":[[1,2,3],[4,x,6]],"stats":{}}'],
  ])('refuses a list that %s', (_, body) => {
    const rows = taken(body);

    expect(() => rows && flatten(rows)).toThrow('the answer is not JSON');
  });

  it('refuses a row that would take more memory than a row may', () => {
    const body = `{"data":[[1,${'[],'.repeat(400_000)}3]],"stats":{}}`;
    const rows = UnscannedRows.take(start(body), 1_000_000);

    expect(() => rows && flatten(rows)).toThrow('a row that would take too much memory');
  });
});

/** Outside of the exact columns, long integers may be numbers or texts. */
function lossy(row: unknown[]): unknown[] {
  return row.map((value, position) =>
    !EXACT.includes(position) && typeof value === 'string' && /^-?\d{16,}$/.test(value) ? Number(value) : value,
  );
}
