import { entityTag, isKnownTag } from './entity-tag.js';

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
    expect(isKnownTag(tag, header)).toBe(isKnown);
  });
});
