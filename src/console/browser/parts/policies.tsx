import type { ReactNode } from 'react';
import { Link, useLocation } from 'wouter';
import { api, bodyOf, type VersionedBody } from '../api/client.js';
import { refreshAccess, type Policy } from '../api/entries.js';
import { pathText } from '../domain/node-path.js';
import { POLICY_KIND_NAMES } from '../domain/policy-form.js';
import { principalName } from '../domain/principal.js';
import { ActionButton } from './action-dialog.js';
import { Icon } from './controls.js';
import { addressOf, Path, Principal, Privileges } from './display.js';
import { showToast } from './notice.js';
import { type Column, Listing, momentColumn, type PagedList } from './table.js';

export const KIND_ICONS = { row_filter: 'filter', column_mask: 'mask', hidden_column: 'column', deny: 'stop' } as const;

const COLUMNS: readonly Column<Policy>[] = [
  {
    name: 'Policy',
    className: 'line',
    sortKey: ({ id, kind }) => `${kind} ${id}`,
    cell: ({ id, kind }) => (
      <span className="row">
        <Icon name={KIND_ICONS[kind]} />
        <Link href={`/policies/${id}`}>
          {POLICY_KIND_NAMES[kind]} {id}
        </Link>
      </span>
    ),
  },
  {
    name: 'Where',
    className: 'full line',
    sortKey: ({ resource }) => pathText(resource),
    cell: ({ resource }) => (
      <>
        {'column' in resource && (
          <>
            <span className="path">
              <b>{resource.column}</b>
            </span>{' '}
            <span className="dim">in</span>{' '}
          </>
        )}
        <Path node={resource} />
      </>
    ),
  },
  {
    name: 'Holder',
    className: 'line',
    sortKey: ({ principal }) => principalName(principal),
    cell: ({ principal, except }) => (
      <>
        <Principal principal={principal} href={addressOf(principal)} />
        {except.length > 0 && <span className="dim"> but {except.length}</span>}
      </>
    ),
  },
  { name: 'Takes', className: 'full rest', cell: (policy) => <PolicyEffect policy={policy} /> },
  momentColumn('Changed', 'changed_at'),
];

const PRINCIPAL_PAGE_COLUMNS = COLUMNS.filter(({ name }) => name !== 'Holder' && name !== 'Changed');

interface PolicyTableProps {
  list: PagedList<Policy>;
  emptyState: ReactNode;
  isOfOneHolder?: boolean;
}

export function PolicyTable({ list, emptyState, isOfOneHolder = false }: PolicyTableProps) {
  const columns = isOfOneHolder ? PRINCIPAL_PAGE_COLUMNS : COLUMNS;
  return <Listing name="Policies" list={list} emptyState={emptyState} columns={columns} keyOf={({ id }) => id} />;
}

const MAX_SHOWN_LENGTH = 60;

export function PolicyEffect({ policy: { expression, privileges, resource } }: { policy: Policy }) {
  const { column } = resource as { column?: string };
  if (privileges !== undefined) return <Privileges names={privileges} />;
  if (expression === undefined) return column === undefined ? null : <code>{column}</code>;
  return <code>{expression.length > MAX_SHOWN_LENGTH ? `${expression.slice(0, MAX_SHOWN_LENGTH)}…` : expression}</code>;
}

export function DeletePolicyButton({ policy: { body, version } }: { policy: VersionedBody<Policy> }) {
  const [, navigate] = useLocation();
  const { id } = body;
  const params = { path: { id }, header: { 'If-Match': version } };
  return (
    <ActionButton
      title={`Delete policy ${id}?`}
      action="Delete"
      isDanger
      preview={{ draft: { policies: { delete: [id] } }, direction: 'gains' }}
      run={() => bodyOf(api.DELETE('/api/admin/policies/{id}', { params }))}
      onDone={() => {
        showToast({ text: `Policy ${id} is deleted. It ends with the next publication.` });
        return refreshAccess(() => navigate('/policies'));
      }}
      button={{ text: 'Delete…', look: 'danger quiet' }}
    />
  );
}
