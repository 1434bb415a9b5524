import { claimedGroups } from './group-claim.js';

const read = (groups: unknown, more: object = {}) => claimedGroups({ groups, ...more }, 'groups');
const known = (names: string[], { ambiguous = [] as string[], unusable = 0 } = {}) => ({
  kind: 'known',
  names,
  ambiguous,
  unusable,
});

describe('the claim of groups', () => {
  it.each<[string, unknown, string[]]>([
    ['absent', undefined, []],
    ['null', null, []],
    ['an empty list', [], []],
    ['names', ['emea', 'Platform Admins'], ['emea', 'Platform Admins']],
    ['paths', ['/analysts/emea', '/admins'], ['analysts/emea', 'admins']],
    ['a name with two slashes', ['//emea'], ['/emea']],
    ['one text', 'emea', ['emea']],
  ])('is read: %s', (_, value, names) => {
    expect(read(value)).toEqual(known(names));
  });

  it('joins nobody to one of two groups of a name', () => {
    expect(read(['a/b', 'admins', 'admins'])).toEqual(known(['a/b'], { ambiguous: ['admins'] }));
    expect(read(['/admins', 'Admins', 'ops'])).toEqual(known(['ops'], { ambiguous: ['admins', 'Admins'] }));
  });

  it('leaves out what no group can be called', () => {
    expect(read(['', '/', 'x'.repeat(129), 'a\u200bb', 'ops'])).toEqual(known(['ops'], { unusable: 4 }));
  });

  it.each<[string, unknown, object]>([
    ['too many for a token', undefined, { _claim_names: { groups: 'src1' } }],
    ['too many for a token, and some in it', ['ops'], { _claim_names: { groups: 'src1' } }],
    ['too many for an address', undefined, { hasgroups: true }],
    ['a number', 7, {}],
    ['an object', { ops: true }, {}],
    ['a list with something else', ['ops', { id: 1 }], {}],
  ])('says nothing: %s', (_, value, more) => {
    expect(read(value, more)).toEqual({ kind: 'unknown' });
  });

  it('takes the other claim for one of its own alone', () => {
    expect(read(['ops'], { _claim_names: { address: 'src1' } })).toEqual(known(['ops']));
  });
});
