import fc from 'fast-check';
import { conjuncts } from './schema-tables.js';

describe('the parts of a row filter', () => {
  it('are the filters that were joined', () => {
    const expression = fc.constantFrom("region = 'EU'", '(a) AND (b)', "note <> ') AND ('", `"x)" = 'it''s ('`, 'true');
    fc.assert(
      fc.property(fc.uniqueArray(expression, { minLength: 1 }), (expressions) => {
        const parts = conjuncts(expressions.map((each) => `(${each})`).join(' AND '));
        expect(new Set(parts)).toEqual(new Set(expressions.map((each) => `(${each})`)));
      }),
    );
  });

  it.each(['a = 1', '(a) OR (b)', '(a) AND b', '((a)', '(a)) AND (b', ''])(
    'are one where none were joined: %s',
    (text) => {
      expect(conjuncts(text)).toEqual([text]);
    },
  );
});
