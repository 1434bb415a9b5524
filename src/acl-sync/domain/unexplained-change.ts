import type { TrailPosition } from '../../audit/domain/audit-event.js';
import { compile } from '../../trino-rules/compile/compile.js';
import type { AccessChange } from '../../trino-rules/diff/access-change.js';
import type { Finding } from '../../trino-rules/document/finding.js';
import { effectiveSnapshot } from '../../trino-rules/model/effective-snapshot.js';
import { writeSnapshot } from '../../trino-rules/model/snapshot-file.js';
import type { Snapshot } from '../../trino-rules/model/snapshot.js';
import { firstChanges } from './access-text.js';
import { explainedSnapshot, type RecordedEvent } from './explained-snapshot.js';
import { accessChange, isSameAccess, storedSnapshot, type VersionAccess } from './version-access.js';

/** The version with which new rules are compared. Withdrawals, restores and transitional versions are skipped. */
export interface Baseline extends VersionAccess {
  hash: string;
  /** The snapshot of the version; for a version found at a target, the last known snapshot before this version. */
  snapshot: string;
  at: Date;
  /** The end of the audit trail just before the snapshot was read. Changes after the snapshot have later events. */
  position: TrailPosition;
  /** Digest of the compiler that made this version. */
  compiler: string;
  /** Each `approvalHash` that is approved to follow this version in spite of unexplained changes. */
  approved: readonly string[];
  /** Whether this version was found at a target, and not published by a run of this database. */
  isFound: boolean;
}

export interface PreviousState {
  baseline: Baseline;
  /** The access of the version that was published last. Unlike `baseline`, that version may be a withdrawal, which only revokes access. */
  publishedAccess: VersionAccess;
  /** Audit events since the snapshot of `baseline` was read, the oldest first. */
  events: readonly RecordedEvent[];
  /** Time of the last run that applied a version or found no change. All unpublished changes were made after that time. */
  settledAt: Date;
}

/** The part of a change that no audit event explains. */
export interface UnexplainedChange {
  change: AccessChange;
  /** Whether the snapshot has no live grant, although by the audit trail there should be some. */
  isEmptied: boolean;
  snapshots: SnapshotPair | null;
}

/** The previous snapshot and, usually, the same snapshot with the changes in the audit trail. */
export interface SnapshotPair {
  previous: Snapshot;
  explained: Snapshot;
}

export function snapshotPair(
  snapshot: Snapshot,
  { baseline, events }: PreviousState,
  includedChanges: 'recorded' | 'all' = 'recorded',
): SnapshotPair | null {
  const defaults = { ...snapshot.settings, rulesFile: undefined };
  const previous = storedSnapshot(baseline.snapshot, defaults, snapshot.at);
  if (previous === null) return null;
  if (includedChanges === 'all') return { previous, explained: effectiveSnapshot(snapshot) };
  return { previous, explained: explainedSnapshot(previous, snapshot, events) };
}

/**
 * The unexplained part of a change: rows that differ from their last audit event, changed settings, and effects of another build of the
 * compiler.
 */
export function findUnexplainedChange(
  snapshot: Snapshot,
  newAccess: VersionAccess,
  previous: PreviousState,
  compiler: string,
): UnexplainedChange {
  const { baseline } = previous;
  const snapshots = snapshotPair(snapshot, previous);
  if (snapshots === null) return { change: accessChange(baseline, newAccess), isEmptied: false, snapshots };
  const { explained } = snapshots;
  const hasGrants = effectiveSnapshot(snapshot).grants.length > 0;
  const isEmptied = !hasGrants && effectiveSnapshot(explained).grants.length > 0;
  const accessBy = (snapshotToCompile: Snapshot): VersionAccess => ({
    text: newAccess.text === null ? null : compile(snapshotToCompile).text,
    snapshot: writtenSnapshot(snapshotToCompile),
  });
  try {
    const codeChanges = baseline.compiler === compiler ? [] : changesBetween(baseline, accessBy(snapshots.previous));
    const expectedAccess = writtenSnapshot(explained) === newAccess.snapshot ? newAccess : accessBy(explained);
    return {
      change: mergeChanges([...codeChanges, ...changesBetween(expectedAccess, newAccess)]),
      isEmptied,
      snapshots,
    };
  } catch {
    // A snapshot that cannot be compiled explains nothing, so the whole change counts as unexplained.
    return { change: accessChange(baseline, newAccess), isEmptied, snapshots };
  }
}

/** Smaller changes usually need no approval: in a small snapshot, one pair of principal and node can exceed `maxPercent`. */
const MIN_CHANGED_PAIRS = 50;

export function needsApproval({ change, isEmptied }: UnexplainedChange, maxPercent: number): boolean {
  const { changedPairs, allPairs } = change;
  return isEmptied || (changedPairs >= MIN_CHANGED_PAIRS && changedPairs * 100 > maxPercent * allPairs);
}

export function unexplainedFinding(change: UnexplainedChange, hash: string): Finding {
  const message =
    `no recorded change explains this: ${changeText(change)}. It is published once an administrator has approved the ` +
    `change ${hash}; until then, only what recorded changes take away is published`;
  return { code: UNEXPLAINED_CODE, severity: 'error', message };
}

/** The warning for an unexplained change that is small enough to be published without an approval. */
export function toleratedFinding(change: UnexplainedChange): Finding {
  const message = `no recorded change explains this, and it is small enough to pass: ${changeText(change)}`;
  return { code: UNEXPLAINED_CODE, severity: 'warning', message };
}

function changeText({ change, isEmptied }: UnexplainedChange): string {
  const { changedPairs, allPairs } = change;
  const pairsText = `${changedPairs} of ${allPairs} pairs of a principal and a node change`;
  const summary = isEmptied ? `no grant is left, and their revocation is not recorded; ${pairsText}` : pairsText;
  return `${summary} (${firstChanges(change)})`;
}

export function approvedFinding({ changedPairs }: AccessChange): Finding {
  const message = `no recorded change explains what ${changedPairs} pairs of a principal and a node gain or lose; it was approved`;
  return { code: APPROVED_CODE, severity: 'info', message };
}

/**
 * The finding that an approval is needed, because new rules change the access of a version found at a target. Null: no access changes.
 * If OPA is the only target, a found version has only a number, and its access is not known.
 */
export function databaseBehindFinding(baseline: VersionAccess, newAccess: VersionAccess, hash: string): Finding | null {
  const isKnown = newAccess.text !== null;
  const change = accessChange(baseline, newAccess);
  if (isKnown && change.changedPairs === 0) return null;
  const changeText = isKnown
    ? `These rules would change ${change.changedPairs} of ${change.allPairs} pairs of a principal and a node (${firstChanges(change)})`
    : 'The access that it gives is not known here';
  const message =
    `the target holds a newer version than this database has: it was restored from a backup, or another installation publishes ` +
    `there. ${changeText}. They are published once an administrator has approved the change ${hash}; until then, ` +
    (isKnown
      ? 'only what is revoked from now on is taken away'
      : 'nothing is published, and OPA keeps the newer version');
  return { code: DATABASE_BEHIND_CODE, severity: 'error', message };
}

export const UNEXPLAINED_CODE = 'unexplained-change';
export const DATABASE_BEHIND_CODE = 'database-behind';
export const APPROVED_CODE = 'approved-change';

/** The snapshot as a file, without its time and without entries that have no effect. Equal for snapshots that give equal rules. */
export function writtenSnapshot(snapshot: Snapshot): string {
  return JSON.stringify(writeSnapshot({ ...effectiveSnapshot(snapshot), at: new Date(0) }));
}

function changesBetween(before: VersionAccess, after: VersionAccess): AccessChange[] {
  return isSameAccess(before, after) ? [] : [accessChange(before, after)];
}

function mergeChanges(changes: readonly AccessChange[]): AccessChange {
  return changes.reduce(
    (a, b) => ({
      gained: [...a.gained, ...b.gained],
      lost: [...a.lost, ...b.lost],
      gainedInAll: a.gainedInAll + b.gainedInAll,
      lostInAll: a.lostInAll + b.lostInAll,
      peopleGaining: Math.max(a.peopleGaining ?? 0, b.peopleGaining ?? 0), // mostly the same people in both
      peopleLosing: Math.max(a.peopleLosing ?? 0, b.peopleLosing ?? 0),
      changedPairs: a.changedPairs + b.changedPairs,
      allPairs: Math.max(a.allPairs, b.allPairs),
    }),
    NO_CHANGE,
  );
}

const NO_CHANGE: AccessChange = {
  ...{ gained: [], lost: [], gainedInAll: 0, lostInAll: 0 },
  ...{ peopleGaining: 0, peopleLosing: 0, changedPairs: 0, allPairs: 0 },
};
