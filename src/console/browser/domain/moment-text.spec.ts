import { momentText } from './moment-text.js';

const today = new Date(2026, 10, 26, 9, 30);

describe('a moment', () => {
  it.each([
    [new Date(2026, 10, 26, 8, 52), 'today 08:52'],
    [new Date(2026, 10, 25, 23, 59), 'Wed 23:59'],
    [new Date(2026, 10, 21, 9, 0), 'Sat 09:00'],
    [new Date(2026, 10, 20, 9, 0), '20 Nov'],
    [new Date(2026, 10, 28, 9, 0), '28 Nov'],
    [new Date(2025, 9, 3), '3 Oct 2025'],
  ])('%s is %s', (at, text) => expect(momentText(at, today)).toBe(text));
});
