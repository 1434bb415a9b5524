import { waitSeconds } from './prefer.js';

describe('the wait of a Prefer header', () => {
  it.each([
    [undefined, 0],
    ['', 0],
    ['modes=snapshot', 0],
    ['modes=snapshot;wait=30', 30],
    ['modes=snapshot,delta;wait=30', 30],
    ['respond-async, wait=100', 60],
    ['wait=60', 60],
    ['wait=0', 0],
    ['Wait = "7" ; foo', 7],
    ['wait=5, wait=50', 5],
    ['wait=', 0],
    ['wait=-1', 0],
    ['wait=1.5', 0],
    ['wait=99999999999999999999', 0],
    ['await=9', 0],
    [`${'wait=x;'.repeat(1_000)}wait=2`, 2],
  ])('%j: %i s', (header, seconds) => {
    expect(waitSeconds(header)).toBe(seconds);
  });
});
