import fc from 'fast-check';
import { ChunkedBody } from './chunked-body.js';

/** What the parser would get of all pieces together, and what is left. */
function taken(pieces: string[]): { body: ChunkedBody; parsed: string; rest: string; chunks: number } {
  const body = new ChunkedBody();
  let [parsed, rest, chunks] = ['', '', 0];
  for (const piece of pieces) {
    const bytes = Buffer.from(piece, 'latin1');
    const { used, parsed: more } = body.take(bytes);
    parsed += more.toString('latin1');
    rest += bytes.toString('latin1', used);
    if (more.length > 0) chunks += 1;
  }
  return { body, parsed, rest, chunks };
}

/** The data of well-formed chunks without extensions. */
function dataIn(framed: string): string {
  const end = framed.indexOf('\r\n');
  const size = parseInt(framed.slice(0, end), 16);
  return size > 0 ? framed.slice(end + 2, end + 2 + size) + dataIn(framed.slice(end + 4 + size)) : '';
}

const chunk = (data: string, extension = ''): string => `${data.length.toString(16)}${extension}\r\n${data}\r\n`;

describe('a body in chunks', () => {
  it('is the same data in one chunk for all that has come', () => {
    const all = chunk('a').repeat(1_000);

    expect(taken([`${all}0\r\n\r\n`])).toMatchObject({
      parsed: `3e8\r\n${'a'.repeat(1_000)}\r\n0\r\n\r\n`,
      chunks: 1,
      body: { hasEnded: true, fault: null },
    });
  });

  it('has the same data and the same end in whatever pieces it comes, and what follows it is no part of it', () => {
    const data = fc.string({ unit: fc.constantFrom('a', '\r', '\n', '0', '\xff'), minLength: 1, maxLength: 40 });
    const extension = fc.constantFrom('', ';a', ';a="b"', ';\ta=b');
    const trailers = fc.constantFrom('', 'A: b\r\n', 'A:\r\nB:c: d\r\n');
    fc.assert(
      fc.property(
        fc.array(fc.tuple(data, extension), { maxLength: 8 }),
        trailers,
        fc.array(fc.integer({ min: 1, max: 30 }), { maxLength: 40 }),
        (chunks, trailer, sizes) => {
          const text = `${chunks.map(([one, more]) => chunk(one, more)).join('')}0\r\n${trailer}\r\nGET / HTTP/1.1`;
          const cuts = sizes.reduce<number[]>((at, size) => [...at, (at.at(-1) ?? 0) + size], [0]);
          const pieces = cuts.map((cut, at) => text.slice(cut, cuts[at + 1]));

          const { parsed, rest, body } = taken(pieces);
          expect(body.fault).toBeNull();
          expect(dataIn(parsed)).toBe(chunks.map(([one]) => one).join(''));
          expect(parsed.endsWith('0\r\n\r\n')).toBe(true);
          expect(rest).toBe('GET / HTTP/1.1');
        },
      ),
    );
  });

  it.each([
    'g\r\n',
    '\r\n',
    ';a\r\n',
    '-1\r\n',
    '0x1\r\na\r\n',
    ' 1\r\na\r\n',
    '1 \r\na\r\n',
    '1\na\r\n',
    '1\r\rna\r\n',
    '1;a\nb\r\na\r\n',
    '1;a\rb\r\na\r\n',
    '1;\0\r\na\r\n',
    '1\r\nab\r\n',
    '1\r\na\n1',
    '1\r\na\r\r\n',
    '80000000\r\n',
    'fffffffffffffffff1\r\n',
    '0\r\nA\r\n\r\n',
    '0\r\n: b\r\n\r\n',
    '0\r\nA : b\r\n\r\n',
    '0\r\n b\r\n\r\n',
    '0\r\nA: b\n\r\n',
    '0\r\nA: b\rc\r\n\r\n',
    '0\r\nGET / HTTP/1.1\r\n\r\n',
    '0\r\n\n',
    '0\n\n',
  ])('is malformed where others could read it otherwise: %j', (text) => {
    expect(taken([text]).body).toMatchObject({ fault: 'MALFORMED_CHUNKS', hasEnded: false });
  });

  it.each([
    ['extensions', chunk('a', `;${'e'.repeat(5_000)}`).repeat(5)],
    ['one extension', `1;${'e'.repeat(20_000)}`],
    ['trailers', `0\r\n${'A: b\r\n'.repeat(5_000)}`],
    ['zeros', '0'.repeat(20_000)],
  ])('has little framing that is not due to its data: %s', (_, text) => {
    expect(taken([text]).body).toMatchObject({ fault: 'TOO_MUCH_FRAMING', hasEnded: false });
  });

  it('may have a length of any case, with zeros before it', () => {
    expect(dataIn(taken([`00A\r\n0123456789\r\n0b\r\n0123456789a\r\n000\r\n\r\n`]).parsed)).toBe(
      '01234567890123456789a',
    );
  });
});
