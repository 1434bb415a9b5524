import type { TrailPosition } from '../../audit/domain/audit-store.js';
import { compile, type CompiledRules } from '../../trino-rules/compile/compile.js';
import { type AccessChange, compareAccess } from '../../trino-rules/diff/access-change.js';
import type { Finding } from '../../trino-rules/document/finding.js';
import { NO_RULES, type RulesDocument } from '../../trino-rules/document/rules-document.js';
import { readRules } from '../../trino-rules/document/rules-reader.js';
import { effective } from '../../trino-rules/model/effective-snapshot.js';
import { readSnapshot, writeSnapshot } from '../../trino-rules/model/snapshot-file.js';
import type { Snapshot } from '../../trino-rules/model/snapshot.js';
import { firstChanges } from './access-text.js';
import { AuditProjection, type RecordedEvent } from './audit-projection.js';
import { explainedSnapshot } from './explained-snapshot.js';

/** The last version that was published whole: what recorded changes are counted from. */
export interface Baseline {
  text: string;
  hash: string;
  /** What it followed from: the form of a snapshot file, as JSON. */
  snapshot: string;
  /** When that was read. */
  at: Date;
  /** Where the audit trail was before that: what was recorded later explains what follows. */
  position: TrailPosition;
  /** Which build made it. */
  compiler: string;
  /** Hashes of texts that may follow it although not everything in them is explained. */
  approved: readonly string[];
}

/** What a candidate is compared with. */
export interface Previous {
  baseline: Baseline;
  /** The text that was published last: another one than the baseline' while an unexplained change waits. */
  published: string;
  /** What was recorded since the baseline' snapshot was read, the oldest first. */
  events: readonly RecordedEvent[];
  /** When a run last left nothing to publish: since then, the first change waits. */
  settledAt: Date;
}

/** What no record explains of a change. */
export interface UnexplainedChange {
  change: AccessChange;
  /** By the record there should be grants, and there is none. */
  isEmptied: boolean;
  snapshots: SnapshotPair | null;
}

/** The previous snapshot, and the same with every recorded change in it. */
export interface SnapshotPair {
  previous: Snapshot;
  explained: Snapshot;
}

/** Null: this build cannot read the previous. */
export function snapshotPair(snapshot: Snapshot, { baseline, events }: Previous): SnapshotPair | null {
  const previous = readBack(baseline.snapshot, snapshot);
  return previous && { previous, explained: explainedSnapshot(previous, snapshot, new AuditProjection(events)) };
}

/**
 * What of a change nobody has recorded (access model, section 3, "No surprise"): rows that are not as the audit trail last said,
 * settings, and what another build makes of the same snapshot.
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
    // What this build cannot compile explains nothing: all of the change waits for an approval.
    return { change: compareAccess(before, rules.document), isEmptied, snapshots };
  }
}

/** A small snapshot is surprised by every single pair. */
const FEWEST_PAIRS = 50;

export function needsApproval({ change, isEmptied }: UnexplainedChange, maxPercent: number): boolean {
  const { changedPairs, allPairs } = change;
  return isEmptied || (changedPairs >= FEWEST_PAIRS && changedPairs * 100 > maxPercent * allPairs);
}

export function unexplainedFinding(unexplained: UnexplainedChange, hash: string): Finding {
  const message =
    `no recorded change explains this: ${changeText(unexplained)}. It is published once an administrator has approved the ` +
    `text ${hash}; until then, what recorded changes take away goes out, and nothing else`;
  return { code: UNEXPLAINED, severity: 'error', message };
}

/** Below the limit it passes, and is told all the same. */
export function toleratedFinding(unexplained: UnexplainedChange): Finding {
  const message = `no recorded change explains this, and it is small enough to pass: ${changeText(unexplained)}`;
  return { code: UNEXPLAINED, severity: 'warning', message };
}

function changeText({ change, isEmptied }: UnexplainedChange): string {
  const { changedPairs, allPairs } = change;
  const share = `${changedPairs} of ${allPairs} pairs of a person and a node change`;
  const what = isEmptied ? `there is not one grant left, and nobody has revoked them; ${share}` : share;
  return `${what} (${firstChanges(change)})`;
}

export function approvedFinding({ change: { changedPairs } }: UnexplainedChange): Finding {
  const message = `no recorded change explains what ${changedPairs} pairs of a person and a node gain or lose; it was approved`;
  return { code: APPROVED, severity: 'info', message };
}

export const UNEXPLAINED = 'unexplained-change';
export const APPROVED = 'approved-change';

/** The form of a snapshot file of what has effect, without its moment: equal for snapshots that mean the same. */
export function writtenSnapshot(snapshot: Snapshot): string {
  return JSON.stringify(writeSnapshot({ ...effective(snapshot), at: new Date(0) }));
}

/** A text that cannot be read gives nothing. */
export function documentOf(text: string): RulesDocument {
  const reading = readRules(text);
  return reading.kind === 'read' ? reading.document : NO_RULES;
}

function readBack(snapshot: string, { settings, at }: Snapshot): Snapshot | null {
  const reading = readSnapshot(JSON.parse(snapshot), { settings, at });
  return reading.kind === 'read' ? reading.snapshot : null;
}

/** Compiled, and read as everybody else reads it: nobody has checked these rules yet. */
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
      changedPairs: a.changedPairs + b.changedPairs,
      allPairs: Math.max(a.allPairs, b.allPairs),
    }),
    NO_CHANGE,
  );
}

const NO_CHANGE: AccessChange = { gained: [], lost: [], gainedInAll: 0, lostInAll: 0, changedPairs: 0, allPairs: 0 };
