import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useId, useState } from 'react';
import { Link } from 'wouter';
import { api, bodyOf, type Schemas } from '../api/client.js';
import { approve, endRestore, type Entry, restore, useCandidate, type Version } from '../api/publishing.js';
import { countText, numberText, peopleText, sizeText } from '../domain/count-text.js';
import { whyLost } from '../domain/why-address.js';
import { Act, DialogAct } from './act.js';
import { useAsked } from './address.js';
import { Change } from './changes.js';
import { Badge, Button, ButtonLink, Icon } from './controls.js';
import { Moment } from './display.js';
import { TextField, useForm } from './form.js';
import { Note, Notice } from './notice.js';
import { type Column, Listing, type Pages } from './table.js';

type Waiting = NonNullable<Schemas['StatusResponse']['waiting_for_approval']>;

/** A change that no recorded change explains: its effect, and its approval. */
export function WaitingForApproval({ waiting, version }: { waiting: Waiting; version: number | undefined }) {
  const candidate = useCandidate(waiting.hash).data;
  const access = candidate?.diff.access;
  return (
    <section className="notice notice--warn" aria-labelledby="waiting">
      <Icon name="clock" />
      <div>
        <h2 id="waiting">Waiting for approval</h2>
        <p>
          {access !== undefined && access !== null ? (
            <>
              <b>{changeText(access)}</b>, and no recorded change explains it.
            </>
          ) : (
            waiting.reasons[0]?.message
          )}
        </p>
        <p>
          Text {waiting.hash.slice(0, 8)}, since <Moment at={waiting.since} />. Revokes go out meanwhile.
        </p>
        <p>
          <UndoLink lost={access?.lost[0]} version={version} />
        </p>
      </div>
      <div className="row">
        <ButtonLink text="See the change" look="quiet" href="/publications/waiting" />
        <Approve hash={waiting.hash} follows={access === undefined || access === null ? null : changeText(access)} />
      </div>
    </section>
  );
}

/** Approves the text of a hash, after a new confirmation; the hash of the question stands in the address. */
export function Approve({ hash, follows }: { hash: string; follows: string | null }) {
  const { asked, ask, close } = useAsked('approve');
  return (
    <>
      <Button text="Approve this change" look="primary" onClick={() => ask(hash)} />
      {asked !== null && (
        <DialogAct title="Approve this change?" act="Approve" asks="proof" run={() => approve(asked)} close={close}>
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

function changeText({ people_gaining, people_losing, changed_pairs: pairs }: Schemas['AccessChangeResponse']): string {
  const [gaining, losing] = [people_gaining ?? 0, people_losing ?? 0];
  const parts = [
    ...(losing > 0 ? [`${peopleText(losing)} lose${losing === 1 ? 's' : ''} access`] : []),
    ...(gaining > 0 ? [`${peopleText(gaining)} gain${gaining === 1 ? 's' : ''} access`] : []),
  ];
  return parts.length === 0 ? 'Nothing changes' : `${parts.join(', ')}: ${countText(pairs, 'pair')} of person and node`;
}

interface UndoLinkProps {
  lost: Schemas['ChangedAccessResponse'] | undefined;
  version: number | undefined;
}

/** A link to *Why* about the first loss, which names the change that would reverse it. */
function UndoLink({ lost, version }: UndoLinkProps) {
  const name = lost?.people[0];
  const { data } = useQuery({
    queryKey: ['people', 'named', name],
    enabled: name !== undefined,
    queryFn: () => bodyOf(api.GET('/api/admin/users', { params: { query: { q: name ?? '', limit: 50 } } })),
  });
  const person = data?.items.find(({ username }) => username === name);
  const principal = person === undefined ? { type: 'engine', name: name ?? '' } : { type: 'user', id: person.id };
  const why = lost === undefined || data === undefined ? null : whyLost(lost.what, principal);
  return (
    <Link href={why ?? (version === undefined ? '/publications' : `/publications/${version}`)}>How to undo it</Link>
  );
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

/** Tells that an older version is published instead of the current grants. */
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
    { name: 'When', cell: ({ at }) => <Moment at={at} /> },
    { name: 'Why', className: 'full', cell: (entry) => <Cause of={entry} /> },
    numberColumn('Gained', ({ people_gaining: count }) => <Difference count={count} word="gain" />),
    numberColumn('Lost', ({ people_losing: count }) => <Difference count={count} word="lose" isLoss />),
    numberColumn('Rules', ({ rules }) => numberText(rules)),
    numberColumn('Size', ({ bytes }) => sizeText(bytes)),
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
function numberColumn(name: string, cell: (version: Version) => ReactNode): Column<Entry> {
  return { name, className: 'num', isLabelled: true, cell: (entry) => 'version' in entry && cell(entry) };
}

function Difference({ count, word, isLoss = false }: { count: number | null; word: string; isLoss?: boolean }) {
  if (count === null) return <span className="dim">not compared</span>;
  if (count === 0) return <span className="dim">0</span>;
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
