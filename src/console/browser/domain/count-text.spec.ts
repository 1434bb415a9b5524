import { countText, listText, moreText, peopleText } from './count-text.js';

describe('a count', () => {
  it.each([
    [countText(0, 'grant'), '0 grants'],
    [countText(1, 'grant'), '1 grant'],
    [countText(1204, 'policy', { plural: 'policies' }), '1,204 policies'],
    [countText(200, 'event', { hasMore: true }), '200 and more events'],
    [countText(1, 'event', { hasMore: true }), '1 and more events'],
    [listText({ items: null, hasMore: false }, 'grant'), 'Reading grants'],
    [listText({ items: [1], hasMore: false }, 'policy', 'policies'), '1 policy'],
    [peopleText(1), '1 person'],
    [peopleText(8), '8 people'],
    [moreText(['groups', peopleText(9980)]), 'More match: groups and 9,980 people. Type more of the name.'],
    [moreText([]), null],
  ])('%s', (text, expected) => expect(text).toBe(expected));
});
