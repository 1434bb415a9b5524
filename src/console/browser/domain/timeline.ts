import { countText } from './count-text.js';
import { clockTime, WEEKDAY } from './moment-text.js';

/** A version or a refused run on the timeline. */
export interface Stop {
  /** Milliseconds since 1970. */
  at: number;
  kind: 'version' | 'live' | 'refused';
  version: number | null;
  gained: number;
  lost: number;
  bytes: number;
}

interface Mark {
  x: number;
  text: string;
}

export const FRAME = { width: 1016, height: 164, left: 6, now: 933, spine: 96 } as const;

/** The length of the longest bar. */
const LONGEST = 38;
const SIZES = { top: 14, bottom: 33 } as const;
const HOUR = 3_600_000;
/** The length of the timeline: one day. */
export const SPAN = 24 * HOUR;

export function xOf(at: number, now: number): number {
  return round(FRAME.now - ((now - at) / SPAN) * (FRAME.now - FRAME.left));
}

/** The length of a bar, by the square root: 2 and 2,000 are both visible. */
export function barOf(count: number, most: number): number {
  return count === 0 ? 0 : Math.max(6, round(Math.sqrt(count / Math.max(most, 1)) * LONGEST));
}

/** Ticks at every fourth hour; the first, and midnight, with the day. */
export function ticksOf(now: number): Mark[] {
  const first = new Date(now - SPAN);
  first.setMinutes(0, 0, 0);
  const marks: Mark[] = [];
  for (let at = first.getTime() + HOUR; at <= now; at += HOUR) {
    const date = new Date(at);
    if (date.getHours() % 4 !== 0) continue;
    const day = date.getHours() === 0 || marks.length === 0 ? `${WEEKDAY.format(date)} ` : '';
    marks.push({ x: xOf(at, now), text: day + clockTime(date) });
  }
  return marks;
}

/** The step line of sizes, as the `d` of a path; null: nothing was published. */
export function sizeLineOf(stops: readonly Stop[], before: number | null, now: number): string | null {
  const versions = stops.filter(({ kind }) => kind !== 'refused');
  const start = before ?? versions[0]?.bytes;
  if (start === undefined) return null;
  const all = [start, ...versions.map(({ bytes }) => bytes)];
  const [least, most] = [Math.min(...all), Math.max(...all)];
  const yOf = (bytes: number): number =>
    most === least
      ? SIZES.bottom
      : round(SIZES.bottom - ((bytes - least) / (most - least)) * (SIZES.bottom - SIZES.top));
  const steps = versions.map(({ at, bytes }) => `H${xOf(at, now)}V${yOf(bytes)}`);
  return `M${FRAME.left} ${yOf(start)}${steps.join('')}H${FRAME.now}`;
}

/** Stops with space for a label, the newest first. */
export function labelledStops(stops: readonly Stop[], now: number): ReadonlySet<Stop> {
  const labelled = new Set<Stop>();
  let next = FRAME.now + 60;
  for (const stop of [...stops].reverse()) {
    const x = xOf(stop.at, now);
    if (next - x < 38) continue;
    labelled.add(stop);
    next = x;
  }
  return labelled;
}

/** All that the picture says, as a sentence. */
export function timelineText(stops: readonly Stop[], isWaiting: boolean): string {
  const versions = stops.filter(({ kind }) => kind !== 'refused');
  const refused = stops.length - versions.length;
  const counted = `${countText(versions.length, 'version')} and ${countText(refused, 'refused or failed run')}`;
  const most = (of: (stop: Stop) => number): number => Math.max(0, ...stops.map(of));
  const changes = `Largest gain ${most(({ gained }) => gained)}, largest loss ${most(({ lost }) => lost)}.`;
  return `Publications of the last 24 hours: ${counted}. ${changes}${isWaiting ? ' One change waits for approval.' : ''} The table below has every value.`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
