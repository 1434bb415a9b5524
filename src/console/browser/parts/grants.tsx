import type { ReactNode } from 'react';
import { api, bodyOf } from '../api/client.js';
import { refreshAccess, type Grant } from '../api/entries.js';
import { daysUntil } from '../domain/moment-text.js';
import { pathText } from '../domain/node-path.js';
import { principalName } from '../domain/principal.js';
import { now } from '../now.js';
import { Act } from './act.js';
import { Badge, ButtonLink } from './controls.js';
import { addressOf, Moment, Path, Principal, Privileges } from './display.js';
import { showToast } from './notice.js';
import { type Column, Listing, type Pages } from './table.js';

/** Begins a grant. @param props.query what its form holds at first */
export function NewGrant({ isPrimary = false, query = '' }: { isPrimary?: boolean; query?: string }) {
  return <ButtonLink text="New grant" look={isPrimary ? 'primary' : ''} icon="plus" href={`/grants/new${query}`} />;
}

const HOLDER: Column<Grant> = {
  name: 'Holder',
  className: 'holder',
  order: ({ principal }) => principalName(principal),
  cell: ({ principal }) => <Principal of={principal} href={addressOf(principal)} />,
};
const MAY: Column<Grant> = {
  name: 'May',
  className: 'may',
  cell: ({ privileges }) => <Privileges names={privileges} />,
};
const WHERE: Column<Grant> = {
  name: 'Where',
  className: 'full',
  order: ({ resource }) => pathText(resource),
  cell: ({ resource }) => <Path node={resource} />,
};
const REST: readonly Column<Grant>[] = [
  {
    name: 'Given',
    className: 'rest',
    order: 'granted_at',
    cell: ({ granted_at: at, granted_by: by, description }) => (
      <>
        <Moment at={at} /> <span className="dim">by {by?.name ?? 'the command line'}</span>
        {description !== null && <span className="dim">: {description}</span>}
      </>
    ),
  },
  {
    name: 'Until',
    className: 'line',
    isLabelled: true,
    order: 'expires_at',
    cell: ({ expires_at: at }) => <ExpiryText at={at} />,
  },
  {
    name: 'Action',
    className: 'num',
    isHidden: true,
    cell: (grant) => (grant.state === 'live' ? <Revoke grant={grant} /> : <Badge text={grant.state} />),
  },
];

interface GrantTableProps {
  name: string;
  list: Pages<Grant>;
  empty: ReactNode;
  /** Shows what a grant reaches, instead of its node. */
  reach?: (grant: Grant) => ReactNode;
  /** All have the same holder, whose page it is. */
  isOfOne?: boolean;
}

/** Grants: to whom, what, on what, by whom, what for and until when; and how to take one back. */
export function GrantTable({ name, list, empty, reach, isOfOne = false }: GrantTableProps) {
  const where = reach === undefined ? WHERE : { ...WHERE, name: 'What it reaches', cell: reach };
  const columns = isOfOne ? [{ ...where, className: '' }, MAY, ...REST] : [HOLDER, MAY, where, ...REST];
  return <Listing name={name} list={list} empty={empty} columns={columns} keyOf={({ id }) => id} />;
}

/** When a grant ends; amber in its last week. */
export function ExpiryText({ at }: { at: string | null }) {
  if (at === null) return <span className="hidden">no end</span>;
  if (daysUntil(new Date(at), now()) >= 7) return <Moment at={at} />;
  return <Badge tone="warn" icon="clock" text={<Moment at={at} />} />;
}

/** Revokes a grant, after a preview of the losses. */
function Revoke({ grant: { id, privileges, resource } }: { grant: Grant }) {
  return (
    <>
      <Act
        title={`Revoke grant ${id}?`}
        act="Revoke"
        slug={`revoke-${id}`}
        isDanger
        preview={{ draft: { revoke: [id] }, side: 'loses' }}
        run={() => bodyOf(api.DELETE('/api/admin/grants/{id}', { params: { path: { id } } }))}
        done={() => {
          showToast({ text: `Grant ${id} is revoked. It ends with the next publication.` });
          return refreshAccess();
        }}
        button={{ look: 'small quiet', 'aria-describedby': `grant-${id}` }}
      >
        <p>
          {privileges.join(', ')} on {pathText(resource)}. The grant stays in the history.
        </p>
      </Act>
      <span className="hidden" id={`grant-${id}`}>
        grant {id}
      </span>
    </>
  );
}
