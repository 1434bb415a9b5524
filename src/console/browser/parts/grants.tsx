import { lazy, type ReactNode, Suspense, useState } from 'react';
import { Link } from 'wouter';
import { accessChanged, type Grant } from '../api/entries.js';
import { daysUntil } from '../domain/moment-text.js';
import { now } from '../now.js';
import { Privileges } from './access.js';
import { Icon } from './icon.js';
import { Listing, type Pages } from './listing.js';
import { Moment } from './moment.js';
import { Path } from './path.js';
import { addressOf, Principal } from './principal.js';
import { Cell } from './table.js';
import { api, bodyOf } from '../api/client.js';
import { pathText } from '../domain/node-path.js';
import { toast } from './toast.js';

/** Begins a grant. @param query what its form holds at first */
export function NewGrant({ isPrimary = false, query = '' }: { isPrimary?: boolean; query?: string }) {
  return (
    <Link className={isPrimary ? 'button button--primary' : 'button'} href={`/grants/new${query}`}>
      <Icon name="plus" />
      New grant
    </Link>
  );
}

const COLUMNS = [
  { name: 'Holder' },
  { name: 'May' },
  { name: 'Where' },
  { name: 'Given' },
  { name: 'Until' },
  { name: 'Action', isHidden: true },
];

interface GrantTableProps {
  name: string;
  list: Pages<Grant>;
  empty: ReactNode;
  /** Of rights whose node says little: what they reach, under a head of its own. */
  reach?: (grant: Grant) => ReactNode;
  /** All are of one holder, whose page it is. */
  isOfOne?: boolean;
}

/** Grants: to whom, what, on what, by whom, what for and until when; and how to take one back. */
export function GrantTable({ name, list, empty, reach, isOfOne = false }: GrantTableProps) {
  const columns = COLUMNS.map((column) =>
    reach !== undefined && column.name === 'Where' ? { name: 'What it reaches' } : column,
  );
  return (
    <Listing
      name={name}
      list={list}
      empty={empty}
      columns={isOfOne ? columns.slice(1) : columns}
      keyOf={({ id }) => id}
      cells={(grant) => (
        <>
          {!isOfOne && (
            <Cell className="holder">
              <Principal of={grant.principal} href={addressOf(grant.principal)} />
            </Cell>
          )}
          <Cell className="may">
            <Privileges names={grant.privileges} />
          </Cell>
          <Cell className="full">{reach?.(grant) ?? <Path node={grant.resource} />}</Cell>
          <Cell>
            <Moment at={grant.granted_at} />{' '}
            <span className="dim">by {grant.granted_by?.name ?? 'the command line'}</span>
            {grant.description !== null && <p className="prose dim">{grant.description}</p>}
          </Cell>
          <Cell className="nowrap" data-label="Until">
            <Until at={grant.expires_at} />
          </Cell>
          <Cell className="num">
            {grant.state === 'live' ? <Revoke grant={grant} /> : <span className="badge">{grant.state}</span>}
          </Cell>
        </>
      )}
    />
  );
}

/** When a grant ends; amber in its last week. */
export function Until({ at }: { at: string | null }) {
  if (at === null) return <span className="hidden">no end</span>;
  if (daysUntil(new Date(at), now()) >= 7) return <Moment at={at} />;
  return (
    <span className="badge badge--warn">
      <Icon name="clock" />
      <Moment at={at} />
    </span>
  );
}

// Every table of grants has the button, and few press it.
const PreviewDialog = lazy(() =>
  import('./preview-dialog.js').then(({ PreviewDialog: dialog }) => ({ default: dialog })),
);

/** Takes a grant back, after it was shown who loses what. */
function Revoke({ grant: { id, privileges, resource } }: { grant: Grant }) {
  const [isOpen, setOpen] = useState(false);
  const close = (): void => setOpen(false);
  return (
    <>
      <button
        className="button button--small button--quiet"
        type="button"
        onClick={() => setOpen(true)}
        aria-describedby={`grant-${id}`}
      >
        Revoke
      </button>
      <span className="hidden" id={`grant-${id}`}>
        grant {id}
      </span>
      {isOpen && (
        <Suspense>
          <PreviewDialog
            title={`Revoke grant ${id}?`}
            act={['Revoke', 'Revoking…']}
            draft={{ revoke: [id] }}
            side="loses"
            run={() => bodyOf(api.DELETE('/api/admin/grants/{id}', { params: { path: { id } } }))}
            done={() => {
              toast({ text: `Grant ${id} is revoked. It ends with the next publication.` });
              return accessChanged(close);
            }}
            close={close}
          >
            <p>
              {privileges.join(', ')} on {pathText(resource)}. The grant stays in the history.
            </p>
          </PreviewDialog>
        </Suspense>
      )}
    </>
  );
}
