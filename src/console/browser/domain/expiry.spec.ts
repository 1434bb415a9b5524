import { daysUntil, parseExpiry } from './moment-text.js';

const NOW = new Date('2026-11-24T10:00:00.000Z');

describe('when a grant ends', () => {
  it('is never, the end of a day, or a moment', () => {
    expect(parseExpiry(' ', NOW)).toEqual({ at: null });
    expect(parseExpiry(' 2027-03-31 ', NOW)).toEqual({ at: new Date('2027-03-31T23:59:59.999Z') });
    expect(parseExpiry('2026-11-24', NOW)).toEqual({ at: new Date('2026-11-24T23:59:59.999Z') });
    expect(parseExpiry('2026-11-24T10:01Z', NOW)).toEqual({ at: new Date('2026-11-24T10:01:00.000Z') });
    expect(daysUntil(new Date('2027-03-31T23:59:59.999Z'), NOW)).toBe(127);
  });

  it.each(['31.02.2027', '2027-02-30', '2027-13-01', 'tomorrow', '2027-03-31T12:00'])('is not %s', (text) => {
    expect(parseExpiry(text, NOW)).toEqual({ problem: `${text} is no date. Write it like 2027-02-28.` });
  });

  it('is not over', () => {
    expect(parseExpiry('2026-11-23', NOW)).toEqual({ problem: '2026-11-23 is over already.' });
  });
});
