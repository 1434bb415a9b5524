import { type Intent, intentAt } from '../model/intent.js';
import { depth } from '../model/node.js';
import type { Principal } from '../model/principal.js';
import { PRIVILEGE_TERMS, taken, withContained } from '../model/privilege.js';
import type { SnapshotGrant, SnapshotPolicy } from '../model/snapshot.js';
import type { AccessIndex } from './access-index.js';
import { accessToColumn, type Question } from './question.js';

/** Whether something is allowed, and the entries that make it so. */
export interface Explanation {
  allowed: boolean;
  /** The grants that carry the privilege here, also where a policy takes it. */
  grants: SnapshotGrant[];
  /** The policies that take it or, where it is allowed, restrict what is read. */
  policies: SnapshotPolicy[];
}

/** Only what matters to the answer: no mask that a nearer one replaces, no deny of another privilege. */
export function explain(index: AccessIndex, principal: Principal, question: Question): Explanation {
  const intent = intentAt(index.of(principal), principal, question.resource);
  const allowed = accessToColumn(intent, question.column).privileges.includes(question.privilege);
  const policies = allowed ? restrictions(intent, question) : obstacles(intent, question);
  return { allowed, grants: carrying(intent, question), policies };
}

/** Live grants with the privilege, at the node or above it. */
export function carrying({ grants }: Intent, { privilege }: Question): SnapshotGrant[] {
  return grants.map(({ source }) => source).filter(({ privileges }) => withContained(privileges).has(privilege));
}

/** The policies that take the privilege, or hide the column from those who read it. */
export function obstacles(intent: Intent, { column, privilege }: Question): SnapshotPolicy[] {
  const policies = intent.policies.map(({ source }) => source);
  const denies = policies.filter((policy) => policy.kind === 'deny' && taken(policy.privileges).has(privilege));
  if (column === undefined || !PRIVILEGE_TERMS[privilege].readsColumns) return denies;
  return [...denies, ...hidingPolicies(policies, column), ...contradictoryMasks(policies, column)];
}

function restrictions(intent: Intent, { column, privilege }: Question): SnapshotPolicy[] {
  if (!PRIVILEGE_TERMS[privilege].readsColumns) return [];
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

/** The masks of a column at the least distance, which hide it if they differ. */
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
