import { now } from '../now.js';

const CLOCK = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });
const DAY = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' });
const DAY_AND_YEAR = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric' });

export function clockTime(at: Date): string {
  return CLOCK.format(at);
}

/** *today 08:52*, *3 Sep*, *3 Sep 2025*: in the zone of whoever reads it. */
export function momentText(at: Date, today = now()): string {
  if (at.toDateString() === today.toDateString()) return `today ${CLOCK.format(at)}`;
  return at.getFullYear() === today.getFullYear() ? DAY.format(at) : DAY_AND_YEAR.format(at);
}

/** A moment in short; in full, and in UTC, in its title. */
export function Moment({ at }: { at: string }) {
  return (
    <time dateTime={at} title={at.replace('T', ' ').replace(/(\.\d+)?Z$/, ' UTC')}>
      {momentText(new Date(at))}
    </time>
  );
}
