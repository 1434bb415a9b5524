import { countText } from './count-text.js';
import { clockTime, WEEKDAY_FORMAT } from './moment-text.js';

/** A version or a refused run on the timeline. */
export interface TimelineEvent {
  /** Milliseconds since 1970. */
  timeMs: number;
  kind: 'version' | 'live' | 'refused';
  version: number | null;
  gainCount: number;
  lossCount: number;
  bytes: number;
}

/** The layout of the chart, in SVG units. `now` is the x of the present, `spine` the y of the time axis. */
export const CHART = { width: 1016, height: 164, left: 6, now: 933, spine: 96 } as const;

const MAX_BAR_LENGTH = 38;
const MINUTE_MS = 60_000;
/** The longest timeline: one day. */
export const MAX_SPAN_MS = 24 * 60 * MINUTE_MS;

/** The time that a timeline shows, in milliseconds since 1970. */
export interface TimeWindow {
  fromMs: number;
  nowMs: number;
}

/** The time window of the timeline: the last day. On the first day of an installation the window begins shortly before the first event, and is at least a minute long. */
export function timeWindowOf(events: readonly TimelineEvent[], isFirstDay: boolean, nowMs: number): TimeWindow {
  const earliestMs = Math.min(nowMs - MINUTE_MS, ...events.map(({ timeMs }) => timeMs));
  const spanStartMs = nowMs - MAX_SPAN_MS;
  return { fromMs: isFirstDay ? Math.max(spanStartMs, earliestMs - (nowMs - earliestMs) / 20) : spanStartMs, nowMs };
}

export function xOfTime(timeMs: number, { fromMs, nowMs }: TimeWindow): number {
  return roundToTenth(CHART.now - ((nowMs - timeMs) / (nowMs - fromMs)) * (CHART.now - CHART.left));
}

/** The length of a bar. It grows with the square root of the count, so that 2 and 2,000 are both visible. */
export function barLength(count: number, maxCount: number): number {
  return count === 0 ? 0 : Math.max(6, roundToTenth(Math.sqrt(count / Math.max(maxCount, 1)) * MAX_BAR_LENGTH));
}

const TICK_MINUTES = [1, 2, 5, 15, 30, 60, 120, 240];

/** At most eight ticks. The first tick of each day also names the day. */
export function ticksOf(window: TimeWindow) {
  const { fromMs, nowMs } = window;
  const stepMinutes = TICK_MINUTES.find((minutes) => (nowMs - fromMs) / (minutes * MINUTE_MS) <= 8) ?? 240;
  const midnight = new Date(fromMs).setHours(0, 0, 0, 0);
  const ticks: { x: number; text: string }[] = [];
  let lastWeekday = '';
  for (let timeMs = midnight; timeMs <= nowMs; timeMs += stepMinutes * MINUTE_MS) {
    if (timeMs <= fromMs) continue;
    const weekday = WEEKDAY_FORMAT.format(timeMs);
    const dayText = weekday === lastWeekday ? '' : `${weekday} `;
    ticks.push({ x: xOfTime(timeMs, window), text: dayText + clockTime(new Date(timeMs)) });
    lastWeekday = weekday;
  }
  return ticks;
}

/** The line that shows the size of the published rules over time, as the `d` attribute of an SVG path. Null: nothing was published. */
export function sizeLine(events: readonly TimelineEvent[], sizeBefore: number | null, window: TimeWindow) {
  const versions = events.filter(({ kind }) => kind !== 'refused');
  const startSize = sizeBefore ?? versions[0]?.bytes;
  if (startSize === undefined) return null;
  const sizes = [startSize, ...versions.map(({ bytes }) => bytes)];
  const [minSize, maxSize] = [Math.min(...sizes), Math.max(...sizes)];
  const sizeRange = maxSize - minSize || Infinity; // with one size, the line is at the bottom
  const [top, bottom] = [14, 33] as const;
  const yOf = (bytes: number): number => roundToTenth(bottom - ((bytes - minSize) / sizeRange) * (bottom - top));
  const pathSteps = versions.map(({ timeMs, bytes }) => `H${xOfTime(timeMs, window)}V${yOf(bytes)}`);
  return `M${sizeBefore === null ? xOfTime(versions[0]?.timeMs ?? 0, window) : CHART.left} ${yOf(startSize)}${pathSteps.join('')}H${CHART.now}`;
}

/** The events that have space for a label. Newer events take precedence. */
export function eventsWithLabel(events: readonly TimelineEvent[], window: TimeWindow): ReadonlySet<TimelineEvent> {
  const labelledEvents = new Set<TimelineEvent>();
  let laterEventX = CHART.now + 60;
  for (const event of [...events].reverse()) {
    const x = xOfTime(event.timeMs, window);
    if (laterEventX - x < 38) continue;
    labelledEvents.add(event);
    laterEventX = x;
  }
  return labelledEvents;
}

/** The content of the timeline as a sentence, for screen readers. */
export function timelineText(events: readonly TimelineEvent[], isChangeWaiting: boolean): string {
  const versions = events.filter(({ kind }) => kind !== 'refused');
  const refusedCount = events.length - versions.length;
  const countsText = `${countText(versions.length, 'version')} and ${countText(refusedCount, 'refused or failed run')}`;
  const largestOf = (countOf: (event: TimelineEvent) => number): number => Math.max(0, ...events.map(countOf));
  const changesText = `Largest gain ${largestOf(({ gainCount }) => gainCount)}, largest loss ${largestOf(({ lossCount }) => lossCount)}.`;
  return `Publications of the last 24 hours: ${countsText}. ${changesText}${isChangeWaiting ? ' One change waits for approval.' : ''} The table below has every value.`;
}

function roundToTenth(value: number): number {
  return Math.round(value * 10) / 10;
}
