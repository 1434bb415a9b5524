import { daysUntil } from './expiry.js';

const CLOCK = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });
const WEEKDAY = new Intl.DateTimeFormat('en-GB', { weekday: 'short' });
const DAY = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' });
const DAY_AND_YEAR = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric' });

export function clockTime(at: Date): string {
  return CLOCK.format(at);
}

/** *today 08:52*, *Mon 19:20* of the last days, *3 Sep*, *3 Sep 2025*: in the zone of whoever reads it. */
export function momentText(at: Date, today: Date): string {
  if (at.toDateString() === today.toDateString()) return `today ${CLOCK.format(at)}`;
  const days = daysUntil(today, at);
  if (days >= 0 && days < 6) return `${WEEKDAY.format(at)} ${CLOCK.format(at)}`;
  return at.getFullYear() === today.getFullYear() ? DAY.format(at) : DAY_AND_YEAR.format(at);
}
