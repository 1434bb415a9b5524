import { csvLine, csvLineForPeople } from './csv.js';

describe('csvLine', () => {
  it('quotes where needed, distinguishes NULL from an empty text, and writes containers as JSON', () => {
    expect(csvLine(['a', 'b,c', 'say "no"', 'two\nlines', '', null, 1.5, true, ['1', null], { k: 'v' }])).toBe(
      'a,"b,c","say ""no""","two\nlines","",,1.5,true,"[""1"",null]","{""k"":""v""}"\r\n',
    );
  });

  it('leaves texts to programs as they are', () => {
    expect(csvLine(['=1', '+1', '-1', '@a'])).toBe('=1,+1,-1,@a\r\n');
  });
});

describe('csvLineForPeople', () => {
  it.each([
    ['=1', "'=1"],
    ['+1', "'+1"],
    ['-1', "'-1"],
    ['@a', "'@a"],
    ['\t=1', "'\t'=1"],
    ['\r=1', `"'\r'=1"`],
    ['\n=1', `"'\n'=1"`],
    ['＝1', "'＝1"],
    ['=a"b', `"'=a""b"`],
    ['a;=1;b', "a;'=1;b"],
    ['a\n=1', `"a\n'=1"`],
    [{ a: ';=1' }, `"{""a"":"";'=1""}"`],
  ])('%j is no formula in a spreadsheet', (value, field) => {
    expect(csvLineForPeople([value])).toBe(`${field}\r\n`);
  });

  it.each([
    [-1, '-1'],
    [null, ''],
    ['', '""'],
    ['a=1', 'a=1'],
    ['a@b', 'a@b'],
    ["'a", "'a"],
  ])('%j stays as it is', (value, field) => {
    expect(csvLineForPeople([value])).toBe(`${field}\r\n`);
  });
});
