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
const MINUTE = 60_000;
/** The longest timeline: one day. */
export const SPAN = 24 * 60 * MINUTE;

/** The time that a timeline shows, in milliseconds since 1970. */
export interface Window {
  from: number;
  now: number;
}

/** The last day or, if there was nothing before, the time from shortly before the first stop on; at least a minute. */
export function windowOf(stops: readonly Stop[], isFirstDay: boolean, now: number): Window {
  const first = Math.min(now - MINUTE, ...stops.map(({ at }) => at));
  return { from: isFirstDay ? Math.max(now - SPAN, first - (now - first) / 20) : now - SPAN, now };
}

export function xOf(at: number, { from, now }: Window): number {
  return round(FRAME.now - ((now - at) / (now - from)) * (FRAME.now - FRAME.left));
}

/** The length of a bar. It grows with the square root, so that 2 and 2,000 are both visible. */
export function barOf(count: number, most: number): number {
  return count === 0 ? 0 : Math.max(6, round(Math.sqrt(count / Math.max(most, 1)) * LONGEST));
}

/** Minutes between two ticks. */
const STEPS = [1, 2, 5, 15, 30, 60, 120, 240];

/** At most eight ticks. The first one, and the first of each day, name the day. */
export function ticksOf(window: Window): Mark[] {
  const step = (STEPS.find((each) => (window.now - window.from) / (each * MINUTE) <= 8) ?? 240) * MINUTE;
  const midnight = new Date(window.from).setHours(0, 0, 0, 0);
  const marks: Mark[] = [];
  let day = '';
  for (let at = midnight; at <= window.now; at += step) {
    if (at <= window.from) continue;
    const today = WEEKDAY.format(at);
    marks.push({ x: xOf(at, window), text: (today === day ? '' : `${today} `) + clockTime(new Date(at)) });
    day = today;
  }
  return marks;
}

/** The step line of sizes, as the `d` of a path; null: nothing was published. */
export function sizeLineOf(stops: readonly Stop[], before: number | null, window: Window): string | null {
  const versions = stops.filter(({ kind }) => kind !== 'refused');
  const start = before ?? versions[0]?.bytes;
  if (start === undefined) return null;
  const all = [start, ...versions.map(({ bytes }) => bytes)];
  const [least, most] = [Math.min(...all), Math.max(...all)];
  const yOf = (bytes: number): number =>
    most === least
      ? SIZES.bottom
      : round(SIZES.bottom - ((bytes - least) / (most - least)) * (SIZES.bottom - SIZES.top));
  const steps = versions.map(({ at, bytes }) => `H${xOf(at, window)}V${yOf(bytes)}`);
  return `M${before === null ? xOf(versions[0]?.at ?? 0, window) : FRAME.left} ${yOf(start)}${steps.join('')}H${FRAME.now}`;
}

/** Stops with space for a label, the newest first. */
export function labelledStops(stops: readonly Stop[], window: Window): ReadonlySet<Stop> {
  const labelled = new Set<Stop>();
  let next = FRAME.now + 60;
  for (const stop of [...stops].reverse()) {
    const x = xOf(stop.at, window);
    if (next - x < 38) continue;
    labelled.add(stop);
    next = x;
  }
  return labelled;
}

/** The content of the picture as a sentence. */
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
