import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { Entry, Run, Version } from '../api/publishing.js';
import { numberText, sizeText } from '../domain/count-text.js';
import { Change } from './change.js';
import { Icon } from './icon.js';
import { Listing, type Pages } from './listing.js';
import { Moment } from './moment.js';
import { Cell } from './table.js';

const COLUMNS = [
  { name: 'Version' },
  { name: 'Outcome' },
  { name: 'When' },
  { name: 'Why' },
  { name: 'Gained', isNumber: true },
  { name: 'Lost', isNumber: true },
  { name: 'Rules', isNumber: true },
  { name: 'Size', isNumber: true },
];

interface PublicationTableProps {
  list: Pages<Entry>;
  liveHash: string | undefined;
  empty: ReactNode;
}

/** Versions, and the runs among them that published none. */
export function PublicationTable({ list, liveHash, empty }: PublicationTableProps) {
  const live = list.items?.find((entry): entry is Version => 'version' in entry && entry.hash === liveHash)?.version;
  return (
    <Listing
      name="Publications"
      list={list}
      empty={empty}
      columns={COLUMNS}
      keyOf={(entry) => ('version' in entry ? entry.version : `run ${entry.id}`)}
      cells={(entry) =>
        'id' in entry ? <RunCells run={entry} /> : <VersionCells version={entry} isLive={entry.version === live} />
      }
    />
  );
}

function VersionCells({ version: entry, isLive }: { version: Version; isLive: boolean }) {
  return (
    <>
      <Cell>
        <Link href={`/publications/${entry.version}`}>{entry.version}</Link>
      </Cell>
      <Cell>
        <OutcomeBadge version={entry} isLive={isLive} />
      </Cell>
      <Cell>
        <Moment at={entry.at} />
      </Cell>
      <Cell className="full">
        <Cause of={entry} />
      </Cell>
      <Cell className="num" data-label="Gained">
        <Difference count={entry.people_gaining} word="gain" />
      </Cell>
      <Cell className="num" data-label="Lost">
        <Difference count={entry.people_losing} word="lose" isLoss />
      </Cell>
      <Cell className="num" data-label="Rules">
        {numberText(entry.rules)}
      </Cell>
      <Cell className="num" data-label="Size">
        {sizeText(entry.bytes)}
      </Cell>
    </>
  );
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

/** What became of a version. */
export function OutcomeBadge({ version, isLive }: { version: Version; isLive: boolean }) {
  if (isLive) {
    return (
      <span className="badge badge--gain">
        <Icon name="check" />
        live
      </span>
    );
  }
  if (version.broken_at !== null) {
    return (
      <span className="badge badge--loss">
        <Icon name="warn" />
        failed on the engine
      </span>
    );
  }
  const text = version.is_withdrawal ? 'revokes alone' : version.restored !== null ? 'restored' : 'published';
  return <span className="badge">{version.is_found ? 'found' : text}</span>;
}

function RunCells({ run }: { run: Run }) {
  return (
    <>
      <Cell>
        <Link href={`/publications?run=${run.id}`}>Run</Link>
      </Cell>
      <Cell>
        <span className="badge badge--loss">
          <Icon name="stop" />
          {run.outcome}
        </span>
      </Cell>
      <Cell>
        <Moment at={run.at} />
      </Cell>
      <Cell className="full">
        <Cause of={run} />
      </Cell>
      <Cell className="num" />
      <Cell className="num" />
      <Cell className="num" />
      <Cell className="num" />
    </>
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

/** Who or what caused it. */
export function Cause({ of: { trigger, triggered_by: by } }: { of: Pick<Entry, 'trigger' | 'triggered_by'> }) {
  return (
    <>
      {TRIGGERS[trigger]}
      {by !== null && <span className="dim"> by {by.name}</span>}
    </>
  );
}
