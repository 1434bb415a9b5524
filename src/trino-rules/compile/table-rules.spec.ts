import { interleave } from './table-rules.js';

const BLOCKS = ['a', 'b', 'c'].map((name) => ({ name, rules: [`below ${name}`] }));
const about = (...names: string[]) => ({ names, rule: `about ${names.join(' and ')}` });

describe('the order of rules about nodes and about what is below them', () => {
  it('puts each right behind the last block that it is about', () => {
    expect(interleave(BLOCKS, [about('b'), about('c', 'a'), about('a')])).toEqual([
      'below a',
      'below b',
      'about b',
      'below c',
      'about c and a',
      'about a',
    ]);
  });

  it('never lets a rule overtake an earlier one about the same node', () => {
    expect(interleave(BLOCKS, [about('a', 'b'), about('a'), about('a', 'c'), about('b')])).toEqual([
      'below a',
      'below b',
      'about a and b',
      'about a',
      'about b',
      'below c',
      'about a and c',
    ]);
  });

  it('begins with what is about nodes that have nothing below them', () => {
    expect(interleave(BLOCKS, [about('x'), about('x', 'a')])).toEqual([
      'about x',
      'below a',
      'about x and a',
      'below b',
      'below c',
    ]);
  });
});
