import { useQuery } from '@tanstack/react-query';
import { Link, useParams, useSearchParams } from 'wouter';
import { api, bodyOf, Problem, type Schemas } from '../api/client.js';
import { inTurn, useCandidate, usePublishingStatus } from '../api/publishing.js';
import { numberText, sizeText } from '../domain/count-text.js';
import { Change } from '../parts/change.js';
import { AccessDifference, RulesDifference } from '../parts/differences.js';
import { Empty, Fact, PageHead, Region } from '../parts/page.js';
import { Failure } from '../parts/failure.js';
import { Counterexample, Findings } from '../parts/findings.js';
import { Icon } from '../parts/icon.js';
import { Moment } from '../parts/moment.js';
import { Cause, OutcomeBadge } from '../parts/publication-table.js';
import { Restore } from '../parts/restore.js';
import { Approve } from '../parts/waiting.js';
import { NotHere } from './absent.js';

type Publication = Schemas['PublicationResponse'];

/** One version: what it changed, who gained and lost by it, and what the checks said. Or the change that waits. */
export function PublicationPage() {
  const { version } = useParams<{ version: string }>();
  return version === 'waiting' ? <WaitingChange /> : <OneVersion key={version} version={Number(version)} />;
}

function OneVersion({ version }: { version: number }) {
  const [search] = useSearchParams();
  const against = Number(search.get('against')) || undefined;
  const status = usePublishingStatus().data;
  const query = useQuery({
    queryKey: ['publishing', 'version', version, against],
    queryFn: () =>
      inTurn(() =>
        bodyOf(
          api.GET('/api/admin/acl/publications/{version}', {
            params: { path: { version }, query: against === undefined ? {} : { against } },
          }),
        ),
      ),
  });
  if (query.error instanceof Problem && query.error.status === 404) return <NotHere />;
  const publication = query.data;
  const isLive = status?.live?.hash === publication?.hash && status?.published?.version === version;
  return (
    <main id="main" aria-busy={query.isPending} tabIndex={-1}>
      <div className="stack">
        <PageHead
          title={`Version ${version}`}
          heading={
            <>
              Version {version} {publication !== undefined && <OutcomeBadge version={publication} isLive={isLive} />}
            </>
          }
          actions={
            publication !== undefined && (
              <>
                <button className="button" type="button" onClick={() => download(publication.text)}>
                  <Icon name="download" />
                  rules.json
                </button>
                <Restore version={version} />
              </>
            )
          }
        >
          {publication === undefined ? (
            'Reading the version'
          ) : (
            <>
              Published <Moment at={publication.published_at} />: <Cause of={publication} />.
            </>
          )}
        </PageHead>
        {query.isError && <Failure problem={query.error} retry={() => void query.refetch()} />}
        {publication !== undefined && (
          <>
            <Facts publication={publication} against={against} />
            <AccessDifference access={publication.access} />
            <RulesDifference diff={publication.diff} />
            <Region title="Checks" count={publication.checks.length}>
              {publication.checks.length === 0 ? (
                <p className="dim">Proved complete: the rules give exactly what was granted.</p>
              ) : (
                <Findings findings={publication.checks} />
              )}
            </Region>
          </>
        )}
      </div>
    </main>
  );
}

function Facts({ publication, against }: { publication: Publication; against: number | undefined }) {
  const { version, access, diff, rules, bytes, hash, restored, live_at: liveAt } = publication;
  const other = against ?? version - 1;
  return (
    <dl className="facts">
      <Fact name="Compared with">
        {other > 0 ? <Link href={`/publications/${other}`}>Version {other}</Link> : 'nothing before'}
      </Fact>
      <Fact name="Access">
        {access === null ? (
          'not compared'
        ) : (
          <>
            <Change count={access.people_gaining ?? access.gained_in_all} />{' '}
            <Change count={access.people_losing ?? access.lost_in_all} isLoss />
            <small>
              {access.people_gaining === null ? 'things' : 'people'}, {numberText(access.changed_pairs)} pairs of person
              and node
            </small>
          </>
        )}
      </Fact>
      <Fact name="Rules">
        <Change count={diff.added.length} /> <Change count={diff.removed.length} isLoss />
        <small>{numberText(rules)} in all</small>
      </Fact>
      <Fact name="Size">{sizeText(bytes)}</Fact>
      <Fact name="Live">{liveAt === null ? 'not seen' : <Moment at={liveAt} />}</Fact>
      {restored !== null && (
        <Fact name="Restored">
          <Link href={`/publications/${restored.version}`}>Version {restored.version}</Link>
          <small>{restored.reason}</small>
        </Fact>
      )}
      <Fact name="Hash">
        <span className="mono">{hash.slice(0, 8)}</span>
      </Fact>
    </dl>
  );
}

function download(text: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], { type: 'application/json' }));
  link.download = 'rules.json';
  link.click();
  URL.revokeObjectURL(link.href);
}

/** The change that waits for an approval, as the next run would publish it. */
function WaitingChange() {
  const status = usePublishingStatus();
  const waiting = status.data?.waiting_for_approval ?? null;
  const candidate = useCandidate(waiting?.hash);
  const preview = candidate.data;
  const checks = preview?.checks ?? [];
  return (
    <main id="main" aria-busy={status.isPending || candidate.isLoading} tabIndex={-1}>
      <div className="stack">
        <PageHead
          title="Change that waits"
          actions={waiting !== null && <Approve hash={waiting.hash} follows={null} />}
        >
          {waiting !== null && (
            <>
              Text {waiting.hash.slice(0, 8)} waits since <Moment at={waiting.since} />, because no recorded change
              explains it.
            </>
          )}
        </PageHead>
        {status.isError && <Failure problem={status.error} retry={() => void status.refetch()} />}
        {candidate.isError && <Failure problem={candidate.error} retry={() => void candidate.refetch()} />}
        {waiting === null && status.isSuccess && (
          <Empty
            title="Nothing waits for approval"
            action={
              <Link className="button" href="/publications">
                Open publications
              </Link>
            }
          >
            It was approved, or it is no longer proposed.
          </Empty>
        )}
        {waiting !== null && preview !== undefined && (
          <>
            {preview.awaits === null && preview.would === 'refused' && (
              <Counterexample
                reasons={checks.filter(({ severity }) => severity === 'error')}
                hint="It cannot be published."
              />
            )}
            <AccessDifference access={preview.diff.access} />
            <RulesDifference diff={preview.diff.rules} />
            <Region title="Checks" count={checks.length}>
              <Findings findings={checks} />
            </Region>
          </>
        )}
      </div>
    </main>
  );
}
