import { ruleLines } from './rule-segments.js';

describe('the rules of a difference', () => {
  it('mark what the most similar rule of the same section lacks', () => {
    const added = ['tables {"user":"ana|bo|cy","catalog":"sales"}'];
    const removed = ['schemas {"user":"ana|bo|cy","catalog":"sales"}', 'tables {"user":"ana|cy","catalog":"sales"}'];
    expect(ruleLines(added, removed)).toEqual([
      {
        section: 'tables',
        segments: [
          { text: '{"user":"ana|', isChanged: false },
          { text: 'bo|', isChanged: true },
          { text: 'cy","catalog":"sales"}', isChanged: false },
        ],
      },
    ]);
  });

  it('mark nothing where no rule is alike', () => {
    const text = '{"user":"ana","catalog":"sales"}';
    expect(ruleLines([`tables ${text}`], ['tables {"catalog":"x"}'])).toEqual([
      { section: 'tables', segments: [{ text, isChanged: false }] },
    ]);
    expect(ruleLines([`tables ${text}`], [])[0]?.segments).toEqual([{ text, isChanged: false }]);
  });
});
