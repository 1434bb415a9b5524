import { useMemo, useState } from 'react';
import { Link, useParams } from 'wouter';
import { api, bodyOf, isProblem, type Schemas } from '../api/client.js';
import { readAuditPage } from '../api/entries.js';
import { loadedCountText, type PageQuery, usePages } from '../api/pages.js';
import { refreshPublishing, useCandidate, usePublishingStatus, useVersion } from '../api/publishing.js';
import { changeText } from '../domain/access-change.js';
import { eventSentence, isAccessChange } from '../domain/audit-text.js';
import { numberText, sizeText } from '../domain/count-text.js';
import { type RuleLine, ruleLines } from '../domain/rule-segments.js';
import { ActionButton } from '../parts/action-dialog.js';
import { useAddress } from '../parts/address.js';
import { EventBadge, Sentence } from '../parts/sentence.js';
import { AccessDifference, Delta } from '../parts/changes.js';
import { Button, ButtonLink, downloadFile } from '../parts/controls.js';
import { BreakableText, Moment } from '../parts/display.js';
import { TextField, useForm } from '../parts/form.js';
import { Failure, Note } from '../parts/notice.js';
import { EmptyState, EntryPage, Fact, Page, Region } from '../parts/page.js';
import { PrincipalLink } from '../parts/combobox.js';
import { ApproveButton, CauseText, Counterexample, Findings, OutcomeBadge, UndoLink } from '../parts/publishing.js';
import { useShowMore } from '../parts/table.js';

type Publication = Schemas['PublicationResponse'];

/** The page of one version, or of the change that waits for approval: its changes, the people who gain and lose access, and the findings. */
export function PublicationPage() {
  const { version } = useParams<{ version: string }>();
  return version === 'waiting' ? <WaitingChange /> : <VersionPage key={version} version={Number(version)} />;
}

/** The number in the address of the version to compare with; undefined: the previous version is compared. */
const useComparedVersion = () => Number(useAddress().search.get('against')) || undefined;

function VersionPage({ version }: { version: number }) {
  return (
    <EntryPage title={`Version ${version}`} query={useVersion(version, useComparedVersion())}>
      {(publication) => <VersionContent publication={publication} />}
    </EntryPage>
  );
}

function VersionContent({ publication }: { publication: Publication }) {
  const { version, text } = publication;
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
          {text !== null && <Button text="rules.json" icon="download" onClick={() => downloadRules(text)} />}
          <RestoreButton version={version} />
        </>
      }
      intro={
        <>
          Published <Moment time={publication.published_at} />: <CauseText entry={publication} />.{' '}
          {publication.access !== null && (
            <>
              {changeText(publication.access)}. <UndoLink access={publication.access} fallbackHref="/grants" />
            </>
          )}
        </>
      }
    >
      <VersionFacts publication={publication} />
      <RecordedChanges publication={publication} />
      <AccessDifference access={publication.access} />
      {text !== null && <RulesDifference diff={publication.diff} />}
      <Region title="Checks" count={publication.checks.length}>
        {publication.checks.length === 0 && (
          <p className="dim">Proved complete: the rules give exactly what was granted.</p>
        )}
        <Findings findings={publication.checks} />
      </Region>
    </Page>
  );
}

function VersionFacts({ publication }: { publication: Publication }) {
  const { version, text, access, diff, rules, bytes, hash, restored, live_at: liveAt } = publication;
  const addressVersion = useComparedVersion();
  const comparedVersion = addressVersion ?? version - 1;
  const { error } = useVersion(version - 1, undefined, version > 1 && addressVersion === undefined);
  const lacksPreviousVersion = isProblem(error, 404); // the version was abandoned, or removed after the retention time
  return (
    <dl className="facts">
      <Fact name="Compared with">
        {comparedVersion === 0 ? (
          'nothing before'
        ) : lacksPreviousVersion ? (
          'the version before'
        ) : (
          <Link href={`/publications/${comparedVersion}`}>Version {comparedVersion}</Link>
        )}
      </Fact>
      <Fact name="Access">
        {access === null ? (
          'not compared'
        ) : (
          <>
            <Delta count={access.people_gaining ?? access.gained_in_all} />{' '}
            <Delta count={access.people_losing ?? access.lost_in_all} isLoss />
            <small>
              {access.people_gaining === null ? 'things' : 'people'}, {numberText(access.changed_pairs)} pairs of person
              and node
            </small>
          </>
        )}
      </Fact>
      {text !== null && (
        <Fact name="Rules">
          <Delta count={diff.added.length} /> <Delta count={diff.removed.length} isLoss />
          <small>{numberText(rules)} in all</small>
        </Fact>
      )}
      <Fact name="Size">{sizeText(bytes)}</Fact>
      <Fact name="Live">{liveAt === null ? 'not seen' : <Moment time={liveAt} />}</Fact>
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

/** Pages of the audit trail that are searched for changes of access before a button asks for more. */
const PAGES_AT_ONCE = 20;

/** The audit events that changed access since the previous version's snapshot. Without a previous version: the newest such events. */
function RecordedChanges({ publication: { version, snapshot_at: endAt } }: { publication: Publication }) {
  const { data: previousVersion, error } = useVersion(version - 1, undefined, version > 1);
  const hasNoPrevious = isProblem(error, 404);
  // A restored older text has an earlier snapshot time than the previous version, but the period must not begin after its end.
  const startAt = previousVersion && (previousVersion.snapshot_at < endAt ? previousVersion.snapshot_at : endAt);
  const readPage = async (page: PageQuery) => {
    const { items, next } = await readAuditPage({
      ...page,
      ...(startAt !== undefined && { from: startAt }),
      to: endAt,
    });
    return { items: items.filter(isAccessChange), next };
  };
  const [maxPages, setMaxPages] = useState(PAGES_AT_ONCE);
  // Without a start the period is the whole audit trail.
  const areMoreWanted = (items: readonly unknown[]): boolean => startAt !== undefined || items.length === 0;
  const list = usePages(['audit', 'before', version, startAt], readPage, {
    isEnabled: version === 1 || hasNoPrevious || startAt !== undefined,
    isReadToEnd: (items, pageCount) => pageCount < maxPages && areMoreWanted(items),
    staleTime: Infinity,
  });
  const events = list.items ?? [];
  const [shownEvents, moreButton] = useShowMore(events, 5);
  const isCut = list.hasMore && list.pageCount >= maxPages && areMoreWanted(events);
  const { error: auditError, refetch } = list.query;
  if (auditError !== null) return <Failure problem={auditError} retry={() => void refetch()} />;
  if (events.length === 0 && !isCut) return null;
  return (
    <Region title="Recorded changes" count={loadedCountText(list)} isTightStack>
      {hasNoPrevious && <p className="dim">There is no version {version - 1}: these are the newest before this one.</p>}
      <ul className="stack stack--tight">
        {shownEvents.map((event) => (
          <li key={event.id} className="row">
            <Moment time={event.at} />
            {event.actor === null ? (
              <span className="dim">the service</span>
            ) : (
              <PrincipalLink principal={{ ...event.actor, type: 'user' }} />
            )}
            <EventBadge event={event.event} />
            <span className="prose">
              <Sentence parts={eventSentence(event)} />
            </span>
          </li>
        ))}
      </ul>
      {moreButton && <p>{moreButton}</p>}
      {isCut && (
        <p>
          <Button text="Search older events" look="small" onClick={() => setMaxPages(list.pageCount + PAGES_AT_ONCE)} />
        </p>
      )}
    </Region>
  );
}

function RestoreButton({ version }: { version: number }) {
  const [{ reason, hours }, field] = useForm({ reason: '', hours: '4' });
  const [refusal, setRefusal] = useState<string | null>(null);
  const params = { path: { version } };
  const body = { reason: reason.trim(), hours: Number(hours) };
  return (
    <>
      <ActionButton
        title={`Restore version ${version}?`}
        action="Restore"
        proof="recent"
        run={() => bodyOf(api.POST('/api/admin/acl/publications/{version}/restore', { params, body }))}
        onDone={({ outcome, reasons }) => {
          setRefusal(outcome === 'refused' ? reasons.map(({ message }) => message).join(' ') : null);
          return refreshPublishing();
        }}
        button={{ icon: 'undo' }}
      >
        {(mayActNow) => (
          <div className="stack stack--tight">
            <p>
              Its rules are published at once, and stay for so long whatever is granted meanwhile. Revokes still count.
            </p>
            <RestoreEffect version={version} />
            {mayActNow && (
              <>
                <TextField label="Reason" {...field('reason')} maxLength={1000} required />
                <TextField label="Hours" type="number" min={1} max={24} {...field('hours')} required />
              </>
            )}
          </div>
        )}
      </ActionButton>
      {refusal !== null && (
        <Note icon="warn" role="alert">
          Not restored: {refusal}
        </Note>
      )}
    </>
  );
}

function RestoreEffect({ version }: { version: number }) {
  const publishedVersion = usePublishingStatus().data?.published?.version;
  const { data, error, refetch } = useVersion(version, publishedVersion, publishedVersion !== undefined);
  if (error !== null) return <Failure problem={error} retry={() => void refetch()} />;
  if (data === undefined) return <p role="status">Computing who gains and who loses</p>;
  const { access } = data;
  return (
    <>
      <p>
        <b>{access === null ? 'Nobody gains or loses anything' : changeText(access)}</b>, compared with version{' '}
        {publishedVersion}.
      </p>
      {access !== null && <AccessDifference access={access} />}
    </>
  );
}

function downloadRules(text: string): void {
  const href = URL.createObjectURL(new Blob([text], { type: 'application/json' }));
  downloadFile(href, 'rules.json');
  URL.revokeObjectURL(href);
}

function WaitingChange() {
  const status = usePublishingStatus();
  const waitingChange = status.data?.waiting_for_approval ?? null;
  const candidate = useCandidate(waitingChange?.hash);
  const preview = candidate.data;
  const checks = preview?.checks ?? [];
  return (
    <Page
      title="Change that waits"
      isBusy={status.isPending || candidate.isLoading}
      actions={waitingChange !== null && <ApproveButton hash={waitingChange.hash} effectText={null} />}
      intro={
        waitingChange !== null && (
          <>
            Change {waitingChange.hash.slice(0, 8)} waits since <Moment time={waitingChange.since} />, because no
            recorded change explains it.
          </>
        )
      }
    >
      {status.isError && <Failure problem={status.error} retry={() => void status.refetch()} />}
      {candidate.isError && <Failure problem={candidate.error} retry={() => void candidate.refetch()} />}
      {waitingChange === null && status.isSuccess && (
        <EmptyState
          title="Nothing waits for approval"
          text="It was approved, or it is no longer proposed."
          action={<ButtonLink text="Open publications" href="/publications" />}
        />
      )}
      {waitingChange !== null && preview !== undefined && (
        <>
          {preview.awaits === null && preview.would === 'refused' && (
            <Counterexample
              reasons={checks.filter(({ severity }) => severity === 'error')}
              hint="It cannot be published."
            />
          )}
          {preview.diff.access !== null && (
            <p>
              <b>{changeText(preview.diff.access)}</b>.{' '}
              <UndoLink access={preview.diff.access} fallbackHref="/publications" />
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

function RulesDifference({ diff }: { diff: Schemas['RulesDiffResponse'] }) {
  const addedRules = useMemo(() => ruleLines(diff.added, diff.removed), [diff]);
  const removedRules = useMemo(() => ruleLines(diff.removed, diff.added), [diff]);
  return (
    <>
      <ChangedRules title="Rules added" rules={addedRules} />
      <ChangedRules title="Rules removed" rules={removedRules} isRemoved />
    </>
  );
}

interface ChangedRulesProps {
  title: string;
  rules: readonly RuleLine[];
  isRemoved?: boolean;
}

function ChangedRules({ title, rules, isRemoved = false }: ChangedRulesProps) {
  const [shownRules, moreButton] = useShowMore(rules, 50);
  const ChangeElement = isRemoved ? 'del' : 'ins';
  return (
    <Region title={title} count={numberText(rules.length)}>
      {rules.length === 0 && <p className="dim">None.</p>}
      {rules.length > 0 && (
        <ol className={`diff${isRemoved ? ' diff--removed' : ''}`}>
          {shownRules.map(({ section, segments }, index) => (
            <li key={index}>
              <span aria-hidden="true">{isRemoved ? '−' : '+'}</span>
              <span>
                <BreakableText text={section} />
              </span>
              <span>
                {segments.map(({ text, isChanged }, segmentIndex) =>
                  isChanged ? (
                    <ChangeElement key={segmentIndex}>
                      <BreakableText text={text} />
                    </ChangeElement>
                  ) : (
                    <BreakableText key={segmentIndex} text={text} />
                  ),
                )}
              </span>
            </li>
          ))}
        </ol>
      )}
      {moreButton}
    </Region>
  );
}
