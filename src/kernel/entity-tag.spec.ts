import { entityTag, matchesEntityTag } from './entity-tag.js';

describe('the tag of an answer', () => {
  const tag = entityTag({ version: 7 });

  it('is the same for the same answer alone', () => {
    expect(entityTag({ version: 7 })).toBe(tag);
    expect(entityTag({ version: 8 })).not.toBe(tag);
    expect(tag).toMatch(/^W\/"[\w-]{27}"$/);
  });

  it.each([
    [undefined, false],
    ['', false],
    ['"other"', false],
    [tag, true],
    [tag.slice(2), true],
    [`"other", ${tag}`, true],
    ['*', true],
  ])('is known by If-None-Match %s: %s', (header, isKnown) => {
    expect(matchesEntityTag(header, tag)).toBe(isKnown);
  });
});

describe('If-Match', () => {
  it.each(['"a"', 'W/"a"', '"b", "a"', '"b",W/"a"', '*'])('%s admits "a"', (ifMatch) => {
    expect(matchesEntityTag(ifMatch, '"a"')).toBe(true);
    expect(matchesEntityTag(ifMatch, 'W/"a"')).toBe(true);
  });

  it.each(['"b"', 'a', '""', ''])('%s does not', (ifMatch) => {
    expect(matchesEntityTag(ifMatch, '"a"')).toBe(false);
  });
});
