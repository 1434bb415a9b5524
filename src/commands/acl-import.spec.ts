import { readListing } from './acl-import.js';

describe('a listing of what the engine has', () => {
  it('is a name a line, or rows of CSV with a header or without', () => {
    const text = [
      '# by hand',
      'lake.eu.orders',
      'Lake.eu',
      'lake',
      '',
      'table_cat,table_schem,table_name',
      'lake,eu,stores',
      '"lake","e ""u""","a,b"',
    ];
    expect(readListing(`\ufeff${text.join('\r\n')}`)).toEqual({
      names: [
        { catalog: 'lake', schema: 'eu', table: 'orders' },
        { catalog: 'lake', schema: 'eu' },
        { catalog: 'lake' },
        { catalog: 'lake', schema: 'eu', table: 'stores' },
        { catalog: 'lake', schema: 'e "u"', table: 'a,b' },
      ],
      problems: [],
    });
  });

  it('says which lines are none', () => {
    const { names, problems } = readListing('a.b.c.d\na..c\n"a\na,b,c,d\n');
    expect(names).toEqual([]);
    expect(problems.map(({ line }) => line)).toEqual([1, 2, 3, 4]);
  });
});
