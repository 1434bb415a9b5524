import { plainValue, readJson } from './json-reader.js';

describe('reading JSON within limits', () => {
  const codes = (text: string, limits: { maxValues: number; maxFaults: number }): string[] =>
    readJson(text, limits).faults.map(({ code }) => code);

  it('stops at the value that is one too many: what follows is not read', () => {
    expect(codes('[1, [2, 3], no JSON', { maxValues: 4, maxFaults: 1 })).toEqual(['json-too-many-values']);
    expect(codes('[1, [2, 3]]', { maxValues: 5, maxFaults: 1 })).toEqual([]);
  });

  it('stops at the last fault that is wanted', () => {
    const text = '{"a": 1, "a": 2, "a": "\\ud800", no JSON';

    expect(codes(text, { maxValues: 10, maxFaults: 2 })).toEqual(['json-duplicate-key', 'json-duplicate-key']);
    expect(codes(text, { maxValues: 10, maxFaults: 9 })).toHaveLength(4);
  });

  it('shows the beginning of a long key', () => {
    const { faults } = readJson(`{"${'a'.repeat(1000)}": 1, "${'a'.repeat(1000)}": 2}`);

    expect(faults[0]?.message.length).toBeLessThan(200);
  });
});

describe('reading JSON strings', () => {
  const TEXTS = [
    '""',
    '"plain"',
    String.raw`"\"\\\/\b\f\n\r\t"`,
    String.raw`"a\u00e9b\ud83d\ude00c"`,
    '"é😀\u007f"',
    String.raw`"\\"`,
  ];

  it.each(TEXTS)('%s is what JSON.parse makes of it', (text) => {
    const { root, faults } = readJson(` [${text} , ${text}]`);

    expect(faults).toEqual([]);
    expect(root && plainValue(root)).toEqual([JSON.parse(text), JSON.parse(text)]);
  });

  it.each([
    [String.raw`"a\x"`, 'invalid escape sequence', 2],
    [String.raw`"a\u12g4"`, 'invalid escape sequence: \\u needs four hexadecimal digits', 2],
    ['"a\\', 'invalid escape sequence', 2],
    ['"a\n"', 'unescaped control character in a string', 2],
    ['"abc', 'unterminated string', 0],
  ])('%j is refused at its place', (text, message, at) => {
    expect(readJson(text).faults).toEqual([{ code: 'json-syntax', message, at }]);
  });
});
