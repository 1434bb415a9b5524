import { WorkBudget } from '../../trino-rules/document/work-budget.js';
import { newPatternCache } from '../foreign/audiences.js';
import { excludedNames } from './named-nodes.js';

describe('the names that a pattern leaves out of all', () => {
  it.each<[string | undefined, string[] | null]>([
    [undefined, []],
    ['.*', []],
    ['(?!secret$).*', ['secret']],
    ['^(?!(system|archive)$).*$', ['archive', 'system']],
    ['(?!.?$).+', null],
    ['(?!secret).*', null],
    ['(?!.*guest).*', null],
    ['(?!secret$)[a-z]+', null],
    ['a.*', null],
    ['a|b', null],
  ])('are few, or the pattern is about some names alone: %s', (text, names) => {
    const found = excludedNames(text, newPatternCache(new WorkBudget(Infinity)));
    expect(found && [...found].sort()).toEqual(names);
  });
});
