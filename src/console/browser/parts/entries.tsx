import type { ReactNode } from 'react';
import { Link, useLocation } from 'wouter';
import { api, bodyOf, type VersionedBody } from '../api/client.js';
import { type Grant, type Policy, refreshAccess } from '../api/entries.js';
import { daysUntil } from '../domain/moment-text.js';
import { pathText } from '../domain/node-path.js';
import { POLICY_KIND_NAMES } from '../domain/policy-form.js';
import { principalName } from '../domain/principal.js';
import { now } from '../now.js';
import { ActionButton } from './action-dialog.js';
import { Badge, ButtonLink, Icon } from './controls.js';
import { addressOf, Moment, Path, Principal, Privileges } from './display.js';
import { showToast } from './notice.js';
import { actionColumn, type Column, Listing, momentColumn, type PagedList, PRIVILEGES_COLUMN } from './table.js';

/** A link to the form of a new grant. @param props.query the initial values of the form */
export function NewGrantLink({ isPrimary = false, query = '' }: { isPrimary?: boolean; query?: string }) {
  return <ButtonLink text="New grant" look={isPrimary ? 'primary' : ''} icon="plus" href={`/grants/new${query}`} />;
}

const HOLDER_COLUMN: Column<Grant> = {
  name: 'Holder',
  className: 'holder',
  sortKey: ({ principal }) => principalName(principal),
  cell: ({ principal }) => <Principal principal={principal} href={addressOf(principal)} />,
};
const NODE_COLUMN: Column<Grant> = {
  name: 'Where',
  className: 'full',
  sortKey: ({ resource }) => pathText(resource),
  cell: ({ resource }) => <Path node={resource} />,
};
const LAST_COLUMNS: readonly Column<Grant>[] = [
  {
    name: 'Given',
    className: 'rest',
    sortKey: 'granted_at',
    cell: ({ granted_at: grantedAt, granted_by: grantor, description, state, unused_since: unusedSince }) => (
      <>
        <Moment time={grantedAt} /> <span className="dim">by {grantor?.name ?? 'the command line'}</span>
        {description !== null && <span className="dim">: {description}</span>}
        {state === 'live' && isUnused(unusedSince) && <Badge text="decided nothing in 90 days" />}
      </>
    ),
  },
  {
    name: 'Until',
    className: 'line',
    isLabelled: true,
    sortKey: 'expires_at',
    cell: ({ expires_at: expiresAt }) => <ExpiryText expiresAt={expiresAt} />,
  },
  actionColumn((grant) => (grant.state === 'live' ? <RevokeButton grant={grant} /> : <Badge text={grant.state} />)),
];

/** Whether a grant has not been used for 90 days, today included. @param unusedSince the first day without use; null: used today, or use is unknown */
function isUnused(unusedSince: string | null | undefined): boolean {
  return typeof unusedSince === 'string' && daysUntil(now(), new Date(unusedSince)) >= 89;
}

interface GrantTableProps {
  name: string;
  list: PagedList<Grant>;
  emptyState: ReactNode;
  /** Makes the cells of the column with the nodes. Default: a cell with the path of the node. */
  nodeCell?: (grant: Grant) => ReactNode;
  /** Whether the table is on the page of a principal and shows only this principal's grants, without the column of the holder. */
  isOfOneHolder?: boolean;
}

/** A table of grants: holder, privileges, node, grantor, description and expiry; each can be revoked. */
export function GrantTable({ name, list, emptyState, nodeCell, isOfOneHolder = false }: GrantTableProps) {
  const nodeColumn = nodeCell === undefined ? NODE_COLUMN : { ...NODE_COLUMN, name: 'What it reaches', cell: nodeCell };
  const columns = isOfOneHolder
    ? [{ ...nodeColumn, className: '' }, PRIVILEGES_COLUMN, ...LAST_COLUMNS]
    : [HOLDER_COLUMN, PRIVILEGES_COLUMN, nodeColumn, ...LAST_COLUMNS];
  return <Listing name={name} list={list} emptyState={emptyState} columns={columns} keyOf={({ id }) => id} />;
}

/** The end of a grant, in amber during the grant's last week. */
export function ExpiryText({ expiresAt }: { expiresAt: string | null }) {
  if (expiresAt === null) return <span className="hidden">no end</span>;
  if (daysUntil(new Date(expiresAt), now()) >= 7) return <Moment time={expiresAt} />;
  return <Badge tone="warn" icon="clock" text={<Moment time={expiresAt} />} />;
}

function RevokeButton({ grant: { id, privileges, resource } }: { grant: Grant }) {
  return (
    <>
      <ActionButton
        title={`Revoke grant ${id}?`}
        action="Revoke"
        slug={`revoke-${id}`}
        isDanger
        preview={{ draft: { revoke: [id] }, direction: 'loses' }}
        run={() => bodyOf(api.DELETE('/api/admin/grants/{id}', { params: { path: { id } } }))}
        onDone={() => {
          showToast({ text: `Grant ${id} is revoked. It ends with the next publication.` });
          return refreshAccess();
        }}
        button={{ look: 'small quiet', 'aria-describedby': `grant-${id}` }}
      >
        <p>
          {privileges.join(', ')} on {pathText(resource)}. The grant stays in the history.
        </p>
      </ActionButton>
      <span className="hidden" id={`grant-${id}`}>
        grant {id}
      </span>
    </>
  );
}

export const KIND_ICONS = { row_filter: 'filter', column_mask: 'mask', hidden_column: 'column', deny: 'stop' } as const;

const POLICY_COLUMNS: readonly Column<Policy>[] = [
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

const POLICY_COLUMNS_OF_ONE_HOLDER = POLICY_COLUMNS.filter(({ name }) => name !== 'Holder' && name !== 'Changed');

interface PolicyTableProps {
  list: PagedList<Policy>;
  emptyState: ReactNode;
  isOfOneHolder?: boolean;
}

/** A table of policies: kind, node, principal and effect. */
export function PolicyTable({ list, emptyState, isOfOneHolder = false }: PolicyTableProps) {
  const columns = isOfOneHolder ? POLICY_COLUMNS_OF_ONE_HOLDER : POLICY_COLUMNS;
  return <Listing name="Policies" list={list} emptyState={emptyState} columns={columns} keyOf={({ id }) => id} />;
}

const MAX_SHOWN_LENGTH = 60;

/** The effect of a policy: denied privileges, or its expression or column. */
export function PolicyEffect({ policy: { expression, privileges, resource } }: { policy: Policy }) {
  const { column } = resource as { column?: string };
  if (privileges !== undefined) return <Privileges names={privileges} />;
  if (expression === undefined) return column === undefined ? null : <code>{column}</code>;
  return <code>{expression.length > MAX_SHOWN_LENGTH ? `${expression.slice(0, MAX_SHOWN_LENGTH)}…` : expression}</code>;
}

/** A button that deletes a policy after a preview of the gains. */
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
