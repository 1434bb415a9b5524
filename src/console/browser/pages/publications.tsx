import type { Schemas } from '../api/client.js';
import {
  type Entry,
  type Run,
  useCandidate,
  useHistory,
  usePublishingStatus,
  usePublishNow,
  type Version,
} from '../api/publishing.js';
import { numberText, sizeText } from '../domain/count-text.js';
import { SPAN, type Stop, windowOf } from '../domain/timeline.js';
import { now } from '../now.js';
import { useAddress } from '../parts/address.js';
import { Sign } from '../parts/changes.js';
import { Badge, Button } from '../parts/controls.js';
import { Moment } from '../parts/display.js';
import { Failure, Note, Notice } from '../parts/notice.js';
import { Empty, Fact, Page, Region, UnknownFacts } from '../parts/page.js';
import {
  Counterexample,
  Findings,
  PublicationTable,
  RestoreInEffect,
  WaitingForApproval,
} from '../parts/publishing.js';
import { Timeline } from '../parts/timeline.js';

type Status = Schemas['StatusResponse'];

/** What is live, what waits, when the next run is, and all versions and refused runs through time. */
export function Publications() {
  const { data: status, error, refetch } = usePublishingStatus();
  const history = useHistory(status?.published?.version);
  const publishing = usePublishNow();
  const { search } = useAddress();
  const shown = history.items?.find((entry): entry is Run => 'id' in entry && String(entry.id) === search.get('run'));
  const hasTimeline = history.items === null ? history.query.error === null : history.items.length > 0;
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
      {status === undefined && error === null && <UnknownFacts names={FACTS} />}
      {status !== undefined && <PublishingFacts status={status} />}
      {status !== undefined && <Attention status={status} />}
      {shown !== undefined && (
        <Counterexample reasons={shown.reasons} hint="Why this run published nothing. The rules before it stayed." />
      )}
      {hasTimeline && <LastDay entries={history.items} status={status} />}
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
  if (status === undefined) return <>Reading what is live, when it was published, and when it was confirmed</>;
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
      {waiting !== null && <WaitingForApproval waiting={waiting} />}
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

/** @param props.entries null: still loading */
function LastDay({ entries, status }: { entries: readonly Entry[] | null; status: Status | undefined }) {
  const at = now().getTime();
  const isRecent = (entry: Entry): boolean => Date.parse(entry.at) >= at - SPAN;
  const before = entries?.find((entry): entry is Version => 'version' in entry && !isRecent(entry));
  const waiting = useCandidate(status?.waiting_for_approval?.hash).data?.diff.access;
  const stops = (entries ?? [])
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
      <div aria-hidden={entries === null}>
        <Timeline
          stops={stops}
          before={before?.bytes ?? null}
          isWaiting={(status?.waiting_for_approval ?? null) !== null}
          gaining={waiting?.people_gaining ?? 0}
          losing={waiting?.people_losing ?? 0}
          window={windowOf(stops, before === undefined, at)}
        />
      </div>
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

const FACTS = ['Next run', 'Last run', 'Rules', 'Size', 'Drift', 'Refused'];

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
