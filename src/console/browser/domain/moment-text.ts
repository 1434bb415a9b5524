const CLOCK_FORMAT = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });
const CLOCK_WITH_SECONDS_FORMAT = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' });
export const WEEKDAY_FORMAT = new Intl.DateTimeFormat('en-GB', { weekday: 'short' });
const DAY_FORMAT = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' });
const DAY_WITH_YEAR_FORMAT = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric' });
export const DAY_MS = 86_400_000;

export function clockTime(moment: Date): string {
  return CLOCK_FORMAT.format(moment);
}

/** A moment in short form, in the browser's time zone: *today 08:52*, *tomorrow 00:05*, *Mon 19:20* in the last days, *3 Sep*, *3 Sep 2025*. */
export function momentText(moment: Date, now: Date): string {
  if (moment.toDateString() === now.toDateString()) return `today ${CLOCK_FORMAT.format(moment)}`;
  const tomorrow = new Date(now.getFullYear(), now.getMonth(), now.getDate() + 1);
  if (moment.toDateString() === tomorrow.toDateString()) return `tomorrow ${CLOCK_FORMAT.format(moment)}`;
  const days = daysUntil(now, moment);
  if (days >= 0 && days < 6) return `${WEEKDAY_FORMAT.format(moment)} ${CLOCK_FORMAT.format(moment)}`;
  return moment.getFullYear() === now.getFullYear() ? DAY_FORMAT.format(moment) : DAY_WITH_YEAR_FORMAT.format(moment);
}

/** A moment to the second: *today 08:52:07*, *3 Sep 19:20:41*. */
export function secondText(moment: Date, now: Date): string {
  return `${momentText(moment, now).replace(/ \d\d:\d\d$/, '')} ${CLOCK_WITH_SECONDS_FORMAT.format(moment)}`;
}

/** Whole days between two moments. */
export function daysUntil(laterMoment: Date, earlierMoment: Date): number {
  return Math.floor((laterMoment.getTime() - earlierMoment.getTime()) / DAY_MS);
}

/** The day of a moment in the browser's time zone: *2026-11-24*. */
export function dayText(moment: Date): string {
  return moment.toLocaleDateString('sv');
}

/** Parses a typed moment or day, in the browser's time zone. A day means its first moment. Null: the text is neither. */
export function parseMoment(text: string): Date | null {
  const [, day = '', clockText = ''] = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d)?(?:\.\d+)?Z?))?$/.exec(text) ?? [];
  const moment = new Date(`${day}T${clockText || '00:00'}`);
  return isRealDay(day) && !Number.isNaN(moment.getTime()) ? moment : null;
}

/** Whether a day exists. 2027-02-30 does not, but `Date` would read it as a day of March. */
function isRealDay(day: string): boolean {
  const midnight = new Date(`${day}T00:00Z`);
  return !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(day);
}

export type Expiry = { expiresAt: Date | null } | { problem: string };

/** Parses the typed end of a grant: a day (the grant ends with this day, in UTC), a moment in ISO 8601, or an empty text for no end. */
export function parseExpiry(text: string, now: Date): Expiry {
  const trimmedText = text.trim();
  if (trimmedText === '') return { expiresAt: null };
  const isDay = /^\d{4}-\d{2}-\d{2}$/.test(trimmedText);
  const isMoment = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?Z$/.test(trimmedText);
  const moment = new Date(isDay ? `${trimmedText}T23:59:59.999Z` : trimmedText);
  if (!(isDay || isMoment) || Number.isNaN(moment.getTime()) || !isRealDay(trimmedText.slice(0, 10))) {
    return { problem: `${trimmedText} is no date. Write it like ${now.getUTCFullYear() + 1}-02-28.` };
  }
  return moment <= now ? { problem: `${trimmedText} is over already.` } : { expiresAt: moment };
}
