import { groupBy } from '../../kernel/collections.js';
import { foldedName } from '../../kernel/name.js';
import type { Guarantee } from '../../trino-rules/model/guarantee.js';
import { type Descriptions, type ExportedGroup, RowExporter } from '../../trino-rules/model/snapshot-export.js';
import type { Snapshot, SnapshotGrant, SnapshotGroup, SnapshotPolicy } from '../../trino-rules/model/snapshot.js';

/** Access recorded in the database or in a file, with its descriptions. */
export interface DescribedSnapshot {
  snapshot: Pick<Snapshot, 'users' | 'groups' | 'grants' | 'policies' | 'guarantees'>;
  descriptions: Descriptions;
}

/** A change of one row. `oldRow` is from the database, null for a new row; `newRow` is from the file, null for a removed row. */
interface RowChange<T> {
  oldRow: T | null;
  newRow: T | null;
}

/** An account by its name, or an engine principal. */
export type FileMember = ExportedGroup['members'][number];

type GroupChange = RowChange<SnapshotGroup> & { addedMembers: FileMember[]; removedMembers: FileMember[] };

/** Changes that bring recorded access to the state of a file. An `oldRow` has the database's ids, a `newRow` those of the file. */
export interface SnapshotChanges {
  groups: GroupChange[];
  grants: RowChange<SnapshotGrant>[];
  policies: RowChange<SnapshotPolicy>[];
  guarantees: RowChange<Guarantee>[];
  /** Groups of the identity provider that differ from the file and stay as they are. */
  managedGroups: RowChange<SnapshotGroup>[];
}

/**
 * The changes from recorded access to a file. Rows that the file does not name are removed only with `mustPrune`. A policy that is the only
 * one of its kind for its principal and node is changed in one step, so that its restriction applies at every moment.
 * @param managedGroupIds ids of recorded groups whose members the identity provider decides
 */
export function changesBetween(
  database: DescribedSnapshot,
  file: DescribedSnapshot,
  { mustPrune, managedGroupIds }: { mustPrune: boolean; managedGroupIds: ReadonlySet<number> },
): SnapshotChanges {
  const [recordedByKind, fileByKind] = [keyedRows(database), keyedRows(file)];
  const allowedChanges = <T>(rows: RowChange<T>[]): RowChange<T>[] =>
    rows.filter(({ newRow }) => mustPrune || newRow !== null);
  const groups = groupChanges(database, file, mustPrune);
  const isManaged = ({ oldRow }: GroupChange): boolean => oldRow !== null && managedGroupIds.has(oldRow.id);
  return {
    groups: groups.flatMap((change): GroupChange[] => {
      if (!isManaged(change)) return [change];
      return hasSameDescription(database, file, change) ? [] : [{ ...change, addedMembers: [], removedMembers: [] }];
    }),
    managedGroups: groups.filter((change) => {
      const isKept = change.newRow === null;
      return isManaged(change) && (isKept || change.addedMembers.length + change.removedMembers.length > 0);
    }),
    grants: allowedChanges(rowChanges(recordedByKind.grants, fileByKind.grants)),
    policies: allowedChanges(rowChanges(recordedByKind.policies, fileByKind.policies)),
    guarantees: allowedChanges(rowChanges(recordedByKind.guarantees, fileByKind.guarantees)),
  };
}

/** A row with two keys: `text` is the same for equal rows, `identity` also for the old and the new form of a changed row. */
interface KeyedRow<T> {
  row: T;
  text: string;
  identity: string;
}

function keyedRows(source: DescribedSnapshot) {
  const { grants, policies, guarantees = [] } = source.snapshot;
  const rows = describedRows(source);
  const toKeyedRows = <T>(
    list: readonly T[],
    rowOf: ToPlanRow<T>,
    identityOf: (row: PlanRow) => unknown,
  ): KeyedRow<T>[] =>
    list.map((each) => {
      const row = rowOf(each);
      return { row: each, text: JSON.stringify(row), identity: JSON.stringify(identityOf(row)) };
    });
  return {
    grants: toKeyedRows(grants, rows.grant, ({ description: _, ...terms }) => terms),
    policies: toKeyedRows(policies, rows.policy, ({ kind, principal, resource }) => [kind, principal, resource]),
    guarantees: toKeyedRows(guarantees, rows.guarantee, ({ name }) => foldedName(textOf(name))),
  };
}

function groupChanges(database: DescribedSnapshot, file: DescribedSnapshot, mustPrune: boolean): GroupChange[] {
  const memberReader = ({ snapshot }: DescribedSnapshot) => {
    const rows = new RowExporter(snapshot);
    return (group: SnapshotGroup | null) =>
      new Map(
        (group === null ? [] : rows.exportGroup(group).members).map((member) => [JSON.stringify(member), member]),
      );
  };
  const [recordedMembersOf, fileMembersOf] = [memberReader(database), memberReader(file)];
  const recordedGroups = new Map(database.snapshot.groups.map((group) => [group.name, group]));
  const fileGroupNames = new Set(file.snapshot.groups.map(({ name }) => name));
  const keptGroupChanges = file.snapshot.groups.flatMap((newRow) => {
    const oldRow = recordedGroups.get(newRow.name) ?? null;
    const [recordedMembers, fileMembers] = [recordedMembersOf(oldRow), fileMembersOf(newRow)];
    const addedMembers = missingFrom(recordedMembers, fileMembers);
    const removedMembers = mustPrune ? missingFrom(fileMembers, recordedMembers) : [];
    const change = { oldRow, newRow, addedMembers, removedMembers };
    const hasSameMembers = addedMembers.length + removedMembers.length === 0;
    return oldRow !== null && hasSameMembers && hasSameDescription(database, file, change) ? [] : [change];
  });
  const removedGroups = mustPrune ? database.snapshot.groups.filter(({ name }) => !fileGroupNames.has(name)) : [];
  const removedGroupChanges = removedGroups.map((oldRow) => ({
    oldRow,
    newRow: null,
    addedMembers: [],
    removedMembers: [...recordedMembersOf(oldRow).values()],
  }));
  return [...keptGroupChanges, ...removedGroupChanges];
}

/** Whether a group has the same description in the file. True for a group that the file does not name. */
function hasSameDescription(
  database: DescribedSnapshot,
  file: DescribedSnapshot,
  { oldRow, newRow }: RowChange<SnapshotGroup>,
): boolean {
  const [oldTexts, newTexts] = [database.descriptions.groups, file.descriptions.groups];
  return newRow === null || (oldRow !== null && oldTexts.get(oldRow.id) === newTexts.get(newRow.id));
}

function missingFrom<T>(presentKeys: ReadonlyMap<string, unknown>, candidates: ReadonlyMap<string, T>): T[] {
  return [...candidates].flatMap(([key, member]) => (presentKeys.has(key) ? [] : [member]));
}

/** Changes between two lists, without equal rows. One removed and one added row with the same identity are one change. */
function rowChanges<T>(recordedList: readonly KeyedRow<T>[], fileList: readonly KeyedRow<T>[]): RowChange<T>[] {
  const unmatchedRows = new Map<string, KeyedRow<T>[]>(groupBy(recordedList, ({ text }) => text));
  const addedRows = fileList.filter(({ text }) => unmatchedRows.get(text)?.pop() === undefined);
  const removedRows = [...unmatchedRows.values()].flat();
  const identityOf = ({ identity }: KeyedRow<T>): string => identity;
  const [removedByIdentity, addedByIdentity] = [groupBy(removedRows, identityOf), groupBy(addedRows, identityOf)];
  const changedRows = new Set<T>();
  const newRowChanges = addedRows.map(({ row, identity }): RowChange<T> => {
    const [singleRow, ...otherRows] = removedByIdentity.get(identity) ?? [];
    if (singleRow === undefined || otherRows.length > 0 || addedByIdentity.get(identity)?.length !== 1)
      return { oldRow: null, newRow: row };
    changedRows.add(singleRow.row);
    return { oldRow: singleRow.row, newRow: row };
  });
  const unpairedRows = removedRows.filter(({ row }) => !changedRows.has(row));
  return [...newRowChanges, ...unpairedRows.map(({ row }): RowChange<T> => ({ oldRow: row, newRow: null }))];
}

/** A row of a snapshot file, with principals by name. */
export type PlanRow = Readonly<Record<string, unknown>> & { description?: string };

/** One step of a plan, as `--json` prints it. */
export interface PlanStep {
  action: 'add' | 'change' | 'remove';
  kind: 'user' | 'group' | 'member' | 'grant' | 'policy' | 'guarantee';
  row: PlanRow;
  before?: PlanRow;
}

export function planOf(changes: SnapshotChanges, database: DescribedSnapshot, file: DescribedSnapshot): PlanStep[] {
  const [oldRows, newRows] = [describedRows(database), describedRows(file)];
  return [
    ...changes.groups.flatMap(({ oldRow, newRow, addedMembers, removedMembers }): PlanStep[] => {
      const group = (newRow ?? oldRow)?.name ?? '';
      const isChanged = oldRow === null || newRow === null || oldRows.describe(oldRow) !== newRows.describe(newRow);
      const memberSteps = (action: 'add' | 'remove', members: readonly FileMember[]) =>
        members.map((member): PlanStep => {
          const memberFields = typeof member === 'string' ? { name: member } : member;
          return { action, kind: 'member', row: { group, ...memberFields } };
        });
      return [
        ...(isChanged ? planSteps('group', oldRow && oldRows.group(oldRow), newRow && newRows.group(newRow)) : []),
        ...memberSteps('add', addedMembers),
        ...(newRow === null ? [] : memberSteps('remove', removedMembers)),
      ];
    }),
    ...listSteps('grant', changes.grants, oldRows.grant, newRows.grant),
    ...listSteps('policy', changes.policies, oldRows.policy, newRows.policy),
    ...listSteps('guarantee', changes.guarantees, oldRows.guarantee, newRows.guarantee),
  ];
}

/** One line of text for a step, such as `+ grant SELECT on sales.eu to group readers`. */
export function planLine({ action, kind, row, before }: PlanStep): string {
  const sign = { add: '+', change: '~', remove: '-' }[action];
  const text = rowText(kind, row);
  const formerText = before === undefined ? '' : ` (was: ${rowText(kind, before)})`;
  return `${sign} ${kind} ${text}${formerText}`;
}

type ToPlanRow<T> = (row: T) => PlanRow;

function listSteps<T>(
  kind: PlanStep['kind'],
  list: readonly RowChange<T>[],
  toOldPlanRow: ToPlanRow<T>,
  toNewPlanRow: ToPlanRow<T>,
): PlanStep[] {
  return list.flatMap(({ oldRow, newRow }) =>
    planSteps(kind, oldRow && toOldPlanRow(oldRow), newRow && toNewPlanRow(newRow)),
  );
}

function planSteps(kind: PlanStep['kind'], oldRow: PlanRow | null, newRow: PlanRow | null): PlanStep[] {
  if (newRow === null) return oldRow === null ? [] : [{ action: 'remove', kind, row: oldRow }];
  return [oldRow ? { action: 'change', kind, row: newRow, before: oldRow } : { action: 'add', kind, row: newRow }];
}

function describedRows({ snapshot, descriptions }: DescribedSnapshot) {
  const rows = new RowExporter(snapshot);
  const withDescription =
    <T extends { id: number }>(list: keyof Descriptions, row: (snapshotRow: T) => PlanRow) =>
    (snapshotRow: T): PlanRow => {
      const description = descriptions[list].get(snapshotRow.id);
      return { ...row(snapshotRow), ...(description !== undefined && { description }) };
    };
  return {
    group: withDescription('groups', ({ name }: SnapshotGroup) => ({ name })),
    describe: ({ id }: SnapshotGroup) => descriptions.groups.get(id),
    grant: withDescription('grants', (grant: SnapshotGrant) => rows.exportGrant(grant)),
    policy: withDescription('policies', (policy: SnapshotPolicy) => rows.exportPolicy(policy)),
    guarantee: withDescription('guarantees', (guarantee: Guarantee) => rows.exportGuarantee(guarantee)),
  };
}

function rowText(kind: PlanStep['kind'], row: PlanRow): string {
  const descriptionNote = row.description === undefined ? '' : ` # ${JSON.stringify(row.description)}`;
  const { name, email, engine, group, resource, principal, except, privileges, expression, expires_at } = row;
  switch (kind) {
    case 'user':
      return `${textOf(name)}${email === undefined ? '' : ` <${textOf(email)}>`}`;
    case 'group':
      return `${textOf(name)}${descriptionNote}`;
    case 'guarantee': {
      const { name: _, description: __, kind: guaranteeKind, ...fields } = row;
      return `${JSON.stringify(name)}: ${textOf(guaranteeKind)} ${JSON.stringify(fields)}${descriptionNote}`;
    }
    case 'member':
      return `${engine === undefined ? textOf(name) : `engine ${textOf(engine)}`} of ${textOf(group)}`;
    case 'grant': {
      const expiryText = expires_at === undefined ? '' : ` until ${textOf(expires_at)}`;
      return `${listText(privileges)} on ${resourceText(resource)} to ${namedText(principal)}${expiryText}${descriptionNote}`;
    }
    case 'policy': {
      const detail = expression === undefined ? listText(privileges) : textOf(expression);
      const exceptionsText = Array.isArray(except) ? ` except ${except.map(namedText).join(', ')}` : '';
      const ruleText = detail === '' ? '' : `: ${detail}`;
      return `${textOf(row['kind'])} on ${resourceText(resource)} for ${namedText(principal)}${exceptionsText}${ruleText}${descriptionNote}`;
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
