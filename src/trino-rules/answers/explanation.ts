import {
  decide,
  readsColumns,
  denyTakesRight,
  yieldsToRestrictions,
  yieldsToFiltersOrMasks,
} from '../model/decision.js';
import type { Intent } from '../model/intent.js';
import { depth } from '../model/node.js';
import type { Principal } from '../model/principal.js';
import { grantableRightOf } from '../model/rights.js';
import { type DataQuestion, isAboutData, isNodeQuestion, type Question } from '../model/question.js';
import { closesCompanion, restrictsData, storageColumns } from '../model/restrictions.js';
import type { SnapshotGrant, SnapshotPolicy, SnapshotSettings } from '../model/snapshot.js';
import type { AccessIndex } from './access-index.js';

/** Whether a principal has the right in question, and the grants and policies that decide it. */
export interface Explanation {
  allowed: boolean;
  /** The grants that give the right in question, even if a policy takes it away. */
  grants: SnapshotGrant[];
  /** The policies that take the right away. If the right is allowed: the policies that restrict reading. */
  policies: SnapshotPolicy[];
}

/** Explains an answer by the entries that decide it. Leaves out denies of other privileges, and masks that a nearer mask replaces. */
export function explain(index: AccessIndex, principal: Principal, question: Question): Explanation {
  // Rights that no grant gives can depend on the access of other accounts, so they need the whole snapshot.
  const isGrantable = isNodeQuestion(question) || grantableRightOf(question, index.principals) !== null;
  const snapshot = isGrantable ? index.snapshotFor(principal) : index.snapshot;
  const { allowed, grants, denies, intent } = decide(snapshot, principal, question, index.principals);
  const policies = !isAboutData(question)
    ? denies.map(({ source }) => source)
    : allowed
      ? restrictionsOfReading(intent, question)
      : obstacles(intent, question, snapshot.settings);
  return { allowed, grants: grants.map(({ source }) => source), policies };
}

/** The policies that take away the right in question: denies, restrictions, and policies that hide the column. */
export function obstacles(
  { policies: policyOrigins, policiesElsewhere }: Intent,
  question: DataQuestion,
  settings: SnapshotSettings,
): SnapshotPolicy[] {
  const { column, resource } = question;
  const policies = policyOrigins.map(({ source }) => source);
  if (yieldsToRestrictions(question)) return [...policies.filter(restrictsData), ...policiesElsewhere];
  const companionPolicies = policiesElsewhere.filter((policy) => closesCompanion(resource, policy));
  const yieldsTo = yieldsToFiltersOrMasks(question);
  const masks = yieldsTo.masks ? new Set(masksInEffect(policies, storageColumns(resource, settings))) : NO_MASKS;
  const takingPolicies = policies.filter(
    (policy) =>
      (policy.kind === 'deny' && denyTakesRight(policy.privileges, question)) ||
      (policy.kind === 'row_filter' && yieldsTo.filters) ||
      (policy.kind === 'column_mask' && masks.has(policy)) ||
      closesCompanion(resource, policy),
  );
  const obstructingPolicies = [...takingPolicies, ...companionPolicies];
  if (column === undefined || !readsColumns(question)) return obstructingPolicies;
  return [...new Set([...obstructingPolicies, ...policiesHiding(policies, question, settings)])];
}

/** The policies that hide the column in question. Every mask and every hidden column also hides the columns of the storage. */
function policiesHiding(
  policies: readonly SnapshotPolicy[],
  question: DataQuestion,
  settings: SnapshotSettings,
): SnapshotPolicy[] {
  if (isAboutStorageColumn(question, settings)) return policies.filter(({ resource }) => 'column' in resource);
  const { column = '' } = question;
  const masks = nearestMasks(policies, column);
  return [...hidingPolicies(policies, column), ...(areContradictory(masks) ? masks : [])];
}

export function isAboutStorageColumn({ resource, column }: DataQuestion, settings: SnapshotSettings): boolean {
  return column !== undefined && storageColumns(resource, settings).includes(column);
}

const NO_MASKS: ReadonlySet<SnapshotPolicy> = new Set();

/** For each column that is not hidden: its mask in effect, then the masks that would take its place if it were removed. */
function masksInEffect(policies: readonly SnapshotPolicy[], storageColumnNames: readonly string[]): ColumnMask[] {
  const masks = policies.filter((policy) => policy.kind === 'column_mask');
  return [...new Set(masks.map(({ resource }) => resource.column))].flatMap((column) => {
    if (storageColumnNames.includes(column) || hidingPolicies(policies, column).length > 0) return [];
    const effectiveMasks: ColumnMask[] = [];
    let remainingMasks = masks.filter(({ resource }) => resource.column === column);
    while (remainingMasks.length > 0) {
      const currentMasks = nearestMasks(remainingMasks, column);
      if (areContradictory(currentMasks)) break;
      effectiveMasks.push(...currentMasks);
      remainingMasks = remainingMasks.filter((mask) => !currentMasks.includes(mask));
    }
    return effectiveMasks;
  });
}

function restrictionsOfReading(intent: Intent, question: DataQuestion): SnapshotPolicy[] {
  if (!readsColumns(question)) return [];
  const { column } = question;
  const policies = intent.policies.map(({ source }) => source);
  const columns = new Set(policies.flatMap((policy) => ('column' in policy.resource ? [policy.resource.column] : [])));
  const columnsInQuestion = column === undefined ? [...columns].sort() : [column];
  return [
    ...policies.filter(({ kind }) => kind === 'row_filter'),
    ...columnsInQuestion.flatMap((name) => {
      const columnHiders = hidingPolicies(policies, name);
      return columnHiders.length > 0 ? columnHiders : nearestMasks(policies, name);
    }),
  ];
}

function hidingPolicies(policies: readonly SnapshotPolicy[], column: string): SnapshotPolicy[] {
  return policies.filter((policy) => policy.kind === 'hidden_column' && policy.resource.column === column);
}

/** The masks of a column on the deepest node that has any. Masks with different expressions hide the column. */
export function nearestMasks(policies: readonly SnapshotPolicy[], column: string): ColumnMask[] {
  const masks = policies.filter((policy) => policy.kind === 'column_mask' && policy.resource.column === column);
  const nearestDepth = Math.max(...masks.map(({ resource }) => depth(resource)));
  return masks.filter((mask): mask is ColumnMask => depth(mask.resource) === nearestDepth);
}

export type ColumnMask = Extract<SnapshotPolicy, { kind: 'column_mask' }>;

function areContradictory(masks: readonly ColumnMask[]): boolean {
  return new Set(masks.map(({ expression }) => expression)).size > 1;
}
