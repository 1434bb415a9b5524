import { type ReactNode, useId, useState } from 'react';
import { Link } from 'wouter';
import type { Schemas } from '../api/client.js';
import {
  approve,
  endRestore,
  type Entry,
  restore,
  useCandidate,
  usePublishingStatus,
  useVersion,
  type Version,
} from '../api/publishing.js';
import { changeText, permissionOf } from '../domain/access-change.js';
import { numberText, sizeText } from '../domain/count-text.js';
import { whyOfChange } from '../domain/why-address.js';
import { Act, DialogAct } from './act.js';
import { useAsked } from './address.js';
import { AccessDifference, Change } from './changes.js';
import { Badge, Button, ButtonLink, Icon } from './controls.js';
import { Moment } from './display.js';
import { TextField, useForm } from './form.js';
import { Note, Notice, showToast } from './notice.js';
import { useNamed } from './principal-combobox.js';
import { type Column, Listing, type Pages } from './table.js';

type Access = Schemas['AccessChangeResponse'];
type Waiting = NonNullable<Schemas['StatusResponse']['waiting_for_approval']>;

/** A change that no recorded change explains: its effect, and its approval. */
export function WaitingForApproval({ waiting }: { waiting: Waiting }) {
  const access = useCandidate(waiting.hash).data?.diff.access ?? null;
  return (
    <section className="notice notice--warn" aria-labelledby="waiting">
      <Icon name="clock" />
      <div>
        <h2 id="waiting">Waiting for approval</h2>
        <p>
          {access === null ? (
            waiting.reasons[0]?.message
          ) : (
            <>
              <b>{changeText(access)}</b>, and no recorded change explains it.
            </>
          )}
        </p>
        <p>
          Text {waiting.hash.slice(0, 8)}, since <Moment at={waiting.since} />.
          {access !== null && ` ${percentText(access)} of all access changes.`} Revokes go out meanwhile.
        </p>
        <p>
          <UndoLink of={access} otherwise="/publications/waiting" />
        </p>
      </div>
      <div className="row">
        <ButtonLink text="See the change" look="quiet" href="/publications/waiting" />
        <Approve hash={waiting.hash} follows={access && changeText(access)} />
      </div>
    </section>
  );
}

function percentText({ changed_pairs: changed, all_pairs: all }: Access): string {
  return `${((changed / Math.max(all, 1)) * 100).toFixed(1)} %`;
}

/** Approves the text of a hash, after a new confirmation; the address contains the hash while the dialog is open. */
export function Approve({ hash, follows }: { hash: string; follows: string | null }) {
  const { asked, ask, close } = useAsked('approve');
  return (
    <>
      <Button text="Approve this change" look="primary" onClick={() => ask(hash)} />
      {asked !== null && (
        <DialogAct
          title="Approve this change?"
          act="Approve"
          asks="proof"
          run={() => approve(asked)}
          close={close}
          done={() =>
            showToast({ text: `Text ${asked.slice(0, 8)} is approved. It is live with the next publication.` })
          }
        >
          <p>
            The next run publishes text {asked.slice(0, 8)}
            {follows !== null && asked === hash && (
              <>
                : <b>{follows}</b>
              </>
            )}
            .
          </p>
        </DialogAct>
      )}
    </>
  );
}

/** A link to *Why* about the first loss, or else the first gain; to `otherwise` if *Why* can explain none of them. */
export function UndoLink({ of, otherwise }: { of: Access | null; otherwise: string }) {
  const { what = '', people = [] } =
    [...(of?.lost ?? []), ...(of?.gained ?? [])].find(({ what: each }) => permissionOf(each)) ?? {};
  const principal = useNamed(people[0]);
  return <Link href={(principal && whyOfChange(what, principal)) ?? otherwise}>How to undo it</Link>;
}

type Finding = Schemas['FindingResponse'];

/** Findings of a check: the text, the place in the rules, and the rule. */
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

/** Why a run was refused: an access that the rules would give and should not, or the reverse. */
export function Counterexample({ reasons, hint }: { reasons: readonly Finding[]; hint: string }) {
  const id = useId();
  return (
    <section className="notice notice--loss" aria-labelledby={id}>
      <Icon name="stop" />
      <div className="stack stack--tight">
        <div>
          <h2 id={id}>Counterexample</h2>
          <p>{hint}</p>
        </div>
        <Findings findings={reasons} />
      </div>
    </section>
  );
}

const LONGEST_HOURS = 24;

/** Publishes an older version again, for some hours. */
export function Restore({ version }: { version: number }) {
  const [{ reason, hours }, field] = useForm({ reason: '', hours: '4' });
  const [refusal, setRefusal] = useState<string | null>(null);
  return (
    <>
      <Act
        title={`Restore version ${version}?`}
        act="Restore"
        asks="recent proof"
        run={() => restore(version, reason.trim(), Number(hours))}
        done={({ outcome, reasons }) =>
          setRefusal(outcome === 'refused' ? reasons.map(({ message }) => message).join(' ') : null)
        }
        button={{ icon: 'undo' }}
      >
        {(isHere) => (
          <div className="stack stack--tight">
            <p>
              Its rules are published at once, and stay for so long whatever is granted meanwhile. Revokes still count.
            </p>
            <RestoreEffect version={version} />
            {isHere && (
              <>
                <TextField label="Reason" {...field('reason')} maxLength={1000} required />
                <TextField label="Hours" type="number" min={1} max={LONGEST_HOURS} {...field('hours')} required />
              </>
            )}
          </div>
        )}
      </Act>
      {refusal !== null && (
        <Note icon="warn" role="alert">
          Not restored: {refusal}
        </Note>
      )}
    </>
  );
}

/** What a version would give and take, compared with the published one. */
function RestoreEffect({ version }: { version: number }) {
  const against = usePublishingStatus().data?.published?.version;
  const { data } = useVersion(version, against, against !== undefined);
  if (data === undefined) return <p role="status">Computing who gains and who loses</p>;
  const { access } = data;
  return (
    <>
      <p>
        <b>{access === null ? 'Nobody gains or loses anything' : changeText(access)}</b>, compared with version{' '}
        {against}.
      </p>
      {access !== null && <AccessDifference access={access} />}
    </>
  );
}

/** A notice that an older version is published instead of the current grants. */
export function RestoreInEffect({ until }: { until: string }) {
  return (
    <Notice
      tone="warn"
      icon="undo"
      title={
        <>
          An older version is restored until <Moment at={until} />
        </>
      }
      actions={
        <Act title="End the restore?" act="End the restore" asks="recent proof" run={endRestore}>
          <p>What is granted by now is published at once.</p>
        </Act>
      }
    >
      <p>What is granted meanwhile is published after that.</p>
    </Notice>
  );
}

interface PublicationTableProps {
  list: Pages<Entry>;
  liveHash: string | undefined;
  empty: ReactNode;
}

/** Versions, and the runs among them that published none. */
export function PublicationTable({ list, liveHash, empty }: PublicationTableProps) {
  const live = list.items?.find((entry) => 'version' in entry && entry.hash === liveHash);
  const columns: readonly Column<Entry>[] = [
    {
      name: 'Version',
      order: (entry) => ('version' in entry ? entry.version : null),
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
          <OutcomeBadge version={entry} isLive={entry === live} />
        ) : (
          <Badge text={entry.outcome} tone="loss" icon="stop" />
        ),
    },
    { name: 'When', className: 'line', order: 'at', cell: ({ at }) => <Moment at={at} /> },
    { name: 'Why', className: 'full rest', cell: (entry) => <Cause of={entry} /> },
    numberColumn('Gained', 'people_gaining', (count) => <Difference count={count} word="gain" />),
    numberColumn('Lost', 'people_losing', (count) => <Difference count={count} word="lose" isLoss />),
    numberColumn('Rules', 'rules', (count) => numberText(count ?? 0)),
    numberColumn('Size', 'bytes', (count) => sizeText(count ?? 0)),
  ];
  return (
    <Listing
      name="Publications"
      list={list}
      empty={empty}
      columns={columns}
      keyOf={(entry) => ('version' in entry ? entry.version : `run ${entry.id}`)}
    />
  );
}

/** Figures of versions; empty for runs without one. */
function numberColumn(
  name: string,
  field: 'people_gaining' | 'people_losing' | 'rules' | 'bytes',
  show: (count: number | null) => ReactNode,
): Column<Entry> {
  return {
    name,
    className: 'num',
    isLabelled: true,
    order: (entry) => ('version' in entry ? entry[field] : null),
    cell: (entry) => 'version' in entry && show(entry[field]),
  };
}

function Difference({ count, word, isLoss = false }: { count: number | null; word: string; isLoss?: boolean }) {
  if (count === null) return <span className="dim">not compared</span>;
  return (
    <Change count={count} isLoss={isLoss}>
      <span className="hidden"> {word}</span>
    </Change>
  );
}

/** The state of a version. */
export function OutcomeBadge({ version, isLive }: { version: Version; isLive: boolean }) {
  if (isLive) return <Badge text="live" tone="gain" icon="check" />;
  if (version.broken_at !== null) return <Badge text="failed on the engine" tone="loss" icon="warn" />;
  if (version.is_found) return <Badge text="found" />;
  return (
    <Badge text={version.is_withdrawal ? 'revokes alone' : version.restored !== null ? 'restored' : 'published'} />
  );
}

const TRIGGERS: Record<Version['trigger'], string> = {
  schedule: 'schedule',
  change: 'change',
  expiry: 'expiry of a grant',
  route: 'on request',
  cli: 'by the command line',
  restore: 'restore',
  rollback: 'rollback: the engine failed on the version before',
};

/** The cause of a publication. */
export function Cause({ of: { trigger, triggered_by: by } }: { of: Pick<Entry, 'trigger' | 'triggered_by'> }) {
  return (
    <>
      {TRIGGERS[trigger]}
      {by !== null && <span className="dim"> by {by.name}</span>}
    </>
  );
}
