const CLOCK = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });
export const WEEKDAY = new Intl.DateTimeFormat('en-GB', { weekday: 'short' });
const DAY = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' });
const DAY_AND_YEAR = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric' });

export function clockTime(at: Date): string {
  return CLOCK.format(at);
}

/** *today 08:52*, *Mon 19:20* of the last days, *3 Sep*, *3 Sep 2025*, in the time zone of the browser. */
export function momentText(at: Date, today: Date): string {
  if (at.toDateString() === today.toDateString()) return `today ${CLOCK.format(at)}`;
  const days = daysUntil(today, at);
  if (days >= 0 && days < 6) return `${WEEKDAY.format(at)} ${CLOCK.format(at)}`;
  return at.getFullYear() === today.getFullYear() ? DAY.format(at) : DAY_AND_YEAR.format(at);
}

/** Whole days from one moment to a later one. */
export function daysUntil(at: Date, from: Date): number {
  return Math.floor((at.getTime() - from.getTime()) / 86_400_000);
}

export type Expiry = { at: Date | null } | { problem: string };

/** The end of a grant as it is typed: empty, a day (meant to its end in UTC), or a moment in ISO 8601. */
export function parseExpiry(text: string, now: Date): Expiry {
  const written = text.trim();
  if (written === '') return { at: null };
  const isDay = /^\d{4}-\d{2}-\d{2}$/.test(written);
  const isMoment = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?Z$/.test(written);
  const at = new Date(isDay ? `${written}T23:59:59.999Z` : written);
  // `Date` reads 2027-02-30 as a day of March.
  const isReal = !Number.isNaN(at.getTime()) && at.toISOString().startsWith(written.slice(0, 10));
  if (!(isDay || isMoment) || !isReal) {
    return { problem: `${written} is no date. Write it like ${now.getUTCFullYear() + 1}-02-28.` };
  }
  return at <= now ? { problem: `${written} is over already.` } : { at };
}
