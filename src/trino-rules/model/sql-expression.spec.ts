import fc from 'fast-check';
import { expressionProblem, policyExpressionProblem } from './sql-expression.js';

describe('a filter or a mask is one SQL expression', () => {
  it.each([
    "region = 'EU'",
    'NULL',
    `"select" = 1`,
    "name = 'O''Brien; -- not a comment'",
    'id IN (SELECT id FROM sales.eu.members WHERE who = current_user)',
    "substr(ssn, 1, 3) || '***'",
    "CASE WHEN a[1] <> b THEN 'x' END",
    'x -> y',
    'a - -1',
    "U&'\\00e9' = name",
    "city = 'Köln'",
    'sales.eu.t.region IN (1, 2)',
    'EXISTS (SELECT 1 FROM sales.eu.members AS m (id) WHERE m.id = 1.5)',
    'a[1].b = abs (x.y)',
    'constructor = 1 AND valueOf IS NULL AND __proto__ = hasOwnProperty',
  ])('takes %s', (text) => {
    expect(policyExpressionProblem(text)).toBeNull();
  });

  it.each([
    ['x) OR (true', '")" at character 2 closes nothing'],
    ['(a]', '"]" at character 3 closes nothing'],
    ['(a = 1', '"(" at character 1 is never closed'],
    ['a = 1 -- all', 'a comment begins at character 7'],
    ['a /* x */ = 1', 'a comment begins at character 3'],
    ['true; DROP TABLE t', 'a semicolon ends the expression at character 5'],
    ["a = 'x", 'the string at character 5 is never closed'],
    ["a = 'x''", 'the string at character 5 is never closed'],
    ['"a = 1', 'the quoted name at character 1 is never closed'],
    ['a, b', 'one expression is expected, but there is a comma at character 2'],
    ['SELECT true', 'one expression is expected, not SELECT: put a sub-query in parentheses'],
    ['', 'the expression is empty'],
    ['   ', 'the expression is empty'],
    ['a = 1\nOR true', 'control characters, line breaks and direction marks are not allowed'],
    ['a = ?', '"?" at character 5 means nothing outside quotes'],
    ['a = `b`', '"`" at character 5 means nothing outside quotes'],
    ['$$x$$', '"$" at character 1 means nothing outside quotes'],
    ['hr.public.may_read(id)', 'hr.public.may_read at character 1 is a function of a catalog, READERS'],
    ['id = (hr . "F" (id))', 'hr."F" at character 7 is a function of a catalog, READERS'],
    [`a OR x.U&"f"(1)`, 'x."f" at character 6 is a function of a catalog, READERS'],
    [
      'id IN (SELECT * FROM TABLE(pg.system.query(1)))',
      'pg.system.query at character 28 is a function of a catalog, READERS',
    ],
    ['system.builtin.abs(id) = 1', 'system.builtin.abs at character 1 is a function of a catalog, READERS'],
    ["WHERE seg = 'EU'", 'an expression does not begin with WHERE: leave it out'],
    ['and a', 'an expression does not begin with and: leave it out'],
    ["seg == 'EU'", '"==" at character 5 is no operator of SQL: write "="'],
    ['ä = 1', '"ä" at character 1 means nothing outside quotes'],
  ])('refuses %j', (text, problem) => {
    expect(policyExpressionProblem(text)).toBe(
      problem.replace('READERS', 'which readers may not run: call a built-in one'),
    );
  });

  it('still reads a policy of before that calls a function of a catalog', () => {
    expect(expressionProblem('hr.public.may_read(id)')).toBeNull();
  });

  it('never takes two texts that only together are balanced', () => {
    const pieces = fc.array(
      fc.constantFrom('(', ')', '[', ']', "'", '"', '-', '/*', '*/', ';', 'a', ' ', ',', '=', 'OR true'),
      { maxLength: 12 },
    );
    const expression = pieces.map((parts) => parts.join('')).filter((text) => expressionProblem(text) === null);
    fc.assert(
      fc.property(expression, (text) => {
        // In parentheses the text is an expression again, and the parser still reads what follows it.
        const taken = [`(${text}) AND (b)`, `(${text}) AND (b`, `${text})`].map(
          (each) => expressionProblem(each) === null,
        );
        expect(taken).toEqual([true, false, false]);
      }),
      { numRuns: 1_000 },
    );
  });
});
