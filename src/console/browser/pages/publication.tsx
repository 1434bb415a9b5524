import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { Link, useParams } from 'wouter';
import { isProblem, type Schemas } from '../api/client.js';
import { readAuditPage } from '../api/entries.js';
import { useCandidate, usePublishingStatus, useVersion } from '../api/publishing.js';
import { changeText } from '../domain/access-change.js';
import { changesAccess } from '../domain/audit-text.js';
import { numberText, sizeText } from '../domain/count-text.js';
import { type RuleLine, ruleLines } from '../domain/rule-segments.js';
import { useAddress } from '../parts/address.js';
import { AuditSentence, EventBadge } from '../parts/sentence.js';
import { AccessDifference, Change } from '../parts/changes.js';
import { Button, ButtonLink } from '../parts/controls.js';
import { Breakable, Moment } from '../parts/display.js';
import { Failure } from '../parts/notice.js';
import { Empty, EntryPage, Fact, Page, Region } from '../parts/page.js';
import { PrincipalLink } from '../parts/principal-combobox.js';
import { Approve, Cause, Counterexample, Findings, OutcomeBadge, Restore, UndoLink } from '../parts/publishing.js';
import { useFirst } from '../parts/table.js';

type Publication = Schemas['PublicationResponse'];

/** One version: what it changed, who gained and lost by it, and what the checks said. Or the change that waits. */
export function PublicationPage() {
  const { version } = useParams<{ version: string }>();
  return version === 'waiting' ? <WaitingChange /> : <OneVersion key={version} version={Number(version)} />;
}

function OneVersion({ version }: { version: number }) {
  const { search } = useAddress();
  const against = Number(search.get('against')) || undefined;
  return (
    <EntryPage title={`Version ${version}`} query={useVersion(version, against)}>
      {(publication) => <ReadVersion publication={publication} against={against} />}
    </EntryPage>
  );
}

function ReadVersion({ publication, against }: { publication: Publication; against: number | undefined }) {
  const { version } = publication;
  const status = usePublishingStatus().data;
  const isLive = status?.live?.hash === publication.hash && status.published?.version === version;
  return (
    <Page
      title={`Version ${version}`}
      heading={
        <>
          Version {version} <OutcomeBadge version={publication} isLive={isLive} />
        </>
      }
      actions={
        <>
          <Button text="rules.json" icon="download" onClick={() => download(publication.text)} />
          <Restore version={version} />
        </>
      }
      intro={
        <>
          Published <Moment at={publication.published_at} />: <Cause of={publication} />.{' '}
          {publication.access !== null && (
            <>
              {changeText(publication.access)}. <UndoLink of={publication.access} otherwise="/grants" />
            </>
          )}
        </>
      }
    >
      <Facts publication={publication} against={against} />
      <Causes of={publication} />
      <AccessDifference access={publication.access} />
      <RulesDifference diff={publication.diff} />
      <Region title="Checks" count={publication.checks.length}>
        {publication.checks.length === 0 && (
          <p className="dim">Proved complete: the rules give exactly what was granted.</p>
        )}
        <Findings findings={publication.checks} />
      </Region>
    </Page>
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

/** The recorded changes since the snapshot of the version before, if that is kept, with the people who made them. */
function Causes({ of: { version, snapshot_at: to } }: { of: Publication }) {
  const { data: before, error } = useVersion(version - 1, undefined, version > 1);
  // The version before was abandoned, or removed by the retention.
  const isMissing = isProblem(error, 404);
  // A withdrawal that publishes an older text again has the time of that text.
  const from = before && (before.snapshot_at < to ? before.snapshot_at : to);
  const { data } = useQuery({
    queryKey: ['audit', 'before', version, from],
    enabled: version === 1 || isMissing || from !== undefined,
    staleTime: Infinity,
    queryFn: () => readAuditPage({ ...(from !== undefined && { from }), to, limit: 200 }),
  });
  const events = data?.items.filter(changesAccess) ?? [];
  const [first, more] = useFirst(events, 5);
  if (events.length === 0) return null;
  return (
    <Region title="Recorded changes" count={numberText(events.length)} isStack>
      {isMissing && <p className="dim">There is no version {version - 1}: these are the newest before this one.</p>}
      <ul className="stack stack--tight">
        {first.map((event) => (
          <li key={event.id} className="row">
            <Moment at={event.at} />
            {event.actor === null ? (
              <span className="dim">the service</span>
            ) : (
              <PrincipalLink of={{ ...event.actor, type: 'user' }} />
            )}
            <EventBadge event={event.event} />
            <span className="prose">
              <AuditSentence of={event} />
            </span>
          </li>
        ))}
      </ul>
      {more && <p>{more}</p>}
    </Region>
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
    <Page
      title="Change that waits"
      isBusy={status.isPending || candidate.isLoading}
      actions={waiting !== null && <Approve hash={waiting.hash} follows={null} />}
      intro={
        waiting !== null && (
          <>
            Text {waiting.hash.slice(0, 8)} waits since <Moment at={waiting.since} />, because no recorded change
            explains it.
          </>
        )
      }
    >
      {status.isError && <Failure problem={status.error} retry={() => void status.refetch()} />}
      {candidate.isError && <Failure problem={candidate.error} retry={() => void candidate.refetch()} />}
      {waiting === null && status.isSuccess && (
        <Empty
          title="Nothing waits for approval"
          text="It was approved, or it is no longer proposed."
          action={<ButtonLink text="Open publications" href="/publications" />}
        />
      )}
      {waiting !== null && preview !== undefined && (
        <>
          {preview.awaits === null && preview.would === 'refused' && (
            <Counterexample
              reasons={checks.filter(({ severity }) => severity === 'error')}
              hint="It cannot be published."
            />
          )}
          {preview.diff.access !== null && (
            <p>
              <b>{changeText(preview.diff.access)}</b>. <UndoLink of={preview.diff.access} otherwise="/publications" />
            </p>
          )}
          <AccessDifference access={preview.diff.access} />
          <RulesDifference diff={preview.diff.rules} />
          <Region title="Checks" count={checks.length}>
            <Findings findings={checks} />
          </Region>
        </>
      )}
    </Page>
  );
}

/** The rules that a text adds, and those that it removes. */
function RulesDifference({ diff }: { diff: Schemas['RulesDiffResponse'] }) {
  const added = useMemo(() => ruleLines(diff.added, diff.removed), [diff]);
  const removed = useMemo(() => ruleLines(diff.removed, diff.added), [diff]);
  return (
    <>
      <Rules title="Rules added" rules={added} />
      <Rules title="Rules removed" rules={removed} isRemoved />
    </>
  );
}

interface RulesProps {
  title: string;
  rules: readonly RuleLine[];
  isRemoved?: boolean;
}

/** Rules that are shown at first. */
const FIRST_RULES = 50;

function Rules({ title, rules, isRemoved = false }: RulesProps) {
  const [first, more] = useFirst(rules, FIRST_RULES);
  const Changed = isRemoved ? 'del' : 'ins';
  return (
    <Region title={title} count={numberText(rules.length)}>
      {rules.length === 0 && <p className="dim">None.</p>}
      {rules.length > 0 && (
        <ol className={`diff${isRemoved ? ' diff--removed' : ''}`}>
          {first.map(({ section, segments }, index) => (
            <li key={index}>
              <span aria-hidden="true">{isRemoved ? '−' : '+'}</span>
              <span>
                <Breakable text={section} />
              </span>
              <span>
                {segments.map(({ text, isChanged }, at) =>
                  isChanged ? (
                    <Changed key={at}>
                      <Breakable text={text} />
                    </Changed>
                  ) : (
                    <Breakable key={at} text={text} />
                  ),
                )}
              </span>
            </li>
          ))}
        </ol>
      )}
      {more}
    </Region>
  );
}
