import type { TrailPosition } from '../../audit/domain/audit-event.js';
import { compile, type CompiledRules } from '../../trino-rules/compile/compile.js';
import { type AccessChange, compareAccess } from '../../trino-rules/diff/access-change.js';
import type { Finding } from '../../trino-rules/document/finding.js';
import { NO_RULES, type RulesDocument } from '../../trino-rules/document/rules-document.js';
import { readRules } from '../../trino-rules/document/rules-reader.js';
import { effective } from '../../trino-rules/model/effective-snapshot.js';
import { readSnapshot, writeSnapshot } from '../../trino-rules/model/snapshot-file.js';
import type { Snapshot } from '../../trino-rules/model/snapshot.js';
import { firstChanges } from './access-text.js';
import { explainedSnapshot, type RecordedEvent } from './explained-snapshot.js';

/** The version from which recorded changes count: the last published one that is no withdrawal, or a found one. */
export interface Baseline {
  text: string;
  hash: string;
  /** Its snapshot as a JSON snapshot file; for a found version, the last known snapshot before. Empty: none is known. */
  snapshot: string;
  at: Date;
  /** The end of the audit trail before the snapshot was read. Later events explain later changes. */
  position: TrailPosition;
  /** Digest of the compiler that made it. */
  compiler: string;
  /** Hashes of texts that are approved to follow it with unexplained changes. */
  approved: readonly string[];
  /** Whether it was found at the target, published by no run of this database. */
  isFound: boolean;
}

/** What a candidate is compared with. */
export interface Previous {
  baseline: Baseline;
  /** The text that was published last: a withdrawal, or the baseline's own. */
  published: string;
  /** Events since the baseline's snapshot was read, the oldest first. */
  events: readonly RecordedEvent[];
  /** When a run last left nothing to publish. The first unpublished change comes after it. */
  settledAt: Date;
}

/** The part of a change that no audit event explains. */
export interface UnexplainedChange {
  change: AccessChange;
  /** Whether no grant is left although the audit trail has live ones. */
  isEmptied: boolean;
  snapshots: SnapshotPair | null;
}

/** The previous snapshot, and the same with recorded changes (or all changes) applied. */
export interface SnapshotPair {
  previous: Snapshot;
  explained: Snapshot;
}

/** The pair of snapshots. Null: this build cannot read the previous one. */
export function snapshotPair(
  snapshot: Snapshot,
  { baseline, events }: Previous,
  changes: 'recorded' | 'all' = 'recorded',
): SnapshotPair | null {
  if (baseline.snapshot === '') return null;
  const { settings, at } = snapshot;
  const reading = readSnapshot(JSON.parse(baseline.snapshot), { settings, at });
  if (reading.kind !== 'read') return null;
  const previous = reading.snapshot;
  if (changes === 'all') return { previous, explained: effective(snapshot) };
  return { previous, explained: explainedSnapshot(previous, snapshot, events) };
}

/**
 * The unexplained part of a change: rows that differ from their last audit event, changed settings, and differences because another build
 * of the compiler makes other rules from the same snapshot.
 */
export function findUnexplainedChange(
  snapshot: Snapshot,
  rules: CompiledRules,
  previous: Previous,
  compiler: string,
): UnexplainedChange {
  const { baseline } = previous;
  const before = documentOf(baseline.text);
  const snapshots = snapshotPair(snapshot, previous);
  if (snapshots === null) return { change: compareAccess(before, rules.document), isEmptied: false, snapshots };
  const next = effective(snapshot);
  const { explained } = snapshots;
  const isEmptied = next.grants.length === 0 && effective(explained).grants.length > 0;
  try {
    const byBuild =
      baseline.compiler === compiler ? [] : difference({ ...baseline, document: before }, compiled(snapshots.previous));
    const expected = writtenSnapshot(explained) === writtenSnapshot(next) ? rules : compiled(explained);
    return { change: sumOf([...byBuild, ...difference(expected, rules)]), isEmptied, snapshots };
  } catch {
    // A snapshot that this build cannot compile explains nothing: the whole change waits for an approval.
    return { change: compareAccess(before, rules.document), isEmptied, snapshots };
  }
}

/** Fewer changed pairs need no approval, because in a small snapshot a single pair exceeds any percentage. */
const MIN_CHANGED_PAIRS = 50;

export function needsApproval({ change, isEmptied }: UnexplainedChange, maxPercent: number): boolean {
  const { changedPairs, allPairs } = change;
  return isEmptied || (changedPairs >= MIN_CHANGED_PAIRS && changedPairs * 100 > maxPercent * allPairs);
}

export function unexplainedFinding(unexplained: UnexplainedChange, hash: string): Finding {
  const message =
    `no recorded change explains this: ${changeText(unexplained)}. It is published once an administrator has approved the ` +
    `text ${hash}; until then, only what recorded changes take away is published`;
  return { code: UNEXPLAINED, severity: 'error', message };
}

/** A change below the limit is published, with a warning. */
export function toleratedFinding(unexplained: UnexplainedChange): Finding {
  const message = `no recorded change explains this, and it is small enough to pass: ${changeText(unexplained)}`;
  return { code: UNEXPLAINED, severity: 'warning', message };
}

function changeText({ change, isEmptied }: UnexplainedChange): string {
  const { changedPairs, allPairs } = change;
  const share = `${changedPairs} of ${allPairs} pairs of a principal and a node change`;
  const what = isEmptied ? `no grant is left, and their revocation is not recorded; ${share}` : share;
  return `${what} (${firstChanges(change)})`;
}

export function approvedFinding({ changedPairs }: AccessChange): Finding {
  const message = `no recorded change explains what ${changedPairs} pairs of a principal and a node gain or lose; it was approved`;
  return { code: APPROVED, severity: 'info', message };
}

/** Why rules may not replace a found version; null: they give the same access. */
export function databaseBehindFinding(
  { text }: Pick<Baseline, 'text'>,
  document: RulesDocument,
  hash: string,
): Finding | null {
  const change = compareAccess(documentOf(text), document);
  if (change.changedPairs === 0) return null;
  const message =
    `the target holds a newer version than this database has: it was restored from a backup, or another installation publishes ` +
    `there. These rules would change ${change.changedPairs} of ${change.allPairs} pairs of a principal and a node ` +
    `(${firstChanges(change)}). They are published once an administrator has approved the text ${hash}; until then, ` +
    `only what is revoked from now on is taken away`;
  return { code: DATABASE_BEHIND, severity: 'error', message };
}

export const UNEXPLAINED = 'unexplained-change';
export const DATABASE_BEHIND = 'database-behind';
export const APPROVED = 'approved-change';

/** A snapshot file of entries with effect, without its time. Equal for snapshots that give equal rules. */
export function writtenSnapshot(snapshot: Snapshot): string {
  return JSON.stringify(writeSnapshot({ ...effective(snapshot), at: new Date(0) }));
}

/** A text that cannot be parsed grants no access. */
export function documentOf(text: string): RulesDocument {
  const reading = readRules(text);
  return reading.kind === 'read' ? reading.document : NO_RULES;
}

/** Compiles a snapshot and parses the text again, as for any published rules, because these rules are not checked. */
function compiled(snapshot: Snapshot): CompiledRules {
  const rules = compile(snapshot);
  return { ...rules, document: documentOf(rules.text) };
}

function difference(
  before: Pick<CompiledRules, 'text' | 'document'>,
  after: Pick<CompiledRules, 'text' | 'document'>,
): AccessChange[] {
  return before.text === after.text ? [] : [compareAccess(before.document, after.document)];
}

function sumOf(changes: readonly AccessChange[]): AccessChange {
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
