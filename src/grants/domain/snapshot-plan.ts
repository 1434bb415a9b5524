import { RowExport } from '../../trino-rules/model/snapshot-export.js';
import type { DescribedSnapshot, FileMember, SnapshotChanges } from './snapshot-changes.js';

/** A row by name, as in the file. */
export type PlanRow = Readonly<Record<string, unknown>> & { description?: string };

/** One step of a plan, as `--json` prints it: rows by name, as in the file. */
export interface PlanStep {
  action: 'add' | 'change' | 'remove';
  kind: 'user' | 'group' | 'member' | 'grant' | 'policy';
  row: PlanRow;
  /** Of a change: the row that it replaces. */
  before?: PlanRow;
}

/** The steps of changes, in the order in which people read a file. */
export function planOf(changes: SnapshotChanges, recorded: DescribedSnapshot, file: DescribedSnapshot): PlanStep[] {
  const [here, there] = [describedRows(recorded), describedRows(file)];
  return [
    ...changes.groups.flatMap(({ before, after, addedMembers, removedMembers }): PlanStep[] => {
      const group = (after ?? before)?.name ?? '';
      const row = (side: typeof here, of: typeof before) => (of === null ? null : side.group(of));
      const isRenewed = before === null || after === null || here.text(before) !== there.text(after);
      const members = (action: 'add' | 'remove', all: readonly FileMember[]) =>
        all.map((member): PlanStep => {
          const named = typeof member === 'string' ? { name: member } : member;
          return { action, kind: 'member', row: { group, ...named } };
        });
      return [
        ...(isRenewed ? step('group', row(here, before), row(there, after)) : []),
        ...members('add', addedMembers),
        ...(after === null ? [] : members('remove', removedMembers)),
      ];
    }),
    ...changes.grants.flatMap(({ before, after }) =>
      step('grant', before && here.grant(before), after && there.grant(after)),
    ),
    ...changes.policies.flatMap(({ before, after }) =>
      step('policy', before && here.policy(before), after && there.policy(after)),
    ),
  ];
}

/** `+ grant SELECT on sales.eu to group readers` */
export function planLine({ action, kind, row, before }: PlanStep): string {
  const sign = { add: '+', change: '~', remove: '-' }[action];
  const text = rowText(kind, row);
  const former = before === undefined ? '' : ` (was: ${rowText(kind, before)})`;
  return `${sign} ${kind} ${text}${former}`;
}

function step(kind: PlanStep['kind'], before: PlanRow | null, after: PlanRow | null): PlanStep[] {
  if (after === null) return before === null ? [] : [{ action: 'remove', kind, row: before }];
  return [before === null ? { action: 'add', kind, row: after } : { action: 'change', kind, row: after, before }];
}

function describedRows({ snapshot, descriptions }: DescribedSnapshot) {
  const rows = new RowExport(snapshot);
  type Groups = (typeof snapshot.groups)[number];
  const described = (row: PlanRow, text: string | undefined): PlanRow =>
    text === undefined ? row : { ...row, description: text };
  return {
    group: ({ id, name }: Groups) => described({ name }, descriptions.groups.get(id)),
    text: ({ id }: Groups) => descriptions.groups.get(id),
    grant: (grant: (typeof snapshot.grants)[number]) => described(rows.grant(grant), descriptions.grants.get(grant.id)),
    policy: (policy: (typeof snapshot.policies)[number]) =>
      described(rows.policy(policy), descriptions.policies.get(policy.id)),
  };
}

function rowText(kind: PlanStep['kind'], row: PlanRow): string {
  const note = row.description === undefined ? '' : ` # ${JSON.stringify(row.description)}`;
  const { name, email, engine, group, resource, principal, except, privileges, expression, expires_at } = row;
  switch (kind) {
    case 'user':
      return `${textOf(name)}${email === undefined ? '' : ` <${textOf(email)}>`}`;
    case 'group':
      return `${textOf(name)}${note}`;
    case 'member':
      return `${engine === undefined ? textOf(name) : `engine ${textOf(engine)}`} of ${textOf(group)}`;
    case 'grant': {
      const until = expires_at === undefined ? '' : ` until ${textOf(expires_at)}`;
      return `${listText(privileges)} on ${resourceText(resource)} to ${namedText(principal)}${until}${note}`;
    }
    case 'policy': {
      const what = expression === undefined ? listText(privileges) : textOf(expression);
      const others = Array.isArray(except) ? ` except ${except.map(namedText).join(', ')}` : '';
      const rule = what === '' ? '' : `: ${what}`;
      return `${textOf(row['kind'])} on ${resourceText(resource)} for ${namedText(principal)}${others}${rule}${note}`;
    }
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function listText(values: unknown): string {
  return Array.isArray(values) ? values.join(', ') : '';
}

function namedText(principal: unknown): string {
  return typeof principal === 'object' && principal !== null ? Object.values(principal).join(' ') : '';
}

function resourceText(resource: unknown): string {
  if (typeof resource !== 'object' || resource === null) return '';
  if ('as' in resource) return `acting as ${namedText(resource.as)}`;
  if ('queries' in resource) return `the queries of ${namedText(resource.queries)}`;
  if ('engine' in resource) return 'the engine';
  return Object.values(resource).join('.') || 'everything';
}
