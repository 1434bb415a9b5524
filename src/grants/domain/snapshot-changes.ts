import { groupBy } from '../../kernel/collections.js';
import { foldedName } from '../../kernel/name.js';
import type { Guarantee } from '../../trino-rules/model/guarantee.js';
import { type Descriptions, type ExportedGroup, RowExport } from '../../trino-rules/model/snapshot-export.js';
import type { Snapshot, SnapshotGrant, SnapshotGroup, SnapshotPolicy } from '../../trino-rules/model/snapshot.js';

/** Access recorded in the database or in a file, with its descriptions. */
export interface DescribedSnapshot {
  snapshot: Pick<Snapshot, 'users' | 'groups' | 'grants' | 'policies' | 'guarantees'>;
  descriptions: Descriptions;
}

/** A change of one row: `before` as in the database, null for a new row; `after` as in the file, null for a removed row. */
interface Pair<T> {
  before: T | null;
  after: T | null;
}

/** An account by its name, or an engine principal. */
export type FileMember = ExportedGroup['members'][number];

type GroupChange = Pair<SnapshotGroup> & { addedMembers: FileMember[]; removedMembers: FileMember[] };

/** Changes that bring recorded access to the state of a file. A `before` has the database's ids, an `after` those of the file. */
export interface SnapshotChanges {
  groups: GroupChange[];
  grants: Pair<SnapshotGrant>[];
  policies: Pair<SnapshotPolicy>[];
  guarantees: Pair<Guarantee>[];
  /** Groups of the identity provider that differ from the file and stay as they are. */
  managed: Pair<SnapshotGroup>[];
}

/** @param managed ids of recorded groups whose members the identity provider decides */
interface ChangeOptions {
  prune: boolean;
  managed: ReadonlySet<number>;
}

/**
 * The changes from recorded access to a file. Rows that the file does not name are removed only with `prune`. A policy that is the
 * only one of its kind for its principal on its node is changed in one step, so that no access is open in between.
 */
export function changesBetween(
  recorded: DescribedSnapshot,
  file: DescribedSnapshot,
  options: ChangeOptions,
): SnapshotChanges {
  const { prune, managed } = options;
  const [before, after] = [keyed(recorded), keyed(file)];
  const kept = <T>(pairs: Pair<T>[]): Pair<T>[] => pairs.filter(({ after }) => prune || after !== null);
  const groups = groupChanges(recorded, file, prune);
  const isManaged = ({ before }: GroupChange): boolean => before !== null && managed.has(before.id);
  return {
    groups: groups.flatMap((change): GroupChange[] => {
      if (!isManaged(change)) return [change];
      return isDescribedAlike(recorded, file, change) ? [] : [{ ...change, addedMembers: [], removedMembers: [] }];
    }),
    managed: groups.filter((change) => {
      const isKept = change.after === null;
      return isManaged(change) && (isKept || change.addedMembers.length + change.removedMembers.length > 0);
    }),
    grants: kept(pairs(before.grants, after.grants)),
    policies: kept(pairs(before.policies, after.policies)),
    guarantees: kept(pairs(before.guarantees, after.guarantees)),
  };
}

/** A row with two keys: `text` is equal for equal rows, `identity` for rows of which one can replace the other. */
interface Keyed<T> {
  row: T;
  text: string;
  identity: string;
}

function keyed(side: DescribedSnapshot) {
  const { grants, policies, guarantees = [] } = side.snapshot;
  const rows = describedRows(side);
  const listed = <T>(list: readonly T[], rowOf: RowOf<T>, identityOf: (row: PlanRow) => unknown): Keyed<T>[] =>
    list.map((each) => {
      const row = rowOf(each);
      return { row: each, text: JSON.stringify(row), identity: JSON.stringify(identityOf(row)) };
    });
  return {
    grants: listed(grants, rows.grant, ({ description: _, ...terms }) => terms),
    policies: listed(policies, rows.policy, ({ kind, principal, resource }) => [kind, principal, resource]),
    guarantees: listed(guarantees, rows.guarantee, ({ name }) => foldedName(textOf(name))),
  };
}

function groupChanges(recorded: DescribedSnapshot, file: DescribedSnapshot, prune: boolean): GroupChange[] {
  const membersIn = ({ snapshot }: DescribedSnapshot) => {
    const rows = new RowExport(snapshot);
    return (group: SnapshotGroup | null) =>
      new Map((group === null ? [] : rows.group(group).members).map((member) => [JSON.stringify(member), member]));
  };
  const [formerMembers, nextMembers] = [membersIn(recorded), membersIn(file)];
  const known = new Map(recorded.snapshot.groups.map((group) => [group.name, group]));
  const named = new Set(file.snapshot.groups.map(({ name }) => name));
  const kept = file.snapshot.groups.flatMap((after) => {
    const before = known.get(after.name) ?? null;
    const [had, has] = [formerMembers(before), nextMembers(after)];
    const addedMembers = notIn(had, has);
    const removedMembers = prune ? notIn(has, had) : [];
    const change = { before, after, addedMembers, removedMembers };
    const isFilledAlike = addedMembers.length + removedMembers.length === 0;
    return before !== null && isFilledAlike && isDescribedAlike(recorded, file, change) ? [] : [change];
  });
  const gone = prune ? recorded.snapshot.groups.filter(({ name }) => !named.has(name)) : [];
  const removed = gone.map((before) => ({
    before,
    after: null,
    addedMembers: [],
    removedMembers: [...formerMembers(before).values()],
  }));
  return [...kept, ...removed];
}

/** Whether a group has the same description in the file. True for a group that the file does not name. */
function isDescribedAlike(
  recorded: DescribedSnapshot,
  file: DescribedSnapshot,
  { before, after }: Pair<SnapshotGroup>,
): boolean {
  const [former, next] = [recorded.descriptions.groups, file.descriptions.groups];
  return after === null || (before !== null && former.get(before.id) === next.get(after.id));
}

function notIn<T>(some: ReadonlyMap<string, unknown>, others: ReadonlyMap<string, T>): T[] {
  return [...others].flatMap(([key, member]) => (some.has(key) ? [] : [member]));
}

/** Changes between two lists. Equal rows cancel out. A removed and an added row make one change if no other row has their identity. */
function pairs<T>(before: readonly Keyed<T>[], after: readonly Keyed<T>[]): Pair<T>[] {
  const equal = new Map<string, Keyed<T>[]>(groupBy(before, ({ text }) => text));
  const added = after.filter(({ text }) => equal.get(text)?.pop() === undefined);
  const removed = [...equal.values()].flat();
  const identityOf = ({ identity }: Keyed<T>): string => identity;
  const [former, next] = [groupBy(removed, identityOf), groupBy(added, identityOf)];
  const changed = new Set<T>();
  const written = added.map(({ row, identity }): Pair<T> => {
    const [single, ...others] = former.get(identity) ?? [];
    if (single === undefined || others.length > 0 || next.get(identity)?.length !== 1)
      return { before: null, after: row };
    changed.add(single.row);
    return { before: single.row, after: row };
  });
  const gone = removed.filter(({ row }) => !changed.has(row)).map(({ row }): Pair<T> => ({ before: row, after: null }));
  return [...written, ...gone];
}

/** A row of a snapshot file, with principals by name. */
export type PlanRow = Readonly<Record<string, unknown>> & { description?: string };

/** One step of a plan, as `--json` prints it. */
export interface PlanStep {
  action: 'add' | 'change' | 'remove';
  kind: 'user' | 'group' | 'member' | 'grant' | 'policy' | 'guarantee';
  row: PlanRow;
  /** The row that a change replaces. */
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
    ...steps('grant', changes.grants, here.grant, there.grant),
    ...steps('policy', changes.policies, here.policy, there.policy),
    ...steps('guarantee', changes.guarantees, here.guarantee, there.guarantee),
  ];
}

/** `+ grant SELECT on sales.eu to group readers` */
export function planLine({ action, kind, row, before }: PlanStep): string {
  const sign = { add: '+', change: '~', remove: '-' }[action];
  const text = rowText(kind, row);
  const former = before === undefined ? '' : ` (was: ${rowText(kind, before)})`;
  return `${sign} ${kind} ${text}${former}`;
}

type RowOf<T> = (row: T) => PlanRow;

function steps<T>(kind: PlanStep['kind'], pairs: readonly Pair<T>[], here: RowOf<T>, there: RowOf<T>): PlanStep[] {
  return pairs.flatMap(({ before, after }) => step(kind, before && here(before), after && there(after)));
}

function step(kind: PlanStep['kind'], before: PlanRow | null, after: PlanRow | null): PlanStep[] {
  if (after === null) return before === null ? [] : [{ action: 'remove', kind, row: before }];
  return [before === null ? { action: 'add', kind, row: after } : { action: 'change', kind, row: after, before }];
}

function describedRows({ snapshot, descriptions }: DescribedSnapshot) {
  const rows = new RowExport(snapshot);
  const described =
    <T extends { id: number }>(list: keyof Descriptions, row: (of: T) => PlanRow) =>
    (of: T): PlanRow => {
      const description = descriptions[list].get(of.id);
      return { ...row(of), ...(description !== undefined && { description }) };
    };
  return {
    group: described('groups', ({ name }: SnapshotGroup) => ({ name })),
    text: ({ id }: SnapshotGroup) => descriptions.groups.get(id),
    grant: described('grants', (grant: SnapshotGrant) => rows.grant(grant)),
    policy: described('policies', (policy: SnapshotPolicy) => rows.policy(policy)),
    guarantee: described('guarantees', (guarantee: Guarantee) => rows.guarantee(guarantee)),
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
    case 'guarantee': {
      const { name: _, description: __, kind: of, ...fields } = row;
      return `${JSON.stringify(name)}: ${textOf(of)} ${JSON.stringify(fields)}${note}`;
    }
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
