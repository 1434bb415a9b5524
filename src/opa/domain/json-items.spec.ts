import { JsonItems } from './json-items.js';

/** Reads a text in two parts, cut at a byte. */
function readCut(text: string, at: number): unknown[] {
  const bytes = Buffer.from(text);
  const items = new JsonItems();
  const read = [...items.read(bytes.subarray(0, at)), ...items.read(bytes.subarray(at))];
  items.throwIfUnfinished();
  return read;
}

const cuts = (text: string): number[] => Array.from({ length: Buffer.byteLength(text) + 1 }, (_, at) => at);

describe('the items of a JSON array', () => {
  it.each([
    '[]',
    ' [ ] ',
    '[1]',
    '[{"a":[1,"]},[",{}]},"\\\\","\\"]",[[]], null ]\n',
    '["é,\u{1f600}]\\u002c",{"é":"[{"}]',
  ])('are the same wherever %s is cut', (text) => {
    for (const at of cuts(text)) expect(readCut(text, at)).toEqual(JSON.parse(text));
  });

  it.each([
    '',
    '{}',
    '[',
    '[1',
    '[1,]',
    '[,1]',
    '[1,,2]',
    '[1]]',
    '[1][2]',
    '[}]',
    '[1},{2]',
    '[{]}]',
    '["]',
    '[nil]',
    'x[]',
  ])('are not read of %s, wherever it is cut', (text) => {
    for (const at of cuts(text)) expect(() => readCut(text, at)).toThrow(SyntaxError);
  });

  it.each<[string, (long: string) => string, unknown[]]>([
    ['first', (long) => `[${long},1]`, [1]],
    ['in the middle', (long) => `[1,${long},2]`, [1, 2]],
    ['last', (long) => `[1,${long}]`, [1]],
    ['alone', (long) => `[${long}]`, []],
  ])('are left out where they are long: %s', (_, text, items) => {
    const whole = new JsonItems();
    const bytes = Buffer.from(text(`"${'],'.repeat(200_000)}"`));
    const read = [];
    for (let at = 0; at < bytes.length; at += 65_536) read.push(...whole.read(bytes.subarray(at, at + 65_536)));
    whole.throwIfUnfinished();
    expect(read).toEqual(items);
    expect(() => whole.read(Buffer.from(','))).toThrow(SyntaxError);
  });

  it('are not read where one is missing beside a long one', () => {
    const items = new JsonItems();
    items.read(Buffer.from(`["${'x'.repeat(300_000)}`));
    expect(() => items.read(Buffer.from('",]'))).toThrow(SyntaxError);
  });
});
