import { useSearchParams } from 'wouter';
import {
  type Entry,
  type Run,
  usePublishingStatus,
  usePublishNow,
  useHistory,
  type Version,
} from '../api/publishing.js';
import type { Schemas } from '../api/client.js';
import { numberText } from '../domain/count-text.js';
import { SPAN, type Stop } from '../domain/timeline.js';
import { now } from '../now.js';
import { Sign } from '../parts/change.js';
import { Failure } from '../parts/failure.js';
import { Counterexample, Findings } from '../parts/findings.js';
import { Icon } from '../parts/icon.js';
import { Moment } from '../parts/moment.js';
import { Notice } from '../parts/notice.js';
import { Empty, PageHead, Region } from '../parts/page.js';
import { PublicationTable } from '../parts/publication-table.js';
import { PublishingFacts } from '../parts/publishing-facts.js';
import { Timeline } from '../parts/timeline.js';
import { WaitingForApproval } from '../parts/waiting.js';
import { RestoreInEffect } from '../parts/restore.js';

type Status = Schemas['StatusResponse'];

/** What is live, what waits, when the next run is, and all versions and refused runs through time. */
export function Publications() {
  const status = usePublishingStatus();
  const history = useHistory(status.data?.published?.version);
  const publishing = usePublishNow();
  const [search] = useSearchParams();
  const shown = history.items?.find((entry): entry is Run => 'id' in entry && String(entry.id) === search.get('run'));
  const nextRun = status.data?.next_run_at ?? null;
  return (
    <main id="main" tabIndex={-1}>
      <div className="stack">
        <PageHead
          title="Publications"
          heading={
            <>
              Publications <LiveBadge status={status.data} />
            </>
          }
          actions={
            <button
              className="button"
              type="button"
              aria-disabled={publishing.isPending}
              aria-busy={publishing.isPending}
              onClick={() => {
                if (!publishing.isPending) publishing.mutate();
              }}
            >
              {publishing.isPending ? 'Publishing…' : 'Publish now'}
            </button>
          }
        >
          <LiveSentence status={status.data} />
        </PageHead>
        {status.isError && <Failure problem={status.error} retry={() => void status.refetch()} />}
        {publishing.isError && <Failure problem={publishing.error} />}
        {publishing.isSuccess && <Outcome result={publishing.data} />}
        {status.data !== undefined && <PublishingFacts status={status.data} />}
        {status.data !== undefined && <Attention status={status.data} />}
        {shown !== undefined && (
          <Counterexample reasons={shown.reasons} hint="Why this run published nothing. The rules before it stayed." />
        )}
        {history.items !== null && history.items.length > 0 && <LastDay entries={history.items} status={status.data} />}
        <PublicationTable
          list={history}
          liveHash={status.data?.live?.hash}
          empty={
            <Empty title="Nothing was published yet">
              {nextRun !== null ? (
                <>
                  The first run is <Moment at={nextRun} />.
                </>
              ) : (
                'Publish now, or wait for the first run.'
              )}
            </Empty>
          }
        />
      </div>
    </main>
  );
}

function LiveBadge({ status }: { status: Status | undefined }) {
  const { published = null, live = null } = status ?? {};
  if (published === null) return null;
  const isLive = live?.hash === published.hash;
  return (
    <span className={isLive ? 'badge badge--gain' : 'badge'}>
      <Icon name={isLive ? 'check' : 'clock'} />
      Version {published.version} is {isLive ? 'live' : 'published'}
    </span>
  );
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

/** How *Publish now* ended. */
function Outcome({ result }: { result: Schemas['SyncResponse'] }) {
  const { outcome, publication, reasons } = result;
  if (outcome === 'refused') return null;
  const version = publication?.version ?? 0;
  return (
    <p className="note" role="status">
      <Icon name="check" />
      <span>
        {outcome === 'applied' ? `Version ${version} was published.` : `Nothing has changed since version ${version}.`}
        {reasons.map(({ message }) => ` ${message}`)}
      </span>
    </p>
  );
}

/** What needs somebody: a change that waits, a refusal, a restore in effect, a database that is behind, catalogs that are open. */
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
        <Notice tone="loss" title={`Version ${behind.version} is in force, and this database does not have it`}>
          <p>It was restored from a backup, or another installation publishes to the same target.</p>
        </Notice>
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
        <Notice tone="loss" title="The last run failed">
          <p>{status.last_reasons.map(({ message }) => message).join(' ')}</p>
        </Notice>
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
