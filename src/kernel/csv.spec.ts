import { csvLine } from './csv.js';

describe('csvLine', () => {
  it('quotes where needed, distinguishes NULL from an empty text, and writes containers as JSON', () => {
    expect(csvLine(['a', 'b,c', 'say "no"', 'two\nlines', '', null, 1.5, true, ['1', null], { k: 'v' }])).toBe(
      'a,"b,c","say ""no""","two\nlines","",,1.5,true,"[""1"",null]","{""k"":""v""}"\r\n',
    );
  });
});
