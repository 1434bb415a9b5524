import { parametersProblem, sqlProblem } from './submission.js';

describe('a submission', () => {
  it.each([
    ['SELECT 1', true],
    ['SELECT 1;', true],
    [' \n\t', false],
    ['SELECT \u0000', false],
  ])('sql %j', (sql, good) => {
    expect(sqlProblem(sql) === null).toBe(good);
  });

  it.each([
    [[], true],
    [[null, true, 1.5, 'x', [1, [null]]], true],
    [[{}], false],
    [[[{}]], false],
    ['x', false],
    [null, false],
    [Array.from({ length: 1001 }, () => 1), false],
  ])('parameters %#', (parameters, good) => {
    expect(parametersProblem(parameters) === null).toBe(good);
  });
});
