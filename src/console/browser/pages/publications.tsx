import type { Schemas } from '../api/client.js';
import {
  type HistoryEntry,
  type Run,
  useCandidate,
  usePublishingHistory,
  usePublishingStatus,
  usePublishNow,
  type Version,
} from '../api/publishing.js';
import { numberText, sizeText } from '../domain/count-text.js';
import { MAX_SPAN_MS, type TimelineEvent, timeWindowOf } from '../domain/timeline.js';
import { now } from '../now.js';
import { useAddress } from '../parts/address.js';
import { ChangeSign } from '../parts/changes.js';
import { Badge, Button } from '../parts/controls.js';
import { Moment } from '../parts/display.js';
import { Failure, Note, Notice } from '../parts/notice.js';
import { EmptyState, Fact, Page, Region, LoadingFacts } from '../parts/page.js';
import {
  Counterexample,
  Findings,
  PublicationTable,
  RestoreInEffect,
  WaitingForApproval,
} from '../parts/publishing.js';
import { Timeline } from '../parts/timeline.js';

type Status = Schemas['StatusResponse'];

/** The page of publishing: the live version, the change that waits for an approval, the next run, and all versions and refused runs. */
export function Publications() {
  const { data: status, error, refetch } = usePublishingStatus();
  const history = usePublishingHistory(status);
  const publishMutation = usePublishNow();
  const { search } = useAddress();
  const openRun = history.items?.find((entry): entry is Run => 'id' in entry && String(entry.id) === search.get('run'));
  const hasTimeline = history.items === null ? history.query.error === null : history.items.length > 0;
  const nextRunAt = status?.next_run_at ?? null;
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
          text={publishMutation.isPending ? 'Publishing…' : 'Publish now'}
          isDisabled={publishMutation.isPending}
          aria-busy={publishMutation.isPending}
          onClick={() => publishMutation.mutate()}
        />
      }
      intro={<LiveSentence status={status} />}
    >
      {error !== null && <Failure problem={error} retry={() => void refetch()} />}
      {publishMutation.isError && <Failure problem={publishMutation.error} />}
      {publishMutation.isSuccess && <PublishOutcome result={publishMutation.data} />}
      {status === undefined && error === null && (
        <LoadingFacts names={['Next run', 'Last run', 'Rules', 'Size', 'Drift', 'Refused']} />
      )}
      {status !== undefined && <PublishingFacts status={status} />}
      {status !== undefined && <AttentionNotices status={status} />}
      {openRun !== undefined && (
        <Counterexample
          reasons={openRun.reasons}
          hint={
            isNothingPublished(openRun.outcome, openRun.reasons)
              ? 'Why this run published nothing. The rules before it stayed.'
              : 'Why this run did not publish the grants as they were. At most revokes went out.'
          }
        />
      )}
      {hasTimeline && <LastDay entries={history.items} status={status} />}
      <PublicationTable
        list={history}
        liveHash={status?.live?.hash}
        emptyState={
          <EmptyState
            text={
              nextRunAt === null ? (
                'Publish now, or wait for the first run.'
              ) : (
                <>
                  The first run is <Moment time={nextRunAt} />.
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
  const versionText = `Version ${published.version} is`;
  if (live?.hash !== published.hash) return <Badge icon="clock" text={`${versionText} published`} />;
  return <Badge tone="gain" icon="check" text={`${versionText} live`} />;
}

function LiveSentence({ status }: { status: Status | undefined }) {
  if (status === undefined) return <>Reading what is live, when it was published, and when it was confirmed</>;
  const { published, live } = status;
  if (published === null) return <>Rules go to {status.target}.</>;
  if (live?.hash !== published.hash) {
    return (
      <>
        Published <Moment time={published.at} />; the engine was not yet seen to use it.
      </>
    );
  }
  const delaySeconds = Math.max(0, Math.round((Date.parse(live.confirmed_at) - Date.parse(published.at)) / 1000));
  return (
    <>
      Confirmed by the engine <Moment time={live.confirmed_at} />, {numberText(delaySeconds)} s after it was published.
    </>
  );
}

function PublishOutcome({ result }: { result: Schemas['SyncResponse'] }) {
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

/** Whether a run certainly left the rules as they were. Most other refused runs publish what was taken away ("How it ends" in docs/sync-run.md). */
function isNothingPublished(outcome: Run['outcome'], reasons: Run['reasons']): boolean {
  return (
    outcome === 'failed' || reasons.some(({ code }) => /^(withdrawal-impossible|restore-contradicted)$/.test(code))
  );
}

function AttentionNotices({ status }: { status: Status }) {
  const {
    waiting_for_approval: waitingChange,
    last_outcome: lastOutcome,
    database_behind: newerVersion,
    open_catalogs: openCatalogs,
  } = status;
  return (
    <>
      {newerVersion !== null && (
        <Notice
          tone="loss"
          title={`Version ${newerVersion.version} is in force, and this database does not have it`}
          text="It was restored from a backup, or another installation publishes to the same target."
        />
      )}
      {openCatalogs.length > 0 && (
        <Notice tone="warn" title="Catalogs that lead around restrictions">
          <Findings findings={openCatalogs} />
        </Notice>
      )}
      {status.restored_until !== null && <RestoreInEffect restoredUntil={status.restored_until} />}
      {waitingChange !== null && <WaitingForApproval waitingChange={waitingChange} />}
      {waitingChange === null && lastOutcome === 'refused' && (
        <Counterexample
          reasons={status.last_reasons}
          hint={`The last run was refused by the checks below. ${
            status.published === null || isNothingPublished(lastOutcome, status.last_reasons)
              ? 'The rules before it stay.'
              : newerVersion === null
                ? 'Revokes go out meanwhile.'
                : 'At most revokes go out meanwhile.'
          }`}
        />
      )}
      {lastOutcome === 'failed' && (
        <Notice
          tone="loss"
          title="The last run failed"
          text={status.last_reasons.map(({ message }) => message).join(' ')}
        />
      )}
    </>
  );
}

/** The versions and refused runs of the last day on a timeline. @param props.entries null: they are still being read */
function LastDay({ entries, status }: { entries: readonly HistoryEntry[] | null; status: Status | undefined }) {
  const currentMs = now().getTime();
  const isWithinLastDay = (entry: HistoryEntry): boolean => Date.parse(entry.at) >= currentMs - MAX_SPAN_MS;
  const versionBefore = entries?.find((entry): entry is Version => 'version' in entry && !isWithinLastDay(entry));
  const waitingAccess = useCandidate(status?.waiting_for_approval?.hash).data?.diff.access;
  const timelineEvents = (entries ?? [])
    .filter(isWithinLastDay)
    .reverse()
    .map((entry) => timelineEventOf(entry, status));
  return (
    <Region
      title="Last 24 hours"
      actions={
        <p className="row hint">
          <span className="row">
            <ChangeSign /> gained
          </span>
          <span className="row">
            <ChangeSign isLoss /> lost
          </span>
          <span>people; upper line: size</span>
        </p>
      }
    >
      <div aria-hidden={entries === null}>
        <Timeline
          events={timelineEvents}
          sizeBefore={versionBefore?.bytes ?? null}
          isChangeWaiting={(status?.waiting_for_approval ?? null) !== null}
          gainCount={waitingAccess?.people_gaining ?? 0}
          lossCount={waitingAccess?.people_losing ?? 0}
          window={timeWindowOf(timelineEvents, versionBefore === undefined, currentMs)}
        />
      </div>
    </Region>
  );
}

function timelineEventOf(entry: HistoryEntry, status: Status | undefined): TimelineEvent {
  const timeMs = Date.parse(entry.at);
  if ('id' in entry) return { timeMs, kind: 'refused', version: null, gainCount: 0, lossCount: 0, bytes: 0 };
  const { version, people_gaining, people_losing, bytes } = entry;
  const [gainCount, lossCount] = [people_gaining ?? 0, people_losing ?? 0];
  const isLive = status?.live?.hash === entry.hash && status.published?.version === version;
  return { timeMs, kind: isLive ? 'live' : 'version', version, gainCount, lossCount, bytes };
}

const MAX_CONFIGMAP_BYTES = 1024 ** 2;

function PublishingFacts({ status }: { status: Status }) {
  const { published, next_run_at: nextRunAt, drift, refused_since: refusedSince } = status;
  return (
    <dl className="facts">
      <Fact name="Next run">
        {nextRunAt === null ? 'No schedule here' : <Moment time={nextRunAt} />}
        {nextRunAt !== null && <small>{timeUntilText(nextRunAt)}</small>}
      </Fact>
      <Fact name="Last run">
        {status.last_run_at === null ? 'None yet' : <Moment time={status.last_run_at} />}
        {status.last_outcome !== null && <small>{OUTCOME_TEXTS[status.last_outcome]}</small>}
      </Fact>
      <Fact name="Rules">{numberText(published?.rules ?? 0)}</Fact>
      <Fact name="Size">
        {sizeText(published?.bytes ?? 0)}
        {status.targets.some(({ kind }) => kind === 'configmap') && (
          <small>{Math.round(((published?.bytes ?? 0) / MAX_CONFIGMAP_BYTES) * 100)} % of the ConfigMap</small>
        )}
      </Fact>
      {status.targets.length > 1 &&
        status.targets.map(({ name, published: publishedVersion, error }) => (
          <Fact key={name} name={name}>
            {publishedVersion ?? 'Nothing yet'}
            {error !== null && <small>{error}</small>}
          </Fact>
        ))}
      {status.instances?.map(({ instance, revision, last_seen_at: lastSeenAt, errors: [error] }) => (
        <Fact key={instance} name={instance}>
          {revision ?? 'No bundle'}
          <small>
            seen <Moment time={lastSeenAt} />
            {error !== undefined && `: ${error}`}
          </small>
        </Fact>
      ))}
      {status.canary !== undefined && (
        <Fact name="Canary">
          {status.canary === null ? 'No engine was asked' : (status.canary.answer ?? 'No answer')}
        </Fact>
      )}
      <Fact name="Drift">
        {drift === null ? (
          'None'
        ) : (
          <>
            <Moment time={drift.found_at} />
            <small>edited by hand, {drift.overwritten ? 'overwritten' : 'still there'}</small>
          </>
        )}
      </Fact>
      <Fact name="Refused">
        {refusedSince === null ? (
          'Nothing'
        ) : (
          <>
            since <Moment time={refusedSince} />
          </>
        )}
        {status.waiting_for_approval !== null && <small>1 change waits</small>}
      </Fact>
    </dl>
  );
}

const OUTCOME_TEXTS: Record<NonNullable<Status['last_outcome']>, string> = {
  applied: 'published',
  no_change: 'nothing to publish',
  refused: 'refused',
  failed: 'failed',
};

function timeUntilText(moment: string): string {
  const minutes = Math.max(0, Math.round((Date.parse(moment) - now().getTime()) / 60_000));
  const [minutesPerUnit, unit] = minutes < 120 ? [1, 'min'] : minutes < 2_880 ? [60, 'hours'] : [1_440, 'days'];
  return minutes === 0 ? 'in less than a minute' : `in ${Math.round(minutes / minutesPerUnit)} ${unit}`;
}
