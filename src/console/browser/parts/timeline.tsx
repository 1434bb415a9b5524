import { sizeText } from '../domain/count-text.js';
import {
  barLength,
  CHART,
  eventsWithLabel,
  sizeLine,
  type TimelineEvent,
  ticksOf,
  timelineText,
  type TimeWindow,
  xOfTime,
} from '../domain/timeline.js';

interface TimelineProps {
  events: readonly TimelineEvent[];
  /** Bytes of the last version published before `window.fromMs`; null: there was none. */
  sizeBefore: number | null;
  isChangeWaiting: boolean;
  /** Numbers of people who gain and who lose access by the change that waits for approval. */
  gainCount: number;
  lossCount: number;
  window: TimeWindow;
}

const GAIN_Y = CHART.spine - 9;
const LOSS_Y = CHART.spine + 9;
const WAITING_X = CHART.now + 49;

/** The publications of the last day on a time axis. A dotted line leads to a change that waits for approval. */
export function Timeline({ events, sizeBefore, isChangeWaiting, gainCount, lossCount, window }: TimelineProps) {
  const maxCount = Math.max(1, gainCount, lossCount, ...events.flatMap((event) => [event.gainCount, event.lossCount]));
  const labelledEvents = eventsWithLabel(events, window);
  const sizePath = sizeLine(events, sizeBefore, window);
  const spineStartX = sizeBefore === null && events[0] !== undefined ? xOfTime(events[0].timeMs, window) : 0;
  const gainBar = barLength(gainCount, maxCount);
  const lastSize = events.findLast(({ kind }) => kind !== 'refused')?.bytes ?? sizeBefore;
  return (
    <div className="timeline">
      <svg
        width={CHART.width}
        height={CHART.height}
        viewBox={`0 0 ${CHART.width} ${CHART.height}`}
        role="img"
        aria-label={timelineText(events, isChangeWaiting)}
      >
        {ticksOf(window).map(({ x, text }) => (
          <g key={x}>
            <path className="axis" d={`M${x} 12V144`} />
            <text x={x} y="160" textAnchor={x < 30 ? 'start' : 'middle'}>
              {text}
            </text>
          </g>
        ))}
        {sizePath !== null && <path className="bytes" d={sizePath} />}
        {lastSize !== null && (
          <text x={CHART.now + 6} y="18">
            {sizeText(lastSize)}
          </text>
        )}
        <path className="spine" d={`M${spineStartX} ${CHART.spine}H${CHART.now}`} />
        <path className="spine next" d={`M${CHART.now + 8} ${CHART.spine}H${CHART.width}`} />
        {events.map((event) => (
          <EventMark
            key={`${event.timeMs} ${event.version ?? ''}`}
            event={event}
            x={xOfTime(event.timeMs, window)}
            maxCount={maxCount}
            isLabelled={labelledEvents.has(event)}
          />
        ))}
        {isChangeWaiting && (
          <>
            <circle className="stop stop--waiting" cx={WAITING_X} cy={CHART.spine} r="5" />
            <text className="warn-text" x={WAITING_X} y={gainBar > 0 ? GAIN_Y - gainBar - 6 : 83} textAnchor="middle">
              waits
            </text>
            <Bars x={WAITING_X} gainCount={gainCount} lossCount={lossCount} maxCount={maxCount} isLabelled isPending />
          </>
        )}
      </svg>
    </div>
  );
}

interface EventMarkProps {
  event: TimelineEvent;
  x: number;
  maxCount: number;
  isLabelled: boolean;
}

function EventMark({ event, x, maxCount, isLabelled }: EventMarkProps) {
  if (event.kind === 'refused') {
    return (
      <>
        <path className="stop stop--refused" d={`M${x - 5} 91h10v10h-10z`} />
        <path className="stop stop--refused" d={`m${x - 2.5} 93.5 5 5m0-5-5 5`} />
        {isLabelled && (
          <text className="loss-text" x={x} y="118" textAnchor="middle">
            refused
          </text>
        )}
      </>
    );
  }
  const gainBar = barLength(event.gainCount, maxCount);
  const isLive = event.kind === 'live';
  return (
    <>
      <Bars x={x} gainCount={event.gainCount} lossCount={event.lossCount} maxCount={maxCount} isLabelled={isLabelled} />
      <circle className={isLive ? 'stop stop--live' : 'stop'} cx={x} cy={CHART.spine} r={isLive ? 5.5 : 4} />
      {isLive && (
        <text className="now" x={x} y={gainBar > 0 ? GAIN_Y - gainBar - 6 : 83} textAnchor="middle">
          {event.version} live
        </text>
      )}
    </>
  );
}

interface BarsProps extends Omit<EventMarkProps, 'event'>, Pick<TimelineEvent, 'gainCount' | 'lossCount'> {
  isPending?: boolean;
}

function Bars({ x, gainCount, lossCount, maxCount, isLabelled, isPending = false }: BarsProps) {
  const [gainBar, lossBar] = [barLength(gainCount, maxCount), barLength(lossCount, maxCount)];
  const barClass = (name: string) => (isPending ? 'stop stop--waiting' : name);
  const textClass = (name: string) => (isPending ? 'warn-text' : name);
  return (
    <>
      {gainBar > 0 && (
        <rect className={barClass('gained')} x={x - 3} y={GAIN_Y - gainBar} width="6" height={gainBar} rx="1.5" />
      )}
      {lossBar > 0 && <rect className={barClass('lost')} x={x - 3} y={LOSS_Y} width="6" height={lossBar} rx="1.5" />}
      {isLabelled && gainBar > 0 && (
        <text className={textClass('gain-text')} x={x + 7} y={GAIN_Y - gainBar + 9}>
          +{gainCount}
        </text>
      )}
      {isLabelled && lossBar > 0 && (
        <text className={textClass('loss-text')} x={x + 7} y={LOSS_Y + lossBar}>
          −{lossCount}
        </text>
      )}
    </>
  );
}
