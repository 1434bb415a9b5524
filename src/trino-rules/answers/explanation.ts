import { decide, readsColumns, takes, yieldsToRestrictions, yieldsToRowsOrValues } from '../model/decision.js';
import type { Intent } from '../model/intent.js';
import { depth } from '../model/node.js';
import type { Principal } from '../model/principal.js';
import { grantedOnEngine } from '../model/rights.js';
import { type DataQuestion, isAboutData, isAtNode, type Question } from '../model/question.js';
import { closesCompanion, restrictsData, storageColumns } from '../model/restrictions.js';
import type { SnapshotGrant, SnapshotPolicy, SnapshotSettings } from '../model/snapshot.js';
import type { AccessIndex } from './access-index.js';

/** Whether something is allowed, and the entries that decide it. */
export interface Explanation {
  allowed: boolean;
  /** The grants that give the privilege here, also where a policy takes it. */
  grants: SnapshotGrant[];
  /** The policies that take the privilege or, if it is allowed, restrict reading. */
  policies: SnapshotPolicy[];
}

/** Explains an answer by the entries that matter: without masks that a nearer one replaces, or denies of other privileges. */
export function explain(index: AccessIndex, principal: Principal, question: Question): Explanation {
  // Rights that follow from settings or other access can depend on the access of other accounts.
  const isGranted = isAtNode(question) || grantedOnEngine(question, index.principals) !== null;
  const snapshot = isGranted ? index.of(principal) : index.snapshot;
  const { allowed, grants, denies, intent } = decide(snapshot, principal, question, index.principals);
  const policies = !isAboutData(question)
    ? denies.map(({ source }) => source)
    : allowed
      ? restrictions(intent, question)
      : obstacles(intent, question, snapshot.settings);
  return { allowed, grants: grants.map(({ source }) => source), policies };
}

/** The policies that take the asked right, that it yields to, or that hide the column. */
export function obstacles(
  { policies: applied, elsewhere }: Intent,
  question: DataQuestion,
  settings: SnapshotSettings,
): SnapshotPolicy[] {
  const { column, resource } = question;
  const policies = applied.map(({ source }) => source);
  if (yieldsToRestrictions(question)) return [...policies.filter(restrictsData), ...elsewhere];
  const closing = elsewhere.filter((policy) => closesCompanion(resource, policy));
  const yields = yieldsToRowsOrValues(question);
  const masks = yields.masks ? new Set(masksInEffect(policies, storageColumns(resource, settings))) : NO_MASKS;
  const taking = policies.filter(
    (policy) =>
      (policy.kind === 'deny' && takes(policy.privileges, question)) ||
      (policy.kind === 'row_filter' && yields.filters) ||
      (policy.kind === 'column_mask' && masks.has(policy)) ||
      closesCompanion(resource, policy),
  );
  const found = [...taking, ...closing];
  if (column === undefined || !readsColumns(question)) return found;
  return [...new Set([...found, ...hidingPolicies(policies, column), ...contradictoryMasks(policies, column)])];
}

const NO_MASKS: ReadonlySet<SnapshotPolicy> = new Set();

/** The masks in effect, and the masks that would take effect if these were removed. */
function masksInEffect(policies: readonly SnapshotPolicy[], storage: readonly string[]): ColumnMask[] {
  const masks = policies.filter((policy) => policy.kind === 'column_mask');
  return [...new Set(masks.map(({ resource }) => resource.column))].flatMap((column) => {
    if (storage.includes(column) || hidingPolicies(policies, column).length > 0) return [];
    const found: ColumnMask[] = [];
    let left = masks.filter(({ resource }) => resource.column === column);
    for (let nearest = nearestMasks(left, column); nearest.length > 0; nearest = nearestMasks(left, column)) {
      if (new Set(nearest.map(({ expression }) => expression)).size > 1) break;
      found.push(...nearest);
      left = left.filter((mask) => !nearest.includes(mask));
    }
    return found;
  });
}

function restrictions(intent: Intent, question: DataQuestion): SnapshotPolicy[] {
  if (!readsColumns(question)) return [];
  const { column } = question;
  const policies = intent.policies.map(({ source }) => source);
  const columns = new Set(policies.flatMap((policy) => ('column' in policy.resource ? [policy.resource.column] : [])));
  const asked = column === undefined ? [...columns].sort() : [column];
  return [
    ...policies.filter(({ kind }) => kind === 'row_filter'),
    ...asked.flatMap((name) => {
      const hiding = hidingPolicies(policies, name);
      return hiding.length > 0 ? hiding : nearestMasks(policies, name);
    }),
  ];
}

function hidingPolicies(policies: readonly SnapshotPolicy[], column: string): SnapshotPolicy[] {
  return policies.filter((policy) => policy.kind === 'hidden_column' && policy.resource.column === column);
}

/** The nearest masks of a column, which hide it if they differ. */
export function nearestMasks(policies: readonly SnapshotPolicy[], column: string): ColumnMask[] {
  const masks = policies.filter((policy) => policy.kind === 'column_mask' && policy.resource.column === column);
  const nearest = Math.max(...masks.map(({ resource }) => depth(resource)));
  return masks.filter((mask): mask is ColumnMask => depth(mask.resource) === nearest);
}

export type ColumnMask = Extract<SnapshotPolicy, { kind: 'column_mask' }>;

function contradictoryMasks(policies: readonly SnapshotPolicy[], column: string): ColumnMask[] {
  const masks = nearestMasks(policies, column);
  return new Set(masks.map(({ expression }) => expression)).size > 1 ? masks : [];
}
