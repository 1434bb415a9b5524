import { sizeText } from '../domain/count-text.js';
import {
  barOf,
  FRAME,
  labelledStops,
  sizeLineOf,
  type Stop,
  ticksOf,
  timelineText,
  type Window,
  xOf,
} from '../domain/timeline.js';

interface TimelineProps {
  /** Of the last day, the oldest first. */
  stops: readonly Stop[];
  /** The size of the last version before that day; null: there is none. */
  before: number | null;
  isWaiting: boolean;
  /** People who gain and who lose by the change that waits. */
  gaining: number;
  losing: number;
  window: Window;
}

const ABOVE = FRAME.spine - 9;
const BELOW = FRAME.spine + 9;
const WAITS = FRAME.now + 49;

/** The publications of the last day, as a line through time; a dotted end leads to a change that waits. */
export function Timeline({ stops, before, isWaiting, gaining, losing, window }: TimelineProps) {
  const most = Math.max(1, gaining, losing, ...stops.flatMap(({ gained, lost }) => [gained, lost]));
  const labelled = labelledStops(stops, window);
  const sizes = sizeLineOf(stops, before, window);
  const begin = before === null && stops[0] !== undefined ? xOf(stops[0].at, window) : 0;
  const up = barOf(gaining, most);
  const bytes = stops.findLast(({ kind }) => kind !== 'refused')?.bytes ?? before;
  return (
    <div className="timeline">
      <svg
        width={FRAME.width}
        height={FRAME.height}
        viewBox={`0 0 ${FRAME.width} ${FRAME.height}`}
        role="img"
        aria-label={timelineText(stops, isWaiting)}
      >
        {ticksOf(window).map(({ x, text }) => (
          <g key={x}>
            <path className="axis" d={`M${x} 12V144`} />
            <text x={x} y="160" textAnchor={x < 30 ? 'start' : 'middle'}>
              {text}
            </text>
          </g>
        ))}
        {sizes !== null && <path className="bytes" d={sizes} />}
        {bytes !== null && (
          <text x={FRAME.now + 6} y="18">
            {sizeText(bytes)}
          </text>
        )}
        <path className="spine" d={`M${begin} ${FRAME.spine}H${FRAME.now}`} />
        <path className="spine next" d={`M${FRAME.now + 8} ${FRAME.spine}H${FRAME.width}`} />
        {stops.map((stop) => (
          <Station
            key={`${stop.at} ${stop.version ?? ''}`}
            stop={stop}
            x={xOf(stop.at, window)}
            most={most}
            isLabelled={labelled.has(stop)}
          />
        ))}
        {isWaiting && (
          <>
            <circle className="stop stop--waiting" cx={WAITS} cy={FRAME.spine} r="5" />
            <text className="warn-text" x={WAITS} y={up > 0 ? ABOVE - up - 6 : 83} textAnchor="middle">
              waits
            </text>
            <Bars x={WAITS} gained={gaining} lost={losing} most={most} isLabelled isWaiting />
          </>
        )}
      </svg>
    </div>
  );
}

interface StationProps {
  stop: Stop;
  x: number;
  most: number;
  isLabelled: boolean;
}

function Station({ stop, x, most, isLabelled }: StationProps) {
  if (stop.kind === 'refused') {
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
  const up = barOf(stop.gained, most);
  const isLive = stop.kind === 'live';
  return (
    <>
      <Bars x={x} gained={stop.gained} lost={stop.lost} most={most} isLabelled={isLabelled} />
      <circle className={isLive ? 'stop stop--live' : 'stop'} cx={x} cy={FRAME.spine} r={isLive ? 5.5 : 4} />
      {isLive && (
        <text className="now" x={x} y={up > 0 ? ABOVE - up - 6 : 83} textAnchor="middle">
          {stop.version} live
        </text>
      )}
    </>
  );
}

interface BarsProps extends Pick<Stop, 'gained' | 'lost'>, Pick<StationProps, 'x' | 'most' | 'isLabelled'> {
  isWaiting?: boolean;
}

/** People who gain, above the line, and who lose, below it. */
function Bars({ x, gained, lost, most, isLabelled, isWaiting = false }: BarsProps) {
  const [up, down] = [barOf(gained, most), barOf(lost, most)];
  const of = (name: string) => (isWaiting ? 'stop stop--waiting' : name);
  const textOf = (name: string) => (isWaiting ? 'warn-text' : name);
  return (
    <>
      {up > 0 && <rect className={of('gained')} x={x - 3} y={ABOVE - up} width="6" height={up} rx="1.5" />}
      {down > 0 && <rect className={of('lost')} x={x - 3} y={BELOW} width="6" height={down} rx="1.5" />}
      {isLabelled && up > 0 && (
        <text className={textOf('gain-text')} x={x + 7} y={ABOVE - up + 9}>
          +{gained}
        </text>
      )}
      {isLabelled && down > 0 && (
        <text className={textOf('loss-text')} x={x + 7} y={BELOW + down}>
          −{lost}
        </text>
      )}
    </>
  );
}
