import { daysUntil, momentText, parseExpiry } from './moment-text.js';

const today = new Date(2026, 10, 26, 9, 30);

describe('a moment', () => {
  it.each([
    [new Date(2026, 10, 26, 8, 52), 'today 08:52'],
    [new Date(2026, 10, 25, 23, 59), 'Wed 23:59'],
    [new Date(2026, 10, 21, 9, 0), 'Sat 09:00'],
    [new Date(2026, 10, 20, 9, 0), '20 Nov'],
    [new Date(2026, 10, 27, 0, 5), 'tomorrow 00:05'],
    [new Date(2026, 10, 28, 9, 0), '28 Nov'],
    [new Date(2025, 9, 3), '3 Oct 2025'],
  ])('%s is %s', (at, text) => expect(momentText(at, today)).toBe(text));
});

const NOW = new Date('2026-11-24T10:00:00.000Z');

describe('when a grant ends', () => {
  it('is never, the end of a day, or a moment', () => {
    expect(parseExpiry(' ', NOW)).toEqual({ expiresAt: null });
    expect(parseExpiry(' 2027-03-31 ', NOW)).toEqual({ expiresAt: new Date('2027-03-31T23:59:59.999Z') });
    expect(parseExpiry('2026-11-24', NOW)).toEqual({ expiresAt: new Date('2026-11-24T23:59:59.999Z') });
    expect(parseExpiry('2026-11-24T10:01Z', NOW)).toEqual({ expiresAt: new Date('2026-11-24T10:01:00.000Z') });
    expect(daysUntil(new Date('2027-03-31T23:59:59.999Z'), NOW)).toBe(127);
  });

  it.each(['31.02.2027', '2027-02-30', '2027-13-01', 'tomorrow', '2027-03-31T12:00'])('is not %s', (text) => {
    expect(parseExpiry(text, NOW)).toEqual({ problem: `${text} is no date. Write it like 2027-02-28.` });
  });

  it('is not over', () => {
    expect(parseExpiry('2026-11-23', NOW)).toEqual({ problem: '2026-11-23 is over already.' });
  });
});
