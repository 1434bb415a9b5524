import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { api, bodyOf, type Schemas } from '../api/client.js';
import { type HistoryEntry, refreshPublishing, useCandidate, type Version } from '../api/publishing.js';
import { changeText, permissionOf } from '../domain/access-change.js';
import { numberText, sizeText } from '../domain/count-text.js';
import { whyAddress } from '../domain/why-address.js';
import { ActionButton, ActionDialog } from './action-dialog.js';
import { useDialogInAddress } from './address.js';
import { Delta } from './changes.js';
import { Badge, Button, ButtonLink } from './controls.js';
import { Moment } from './display.js';
import { Note, Notice, showToast } from './notice.js';
import { usePrincipalByName } from './combobox.js';
import { type Column, Listing, type PagedList } from './table.js';

type AccessChange = Schemas['AccessChangeResponse'];
type WaitingChange = NonNullable<Schemas['StatusResponse']['waiting_for_approval']>;

/** The change that waits for an approval, with its effect and the button to approve it. */
export function WaitingForApproval({ waitingChange }: { waitingChange: WaitingChange }) {
  const access = useCandidate(waitingChange.hash).data?.diff.access ?? null;
  return (
    <Notice
      tone="warn"
      icon="clock"
      title="Waiting for approval"
      isRegion
      actions={
        <>
          <ButtonLink text="See the change" look="quiet" href="/publications/waiting" />
          <ApproveButton hash={waitingChange.hash} effectText={access && changeText(access)} />
        </>
      }
    >
      <p>
        {access === null ? (
          waitingChange.reasons[0]?.message
        ) : (
          <>
            <b>{changeText(access)}</b>, and no recorded change explains it.
          </>
        )}
      </p>
      <p>
        Change {waitingChange.hash.slice(0, 8)}, since <Moment time={waitingChange.since} />.
        {access !== null && ` ${percentText(access)} of all access changes.`} Revokes go out meanwhile.
      </p>
      <p>
        <UndoLink access={access} fallbackHref="/publications/waiting" />
      </p>
    </Notice>
  );
}

function percentText({ changed_pairs: changedPairs, all_pairs: allPairs }: AccessChange): string {
  return `${((changedPairs / Math.max(allPairs, 1)) * 100).toFixed(1)} %`;
}

/** The button to approve the change with this hash, after a new proof of identity. The address contains the hash while the dialog is open. */
export function ApproveButton({ hash, effectText }: { hash: string; effectText: string | null }) {
  const { dialog: dialogHash, openDialog, close } = useDialogInAddress('approve');
  return (
    <>
      <Button text="Approve this change" look="primary" onClick={() => openDialog(hash)} />
      {dialogHash !== null && (
        <ActionDialog
          title="Approve this change?"
          action="Approve"
          proof="new"
          run={() => bodyOf(api.POST('/api/admin/acl/approvals', { body: { hash: dialogHash } }))}
          close={close}
          onDone={() => {
            showToast({ text: `Change ${dialogHash.slice(0, 8)} is approved. It is live with the next publication.` });
            return refreshPublishing();
          }}
        >
          <p>
            The next run publishes change {dialogHash.slice(0, 8)}
            {effectText !== null && dialogHash === hash && (
              <>
                : <b>{effectText}</b>
              </>
            )}
            .
          </p>
        </ActionDialog>
      )}
    </>
  );
}

/** A link to the explanation of the first loss or gain that the page *Why* can explain. If there is none: to `fallbackHref`. */
export function UndoLink({ access, fallbackHref }: { access: AccessChange | null; fallbackHref: string }) {
  const change = [...(access?.lost ?? []), ...(access?.gained ?? [])].find(({ what }) => permissionOf(what));
  const permission = permissionOf(change?.what ?? '');
  const principal = usePrincipalByName(change?.people[0]);
  const href = principal && permission && whyAddress(principal, permission.privilege, permission.node);
  return <Link href={href ?? fallbackHref}>How to undo it</Link>;
}

type Finding = Schemas['FindingResponse'];

/** The findings of a check, each with its message, its code, and the rule in which the problem was found. */
export function Findings({ findings }: { findings: readonly Finding[] }) {
  return (
    <ul className="stack stack--tight">
      {findings.map((finding) => (
        <li key={JSON.stringify(finding)} className="stack stack--tight">
          <Note icon={finding.severity === 'info' ? 'info' : 'warn'}>
            {finding.message} <small className="mono">{[finding.code, finding.rule].filter(Boolean).join(' · ')}</small>
          </Note>
          {finding.witness !== undefined && <code className="code">{finding.witness}</code>}
        </li>
      ))}
    </ul>
  );
}

/** Why a run was refused, for example an access that the rules would give although no grant gives it. */
export function Counterexample({ reasons, hint }: { reasons: readonly Finding[]; hint: string }) {
  return (
    <Notice tone="loss" icon="stop" title="Counterexample" isRegion text={hint}>
      <Findings findings={reasons} />
    </Notice>
  );
}

/** A notice that an older version of the rules is in effect instead of the current grants. */
export function RestoreInEffect({ restoredUntil }: { restoredUntil: string }) {
  return (
    <Notice
      tone="warn"
      icon="undo"
      title={
        <>
          An older version is restored until <Moment time={restoredUntil} />
        </>
      }
      actions={
        <ActionButton
          title="End the restore?"
          action="End the restore"
          proof="recent"
          run={() => bodyOf(api.DELETE('/api/admin/acl/restore'))}
          onDone={refreshPublishing}
        >
          <p>What is granted by now is published at once.</p>
        </ActionButton>
      }
    >
      <p>What is granted meanwhile is published after that.</p>
    </Notice>
  );
}

interface PublicationTableProps {
  list: PagedList<HistoryEntry>;
  liveHash: string | undefined;
  emptyState: ReactNode;
}

/** A table of versions, and of runs that published no version. */
export function PublicationTable({ list, liveHash, emptyState }: PublicationTableProps) {
  const liveEntry = list.items?.find((entry) => 'version' in entry && entry.hash === liveHash);
  const columns: readonly Column<HistoryEntry>[] = [
    {
      name: 'Version',
      sortKey: (entry) => ('version' in entry ? entry.version : null),
      cell: (entry) =>
        'version' in entry ? (
          <Link href={`/publications/${entry.version}`}>{entry.version}</Link>
        ) : (
          <Link href={`/publications?run=${entry.id}`}>Run</Link>
        ),
    },
    {
      name: 'Outcome',
      cell: (entry) =>
        'version' in entry ? (
          <OutcomeBadge version={entry} isLive={entry === liveEntry} />
        ) : (
          <Badge text={entry.outcome} tone="loss" icon="stop" />
        ),
    },
    { name: 'When', className: 'line', sortKey: 'at', cell: ({ at }) => <Moment time={at} /> },
    { name: 'Why', className: 'full rest', cell: (entry) => <CauseText entry={entry} /> },
    numberColumn('Gained', 'people_gaining', (count) => <PeopleCount count={count} verb="gain" />),
    numberColumn('Lost', 'people_losing', (count) => <PeopleCount count={count} verb="lose" isLoss />),
    numberColumn('Rules', 'rules', (count) => numberText(count ?? 0)),
    numberColumn('Size', 'bytes', (count) => sizeText(count ?? 0)),
  ];
  return (
    <Listing
      name="Publications"
      list={list}
      emptyState={emptyState}
      columns={columns}
      keyOf={(entry) => ('version' in entry ? entry.version : `run ${entry.id}`)}
    />
  );
}

function numberColumn(
  name: string,
  field: 'people_gaining' | 'people_losing' | 'rules' | 'bytes',
  renderCount: (count: number | null) => ReactNode,
): Column<HistoryEntry> {
  return {
    name,
    className: 'num',
    isLabelled: true,
    sortKey: (entry) => ('version' in entry ? entry[field] : null),
    cell: (entry) => 'version' in entry && renderCount(entry[field]),
  };
}

function PeopleCount({ count, verb, isLoss = false }: { count: number | null; verb: string; isLoss?: boolean }) {
  if (count === null) return <span className="dim">not compared</span>;
  return (
    <Delta count={count} isLoss={isLoss}>
      <span className="hidden"> {verb}</span>
    </Delta>
  );
}

export function OutcomeBadge({ version, isLive }: { version: Version; isLive: boolean }) {
  if (isLive) return <Badge text="live" tone="gain" icon="check" />;
  if (version.broken_at !== null) return <Badge text="failed on the engine" tone="loss" icon="warn" />;
  if (version.is_found) return <Badge text="found" />;
  return (
    <Badge text={version.is_withdrawal ? 'revokes alone' : version.restored !== null ? 'restored' : 'published'} />
  );
}

const TRIGGER_TEXTS: Record<Version['trigger'], string> = {
  schedule: 'schedule',
  change: 'change',
  expiry: 'expiry of a grant',
  route: 'on request',
  cli: 'by the command line',
  restore: 'restore',
  rollback: 'rollback: the engine failed on the version before',
};

type Cause = Pick<HistoryEntry, 'trigger' | 'triggered_by'>;

export function CauseText({ entry: { trigger, triggered_by: triggeredBy } }: { entry: Cause }) {
  return (
    <>
      {TRIGGER_TEXTS[trigger]}
      {triggeredBy !== null && <span className="dim"> by {triggeredBy.name}</span>}
    </>
  );
}
