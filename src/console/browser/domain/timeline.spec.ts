import {
  barLength,
  CHART,
  eventsWithLabel,
  sizeLine,
  MAX_SPAN_MS,
  type TimelineEvent,
  ticksOf,
  timelineText,
  timeWindowOf,
  xOfTime,
} from './timeline.js';

const NOW = new Date(2026, 10, 24, 12).getTime();
const DAY = { fromMs: NOW - MAX_SPAN_MS, nowMs: NOW };
const stop = (hoursAgo: number, part: Partial<TimelineEvent> = {}): TimelineEvent => ({
  timeMs: NOW - hoursAgo * 3_600_000,
  kind: 'version',
  version: 1,
  gainCount: 0,
  lossCount: 0,
  bytes: 1000,
  ...part,
});

describe('the timeline', () => {
  it('spans the last day', () => {
    expect([xOfTime(NOW - MAX_SPAN_MS, DAY), xOfTime(NOW, DAY)]).toEqual([CHART.left, CHART.now]);
    expect(ticksOf(DAY).map(({ text }) => text)).toEqual([
      'Mon 16:00',
      '20:00',
      'Tue 00:00',
      '04:00',
      '08:00',
      '12:00',
    ]);
  });

  it('begins where there is something', () => {
    const first = timeWindowOf([stop(1)], true, NOW);
    expect(first.fromMs).toBe(NOW - 63 * 60_000);
    expect(ticksOf(first).map(({ text }) => text)).toEqual(['Tue 11:00', '11:15', '11:30', '11:45', '12:00']);
    expect(timeWindowOf([stop(1)], false, NOW)).toEqual(DAY);
    expect(timeWindowOf([stop(24)], true, NOW)).toEqual(DAY);
  });

  it('draws bars by the root, and none for nothing', () => {
    expect([barLength(0, 100), barLength(25, 100), barLength(100, 100), barLength(1, 100_000)]).toEqual([0, 19, 38, 6]);
  });

  it('steps up and down with the size of each version, and not with refused runs', () => {
    const stops = [stop(12, { bytes: 3000 }), stop(6, { kind: 'refused', bytes: 0 }), stop(0, { bytes: 2000 })];
    expect(sizeLine(stops, 1000, DAY)).toBe('M6 33H469.5V14H933V23.5H933');
    expect(sizeLine([], null, DAY)).toBeNull();
  });

  it('writes numbers where there is room, the newest first', () => {
    const [old, near, last] = [stop(12), stop(0.5), stop(0)];
    expect([...eventsWithLabel([old, near, last], DAY)]).toEqual([last, old]);
  });

  it('is a sentence, too', () => {
    expect(timelineText([stop(3, { gainCount: 40 }), stop(2, { kind: 'refused' })], true)).toBe(
      'Publications of the last 24 hours: 1 version and 1 refused or failed run. Largest gain 40, largest loss 0. ' +
        'One change waits for approval. The table below has every value.',
    );
  });
});
