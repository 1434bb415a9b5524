import { Link } from 'wouter';
import { useCandidate, usePublishingStatus } from '../api/publishing.js';
import { AccessDifference, RulesDifference } from '../parts/differences.js';
import { Failure } from '../parts/failure.js';
import { Counterexample, Findings } from '../parts/findings.js';
import { Moment } from '../parts/moment.js';
import { Empty, PageHead } from '../parts/page.js';
import { Region } from '../parts/region.js';
import { Approve } from '../parts/waiting.js';

/** The change that waits for an approval, as the next run would publish it. */
export function WaitingChange() {
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
