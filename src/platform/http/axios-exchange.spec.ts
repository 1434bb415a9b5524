import { readRetryAfter, retryPause } from './axios-exchange.js';

const NOW = new Date('2026-11-20T12:00:00Z');

describe('retryPause', () => {
  it.each([
    [1, null, 50],
    [5, null, 800],
    [20, null, 2000],
    [1, 4000, 4000],
  ])('after %s failures, with Retry-After %s', (failures, retryAfter, pause) => {
    expect(retryPause(failures, retryAfter, 50)).toBe(pause);
  });
});

describe('readRetryAfter', () => {
  it.each([
    ['3', 3000],
    ['Fri, 20 Nov 2026 12:00:07 GMT', 7000],
    ['Fri, 20 Nov 2026 11:00:00 GMT', 0],
    ['soon', null],
    [undefined, null],
  ])('%s', (value, milliseconds) => {
    expect(readRetryAfter(value, NOW)).toBe(milliseconds);
  });
});
