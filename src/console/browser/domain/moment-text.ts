const CLOCK = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });
const CLOCK_SECONDS = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' });
export const WEEKDAY = new Intl.DateTimeFormat('en-GB', { weekday: 'short' });
const DAY = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' });
const DAY_AND_YEAR = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric' });

export function clockTime(at: Date): string {
  return CLOCK.format(at);
}

/** *today 08:52*, *tomorrow 00:05*, *Mon 19:20* of the last days, *3 Sep*, *3 Sep 2025*, in the time zone of the browser. */
export function momentText(at: Date, today: Date): string {
  if (at.toDateString() === today.toDateString()) return `today ${CLOCK.format(at)}`;
  const tomorrow = new Date(today.getFullYear(), today.getMonth(), today.getDate() + 1);
  if (at.toDateString() === tomorrow.toDateString()) return `tomorrow ${CLOCK.format(at)}`;
  const days = daysUntil(today, at);
  if (days >= 0 && days < 6) return `${WEEKDAY.format(at)} ${CLOCK.format(at)}`;
  return at.getFullYear() === today.getFullYear() ? DAY.format(at) : DAY_AND_YEAR.format(at);
}

/** A moment to the second, with the time on every day: *today 08:52:07*, *3 Sep 19:20:41*. */
export function secondText(at: Date, today: Date): string {
  const short = momentText(at, today);
  return `${short.replace(/ \d\d:\d\d$/, '')} ${CLOCK_SECONDS.format(at)}`;
}

/** Whole days from one moment to a later one. */
export function daysUntil(at: Date, from: Date): number {
  return Math.floor((at.getTime() - from.getTime()) / 86_400_000);
}

/** *2026-11-24*, in the time zone of the browser. */
export function dayText(at: Date): string {
  return at.toLocaleDateString('sv');
}

/** The beginning of a day, or a moment, as it is typed, in the time zone of the browser; null: it is neither. */
export function parseMoment(text: string): Date | null {
  const [, day = '', clock = ''] = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d)?(?:\.\d+)?Z?))?$/.exec(text) ?? [];
  const at = new Date(`${day}T${clock || '00:00'}`);
  return isRealDay(day) && !Number.isNaN(at.getTime()) ? at : null;
}

/** `Date` reads 2027-02-30 as a day of March. */
function isRealDay(day: string): boolean {
  const at = new Date(`${day}T00:00Z`);
  return !Number.isNaN(at.getTime()) && at.toISOString().startsWith(day);
}

export type Expiry = { at: Date | null } | { problem: string };

/** The end of a grant as it is typed: empty, a day (meant to its end in UTC), or a moment in ISO 8601. */
export function parseExpiry(text: string, now: Date): Expiry {
  const written = text.trim();
  if (written === '') return { at: null };
  const isDay = /^\d{4}-\d{2}-\d{2}$/.test(written);
  const isMoment = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?Z$/.test(written);
  const at = new Date(isDay ? `${written}T23:59:59.999Z` : written);
  if (!(isDay || isMoment) || Number.isNaN(at.getTime()) || !isRealDay(written.slice(0, 10))) {
    return { problem: `${written} is no date. Write it like ${now.getUTCFullYear() + 1}-02-28.` };
  }
  return at <= now ? { problem: `${written} is over already.` } : { at };
}
