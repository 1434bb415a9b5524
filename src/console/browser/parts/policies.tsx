import type { ReactNode } from 'react';
import { Link, useLocation } from 'wouter';
import { api, bodyOf, type Versioned } from '../api/client.js';
import { refreshAccess, type Policy } from '../api/entries.js';
import { pathText } from '../domain/node-path.js';
import { KIND_NAMES } from '../domain/policy-form.js';
import { principalName } from '../domain/principal.js';
import { Act } from './act.js';
import { Icon } from './controls.js';
import { addressOf, Moment, Path, Principal, Privileges } from './display.js';
import { showToast } from './notice.js';
import { type Column, Listing, type Pages } from './table.js';

export const KIND_ICONS = { row_filter: 'filter', column_mask: 'mask', hidden_column: 'column', deny: 'stop' } as const;

const COLUMNS: readonly Column<Policy>[] = [
  {
    name: 'Policy',
    className: 'line',
    order: ({ id, kind }) => `${kind} ${id}`,
    cell: ({ id, kind }) => (
      <span className="row">
        <Icon name={KIND_ICONS[kind]} />
        <Link href={`/policies/${id}`}>
          {KIND_NAMES[kind]} {id}
        </Link>
      </span>
    ),
  },
  {
    name: 'Where',
    className: 'full line',
    order: ({ resource }) => pathText(resource),
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
    order: ({ principal }) => principalName(principal),
    cell: ({ principal, except }) => (
      <>
        <Principal of={principal} href={addressOf(principal)} />
        {except.length > 0 && <span className="dim"> but {except.length}</span>}
      </>
    ),
  },
  { name: 'Takes', className: 'full rest', cell: (policy) => <PolicyEffect policy={policy} /> },
  {
    name: 'Changed',
    className: 'date',
    isLabelled: true,
    order: 'changed_at',
    cell: ({ changed_at: at }) => <Moment at={at} />,
  },
];

/** Columns for the page of their principal. */
const OF_ONE = COLUMNS.filter(({ name }) => name !== 'Holder' && name !== 'Changed');

interface PolicyTableProps {
  list: Pages<Policy>;
  empty: ReactNode;
  /** All are for the same principal, whose page it is. */
  isOfOne?: boolean;
}

/** Policies: their kind, on what and for whom they are, and what they take. */
export function PolicyTable({ list, empty, isOfOne = false }: PolicyTableProps) {
  const columns = isOfOne ? OF_ONE : COLUMNS;
  return <Listing name="Policies" list={list} empty={empty} columns={columns} keyOf={({ id }) => id} />;
}

/** Characters of an expression that are shown. */
const LONGEST = 60;

/** The effect of a policy: denied privileges, or its expression or column. */
export function PolicyEffect({ policy: { expression, privileges, resource } }: { policy: Policy }) {
  const { column } = resource as { column?: string };
  if (privileges !== undefined) return <Privileges names={privileges} />;
  if (expression === undefined) return column === undefined ? null : <code>{column}</code>;
  return <code>{expression.length > LONGEST ? `${expression.slice(0, LONGEST)}…` : expression}</code>;
}

/** Deletes a policy, after a preview of the gains. */
export function DeletePolicy({ policy: { body, version } }: { policy: Versioned<Policy> }) {
  const [, go] = useLocation();
  const { id } = body;
  const params = { path: { id }, header: { 'If-Match': version } };
  return (
    <Act
      title={`Delete policy ${id}?`}
      act="Delete"
      isDanger
      preview={{ draft: { policies: { delete: [id] } }, side: 'gains' }}
      run={() => bodyOf(api.DELETE('/api/admin/policies/{id}', { params }))}
      done={() => {
        showToast({ text: `Policy ${id} is deleted. It ends with the next publication.` });
        return refreshAccess(() => go('/policies'));
      }}
      button={{ text: 'Delete…', look: 'danger quiet' }}
    />
  );
}
