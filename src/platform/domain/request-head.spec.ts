import fc from 'fast-check';
import { RequestHead } from './request-head.js';

const head = (...headers: string[]): string => ['GET / HTTP/1.1', ...headers, '', ''].join('\r\n');

/** What is taken as one, and how many lines each had, when so many bytes are handed over at a time. */
function taken(text: string, size: number): [string, number][] {
  const found: [string, number][] = [];
  const reading = new RequestHead();
  let current = '';
  let rest = Buffer.from(text, 'latin1');
  while (rest.length > 0) {
    const portion = reading.take(rest.subarray(0, size));
    current += rest.toString('latin1', 0, portion);
    rest = rest.subarray(portion);
    if (!/[^\r\n]\r\n\r\n$/.test(current)) continue;
    found.push([current, reading.lines]);
    current = '';
  }
  return found;
}

describe('the head of a request', () => {
  it.each([
    ['has a line for each header, one before and one after them', [head('Host: x', 'A: b')], [4]],
    ['ends at the first empty line', [head('Host: x'), head()], [3, 2]],
    ['may follow empty lines, which do not count', [`\r\n\r\n\r\n${head('Host: x')}`], [3]],
    ['does not end at line feeds alone', [head('A: b\n\nC: d')], [5]],
  ])('%s', (_, heads, lines) => {
    expect(taken(heads.join(''), 2_048)).toEqual(heads.map((text, at) => [text, lines[at]]));
  });

  it('is the same in whatever pieces it comes', () => {
    const heads = fc.array(fc.array(fc.stringMatching(/^[a-z]{1,5}: ?[a-z\n]{0,5}[a-z]$/), { maxLength: 5 }), {
      maxLength: 4,
    });
    fc.assert(
      fc.property(heads, fc.integer({ min: 1, max: 20 }), (all, size) => {
        const text = all.map((headers) => head(...headers)).join('');

        expect(taken(text, size)).toEqual(taken(text, 10_000));
        expect(taken(text, size)).toHaveLength(all.length);
      }),
    );
  });

  it('counts lines that come without an end', () => {
    const reading = new RequestHead();
    for (let count = 0; count < 10; count += 1) reading.take(Buffer.from('A:\r\n'.repeat(20)));

    expect(reading.lines).toBe(200);
  });
});
