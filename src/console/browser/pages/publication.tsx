import { useQuery } from '@tanstack/react-query';
import { Link, useParams, useSearchParams } from 'wouter';
import { api, bodyOf, Problem, type Schemas } from '../api/client.js';
import { inTurn, usePublishingStatus } from '../api/publishing.js';
import { AccessDifference, RulesDifference } from '../parts/differences.js';
import { Failure } from '../parts/failure.js';
import { Findings } from '../parts/findings.js';
import { Icon } from '../parts/icon.js';
import { Moment } from '../parts/moment.js';
import { PageHead } from '../parts/page.js';
import { Cause, OutcomeBadge } from '../parts/publication-table.js';
import { Restore } from '../parts/restore.js';
import { sizeText } from '../parts/size.js';
import { NotHere } from './absent.js';
import { WaitingChange } from './waiting-change.js';

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
            <section aria-labelledby="checks">
              <div className="head">
                <h2 id="checks">Checks</h2>
                <span className="count">{publication.checks.length}</span>
              </div>
              {publication.checks.length === 0 ? (
                <p className="dim">Proved complete: the rules give exactly what was granted.</p>
              ) : (
                <Findings findings={publication.checks} />
              )}
            </section>
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
      <div>
        <dt>Compared with</dt>
        <dd>{other > 0 ? <Link href={`/publications/${other}`}>Version {other}</Link> : 'nothing before'}</dd>
      </div>
      <div>
        <dt>Access</dt>
        <dd>
          {access === null ? (
            'not compared'
          ) : (
            <>
              <span className="change">+{access.gained_in_all.toLocaleString('en-GB')}</span>{' '}
              <span className="change change--loss">−{access.lost_in_all.toLocaleString('en-GB')}</span>
              <small>people and nodes</small>
            </>
          )}
        </dd>
      </div>
      <div>
        <dt>Rules</dt>
        <dd>
          <span className="change">+{diff.added.length}</span>{' '}
          <span className="change change--loss">−{diff.removed.length}</span>
          <small>{rules.toLocaleString('en-GB')} in all</small>
        </dd>
      </div>
      <div>
        <dt>Size</dt>
        <dd>{sizeText(bytes)}</dd>
      </div>
      <div>
        <dt>Live</dt>
        <dd>{liveAt === null ? 'not seen' : <Moment at={liveAt} />}</dd>
      </div>
      {restored !== null && (
        <div>
          <dt>Restored</dt>
          <dd>
            <Link href={`/publications/${restored.version}`}>Version {restored.version}</Link>
            <small>{restored.reason}</small>
          </dd>
        </div>
      )}
      <div>
        <dt>Hash</dt>
        <dd className="mono">{hash.slice(0, 8)}</dd>
      </div>
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
