import { idProblem, momentProblem } from '../../src/platform/http/validation.js';

describe('a moment', () => {
  it.each([
    '2026-11-20T08:00:00Z',
    '2026-11-20T08:00:00.000Z',
    '2026-11-20T08:00:00.123456+00:00',
    '2026-11-20T08:00:00.123456789-11:30',
    '2028-02-29T23:59:59Z',
    '9999-12-31T23:59:59.999Z',
    '9999-12-31T23:59:59+01:00',
    '0000-01-01T00:00:00-01:00',
  ])('may be %s', (text) => expect(momentProblem(text)).toBeNull());

  it.each([
    '2026-11-20',
    '2026-11-20T08:00:00',
    '2026-11-20 08:00:00Z',
    '2026-11-20T08:00Z',
    '2026-02-30T08:00:00Z',
    '2027-02-29T08:00:00Z',
    '2026-13-01T08:00:00Z',
    '2026-11-20T24:00:00Z',
    '2026-11-20T08:00:00.Z',
    '2026-11-20T08:00:00+1:00',
    '9999-12-31T23:59:59-01:00',
    '9999-12-31T23:59:59-23:59',
    '0000-01-01T00:00:00+00:01',
    'tomorrow',
    '',
    1795000000,
    null,
    undefined,
  ])('may not be %j', (value) => expect(momentProblem(value)).not.toBeNull());
});

describe('the id of a row', () => {
  it.each([1, 2 ** 31 - 1])('may be %d', (id) => expect(idProblem(id)).toBeNull());

  it.each([0, -1, 1.5, 2 ** 31, NaN, Infinity, '1', null, undefined, [1]])('may not be %j', (value) =>
    expect(idProblem(value)).not.toBeNull(),
  );
});
