import { acceptsCoding } from './compression.js';

describe('a body that may be compressed', () => {
  it.each([
    [undefined, false],
    ['', false],
    ['identity', false],
    ['gzip', true],
    ['GZIP;q=0.5, br', true],
    ['br, gzip ; q=1.0', true],
    ['gzip;q=0', false],
    ['gzip;q=0.000, *', false],
    ['*', true],
    ['*;q=0', false],
    ['x-gzip-not', false],
  ])('is, for Accept-Encoding %j: %s', (header, compressed) => {
    expect(acceptsCoding(header, 'gzip')).toBe(compressed);
  });
});
