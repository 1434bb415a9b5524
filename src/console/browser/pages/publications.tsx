import { useSearchParams } from 'wouter';
import type { Schemas } from '../api/client.js';
import {
  type Entry,
  type Run,
  useHistory,
  usePublishingStatus,
  usePublishNow,
  type Version,
} from '../api/publishing.js';
import { numberText, sizeText } from '../domain/count-text.js';
import {
  barOf,
  FRAME,
  labelledStops,
  sizeLineOf,
  SPAN,
  type Stop,
  ticksOf,
  timelineText,
  xOf,
} from '../domain/timeline.js';
import { now } from '../now.js';
import { Sign } from '../parts/changes.js';
import { Badge, Button } from '../parts/controls.js';
import { Moment } from '../parts/display.js';
import { Failure, Note, Notice } from '../parts/notice.js';
import { Empty, Fact, Page, Region } from '../parts/page.js';
import {
  Counterexample,
  Findings,
  PublicationTable,
  RestoreInEffect,
  WaitingForApproval,
} from '../parts/publishing.js';

type Status = Schemas['StatusResponse'];

/** What is live, what waits, when the next run is, and all versions and refused runs through time. */
export function Publications() {
  const { data: status, error, refetch } = usePublishingStatus();
  const history = useHistory(status?.published?.version);
  const publishing = usePublishNow();
  const [search] = useSearchParams();
  const shown = history.items?.find((entry): entry is Run => 'id' in entry && String(entry.id) === search.get('run'));
  const nextRun = status?.next_run_at ?? null;
  return (
    <Page
      title="Publications"
      heading={
        <>
          Publications <LiveBadge status={status} />
        </>
      }
      actions={
        <Button
          text={publishing.isPending ? 'Publishing…' : 'Publish now'}
          isOff={publishing.isPending}
          aria-busy={publishing.isPending}
          onClick={() => publishing.mutate()}
        />
      }
      intro={<LiveSentence status={status} />}
    >
      {error !== null && <Failure problem={error} retry={() => void refetch()} />}
      {publishing.isError && <Failure problem={publishing.error} />}
      {publishing.isSuccess && <Outcome result={publishing.data} />}
      {status !== undefined && <PublishingFacts status={status} />}
      {status !== undefined && <Attention status={status} />}
      {shown !== undefined && (
        <Counterexample reasons={shown.reasons} hint="Why this run published nothing. The rules before it stayed." />
      )}
      {history.items !== null && history.items.length > 0 && <LastDay entries={history.items} status={status} />}
      <PublicationTable
        list={history}
        liveHash={status?.live?.hash}
        empty={
          <Empty
            text={
              nextRun === null ? (
                'Publish now, or wait for the first run.'
              ) : (
                <>
                  The first run is <Moment at={nextRun} />.
                </>
              )
            }
            title="Nothing was published yet"
          />
        }
      />
    </Page>
  );
}

function LiveBadge({ status }: { status: Status | undefined }) {
  const { published = null, live = null } = status ?? {};
  if (published === null) return null;
  const version = `Version ${published.version} is`;
  if (live?.hash !== published.hash) return <Badge icon="clock" text={`${version} published`} />;
  return <Badge tone="gain" icon="check" text={`${version} live`} />;
}

function LiveSentence({ status }: { status: Status | undefined }) {
  if (status === undefined) return <>Reading what is live</>;
  const { published, live } = status;
  if (published === null) return <>Rules go to {status.target}.</>;
  if (live?.hash !== published.hash) {
    return (
      <>
        Published <Moment at={published.at} />; the engine was not yet seen to use it.
      </>
    );
  }
  const seconds = Math.max(0, Math.round((Date.parse(live.confirmed_at) - Date.parse(published.at)) / 1000));
  return (
    <>
      Confirmed by the engine <Moment at={live.confirmed_at} />, {numberText(seconds)} s after it was published.
    </>
  );
}

/** The result of *Publish now*. */
function Outcome({ result }: { result: Schemas['SyncResponse'] }) {
  const { outcome, publication, reasons } = result;
  if (outcome === 'refused') return null;
  const version = publication?.version ?? 0;
  return (
    <Note icon="check" role="status">
      {outcome === 'applied' ? `Version ${version} was published.` : `Nothing has changed since version ${version}.`}
      {reasons.map(({ message }) => ` ${message}`)}
    </Note>
  );
}

/** States that need a person: a change that waits, a refusal, a restore in effect, a database that is behind, open catalogs. */
function Attention({ status }: { status: Status }) {
  const {
    waiting_for_approval: waiting,
    last_outcome: last,
    database_behind: behind,
    open_catalogs: catalogs,
  } = status;
  return (
    <>
      {behind !== null && (
        <Notice
          tone="loss"
          title={`Version ${behind.version} is in force, and this database does not have it`}
          text="It was restored from a backup, or another installation publishes to the same target."
        />
      )}
      {catalogs.length > 0 && (
        <Notice tone="warn" title="Catalogs that lead around restrictions">
          <Findings findings={catalogs} />
        </Notice>
      )}
      {status.restored_until !== null && <RestoreInEffect until={status.restored_until} />}
      {waiting !== null && <WaitingForApproval waiting={waiting} version={status.published?.version} />}
      {waiting === null && last === 'refused' && (
        <Counterexample
          reasons={status.last_reasons}
          hint="The last run was refused, because the rules would not give what the grants say. The rules before it stay."
        />
      )}
      {last === 'failed' && (
        <Notice
          tone="loss"
          title="The last run failed"
          text={status.last_reasons.map(({ message }) => message).join(' ')}
        />
      )}
    </>
  );
}

function LastDay({ entries, status }: { entries: readonly Entry[]; status: Status | undefined }) {
  const at = now().getTime();
  const isRecent = (entry: Entry): boolean => Date.parse(entry.at) >= at - SPAN;
  const before = entries.find((entry): entry is Version => 'version' in entry && !isRecent(entry));
  const stops = entries
    .filter(isRecent)
    .reverse()
    .map((entry) => stopOf(entry, status));
  return (
    <Region
      title="Last 24 hours"
      actions={
        <p className="row hint">
          <span className="row">
            <Sign /> gained
          </span>
          <span className="row">
            <Sign isLoss /> lost
          </span>
          <span>people; upper line: size</span>
        </p>
      }
    >
      <Timeline
        stops={stops}
        before={before?.bytes ?? null}
        isWaiting={(status?.waiting_for_approval ?? null) !== null}
        now={at}
      />
    </Region>
  );
}

function stopOf(entry: Entry, status: Status | undefined): Stop {
  const at = Date.parse(entry.at);
  if ('id' in entry) return { at, kind: 'refused', version: null, gained: 0, lost: 0, bytes: 0 };
  const { version, people_gaining, people_losing, bytes } = entry;
  const [gained, lost] = [people_gaining ?? 0, people_losing ?? 0];
  const isLive = status?.live?.hash === entry.hash && status.published?.version === version;
  return { at, kind: isLive ? 'live' : 'version', version, gained, lost, bytes };
}

/** The size limit of a ConfigMap. */
const CONFIGMAP = 1024 ** 2;

/** The state of publishing in figures. */
function PublishingFacts({ status }: { status: Status }) {
  const { published, next_run_at: next, drift, refused_since: refused, waiting_for_approval: waiting } = status;
  return (
    <dl className="facts">
      <Fact name="Next run">
        {next === null ? 'No schedule here' : <Moment at={next} />}
        {next !== null && <small>{inText(next)}</small>}
      </Fact>
      <Fact name="Last run">
        {status.last_run_at === null ? 'None yet' : <Moment at={status.last_run_at} />}
        {status.last_outcome !== null && <small>{OUTCOMES[status.last_outcome]}</small>}
      </Fact>
      <Fact name="Rules">{numberText(published?.rules ?? 0)}</Fact>
      <Fact name="Size">
        {sizeText(published?.bytes ?? 0)}
        {status.target.startsWith('configmap') && (
          <small>{Math.round(((published?.bytes ?? 0) / CONFIGMAP) * 100)} % of the ConfigMap</small>
        )}
      </Fact>
      <Fact name="Drift">
        {drift === null ? (
          'None'
        ) : (
          <>
            <Moment at={drift.found_at} />
            <small>edited by hand, {drift.overwritten ? 'overwritten' : 'still there'}</small>
          </>
        )}
      </Fact>
      <Fact name="Refused">
        {refused === null ? (
          'Nothing'
        ) : (
          <>
            since <Moment at={refused} />
          </>
        )}
        {waiting !== null && <small>1 change waits</small>}
      </Fact>
    </dl>
  );
}

const OUTCOMES: Record<NonNullable<Status['last_outcome']>, string> = {
  applied: 'published',
  no_change: 'nothing to publish',
  refused: 'refused',
  failed: 'failed',
};

/** *in 2 min*. */
function inText(moment: string): string {
  const minutes = Math.max(0, Math.round((Date.parse(moment) - now().getTime()) / 60_000));
  return minutes === 0 ? 'in less than a minute' : `in ${minutes} min`;
}

interface TimelineProps {
  /** Of the last day, the oldest first. */
  stops: readonly Stop[];
  /** The size of the last version before that day; null: there is none. */
  before: number | null;
  isWaiting: boolean;
  now: number;
}

const ABOVE = FRAME.spine - 9;
const BELOW = FRAME.spine + 9;
const WAITS = FRAME.now + 49;

/** The publications of the last day, as a line through time; a dotted end leads to a change that waits. */
function Timeline({ stops, before, isWaiting, now }: TimelineProps) {
  const most = Math.max(1, ...stops.flatMap(({ gained, lost }) => [gained, lost]));
  const labelled = labelledStops(stops, now);
  const sizes = sizeLineOf(stops, before, now);
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
        {ticksOf(now).map(({ x, text }) => (
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
        <path className="spine" d={`M0 ${FRAME.spine}H${FRAME.now}`} />
        <path className="spine next" d={`M${FRAME.now + 8} ${FRAME.spine}H${FRAME.width}`} />
        {stops.map((stop) => (
          <Station
            key={`${stop.at} ${stop.version ?? ''}`}
            stop={stop}
            x={xOf(stop.at, now)}
            most={most}
            isLabelled={labelled.has(stop)}
          />
        ))}
        {isWaiting && (
          <>
            <circle className="stop stop--waiting" cx={WAITS} cy={FRAME.spine} r="5" />
            <text className="warn-text" x={WAITS} y="83" textAnchor="middle">
              waits
            </text>
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
  const [up, down] = [barOf(stop.gained, most), barOf(stop.lost, most)];
  const isLive = stop.kind === 'live';
  return (
    <>
      {up > 0 && <rect className="gained" x={x - 3} y={ABOVE - up} width="6" height={up} rx="1.5" />}
      {down > 0 && <rect className="lost" x={x - 3} y={BELOW} width="6" height={down} rx="1.5" />}
      {isLabelled && up > 0 && (
        <text className="gain-text" x={x + 7} y={ABOVE - up + 9}>
          +{stop.gained}
        </text>
      )}
      {isLabelled && down > 0 && (
        <text className="loss-text" x={x + 7} y={BELOW + down}>
          −{stop.lost}
        </text>
      )}
      <circle className={isLive ? 'stop stop--live' : 'stop'} cx={x} cy={FRAME.spine} r={isLive ? 5.5 : 4} />
      {isLive && (
        <text className="now" x={x} y={up > 0 ? ABOVE - up - 6 : 83} textAnchor="middle">
          {stop.version} live
        </text>
      )}
    </>
  );
}
