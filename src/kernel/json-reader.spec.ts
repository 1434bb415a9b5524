import { readJson } from './json-reader.js';

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
