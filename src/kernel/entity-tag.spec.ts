import { matchesEntityTag } from './entity-tag.js';

describe('If-Match', () => {
  it.each(['"a"', 'W/"a"', '"b", "a"', '"b",W/"a"', '*'])('%s admits "a"', (ifMatch) => {
    expect(matchesEntityTag(ifMatch, '"a"')).toBe(true);
    expect(matchesEntityTag(ifMatch, 'W/"a"')).toBe(true);
  });

  it.each(['"b"', 'a', '""', ''])('%s does not', (ifMatch) => {
    expect(matchesEntityTag(ifMatch, '"a"')).toBe(false);
  });
});
