import { type ReactNode, useState } from 'react';
import { Link, useLocation } from 'wouter';
import { accessChanged, type Policy } from '../api/entries.js';
import { KIND_NAMES } from '../domain/policy-form.js';
import { Privileges } from './access.js';
import { Icon } from './icon.js';
import { Listing, type Pages } from './listing.js';
import { Moment } from './moment.js';
import { Path } from './path.js';
import { addressOf, Principal } from './principal.js';
import { Cell } from './table.js';
import { api, bodyOf } from '../api/client.js';
import { PreviewDialog } from './preview-dialog.js';
import { toast } from './toast.js';

export const KIND_ICONS = { row_filter: 'filter', column_mask: 'mask', hidden_column: 'column', deny: 'stop' } as const;

const COLUMNS = ['Policy', 'Where', 'Holder', 'Takes', 'Changed'].map((name) => ({ name }));

/** Policies: their kind, on what and for whom they are, and what they take. */
export function PolicyTable({ list, empty }: { list: Pages<Policy>; empty: ReactNode }) {
  return (
    <Listing
      name="Policies"
      list={list}
      empty={empty}
      columns={COLUMNS}
      keyOf={({ id }) => id}
      cells={(policy) => <PolicyCells policy={policy} />}
    />
  );
}

function PolicyCells({ policy }: { policy: Policy }) {
  const { id, kind, principal, except, resource, changed_at: at } = policy;
  const { column } = resource as { column?: string };
  return (
    <>
      <Cell>
        <span className="row">
          <Icon name={KIND_ICONS[kind]} />
          <Link href={`/policies/${id}`}>
            {KIND_NAMES[kind]} {id}
          </Link>
        </span>
      </Cell>
      <Cell className="full">
        {column !== undefined && (
          <>
            <span className="path">
              <b>{column}</b>
            </span>{' '}
            <span className="dim">in</span>{' '}
          </>
        )}
        <Path node={resource} />
      </Cell>
      <Cell>
        <Principal of={principal} href={addressOf(principal)} />
        {except.length > 0 && <span className="dim"> but {except.length}</span>}
      </Cell>
      <Cell className="full">
        <PolicyEffect policy={policy} />
      </Cell>
      <Cell className="date" data-label="Changed">
        <Moment at={at} />
      </Cell>
    </>
  );
}

/** As much of an expression as a row has room for. */
const LONGEST = 60;

/** What a policy takes: what it denies, or what rows and columns become. */
export function PolicyEffect({ policy: { expression, privileges, resource } }: { policy: Policy }) {
  const { column } = resource as { column?: string };
  if (privileges !== undefined) return <Privileges names={privileges} />;
  if (expression === undefined) return column === undefined ? null : <code>{column}</code>;
  return <code>{expression.length > LONGEST ? `${expression.slice(0, LONGEST)}…` : expression}</code>;
}

/** Deletes a policy, after it was shown who gains what. */
export function DeletePolicy({ policy: { body, version } }: { policy: { body: Policy; version: string } }) {
  const [isOpen, setOpen] = useState(false);
  const [, go] = useLocation();
  const { id } = body;
  const params = { path: { id }, header: { 'If-Match': version } };
  return (
    <>
      <button className="button button--danger button--quiet" type="button" onClick={() => setOpen(true)}>
        Delete…
      </button>
      {isOpen && (
        <PreviewDialog
          title={`Delete policy ${id}?`}
          act={['Delete', 'Deleting…']}
          draft={{ policies: { delete: [id] } }}
          side="gains"
          run={() => bodyOf(api.DELETE('/api/admin/policies/{id}', { params }))}
          done={() => {
            toast({ text: `Policy ${id} is deleted. It ends with the next publication.` });
            return accessChanged(() => go('/policies'));
          }}
          close={() => setOpen(false)}
        />
      )}
    </>
  );
}
