import { parseDecimal } from './decimal.js';

describe('a number in decimal digits', () => {
  it.each([
    ['0', 0],
    ['24', 24],
    ['007', 7],
    ['2147483648', 2 ** 31],
  ])('may be %j', (text, number) => expect(parseDecimal(text)).toBe(number));

  it.each(['', ' 7', '7\n', '+7', '-7', '0x10', '0b1', '1e1', '7.0', '1_000', '٧', 'Infinity', '12345678901'])(
    'may not be %j',
    (text) => expect(parseDecimal(text)).toBeNaN(),
  );
});
