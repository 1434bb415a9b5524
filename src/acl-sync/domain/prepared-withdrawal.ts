import { compareAccess } from '../../trino-rules/diff/access-change.js';
import type { Finding } from '../../trino-rules/document/finding.js';
import { readRules } from '../../trino-rules/document/rules-reader.js';
import { effective } from '../../trino-rules/model/effective-snapshot.js';
import type { Snapshot } from '../../trino-rules/model/snapshot.js';
import {
  type Candidate,
  checkedCandidate,
  compileFor,
  digestFields,
  firstChange,
  isRefused,
  type Preparation,
  sizeFields,
} from './candidate.js';
import { closedRules } from './closed-rules.js';
import { type Baseline, documentOf, snapshotPair, type SnapshotPair, writtenSnapshot } from './unexplained-change.js';
import { withdrawnSnapshot } from './withdrawal.js';

export interface WithdrawalOrder {
  /** `closed`: without the compiler, because it exceeded its time. */
  how: 'compiled' | 'closed';
  /** The changes since the baseline whose losses count: recorded ones, or all if only the engine refused the candidate. */
  changes: 'recorded' | 'all';
}

/**
 * The rules to publish while a run is refused: the baseline without access that changes took away since, compiled and proved. If that fails
 * or gains access, the baseline's rules with denials in front for users who lost anything (docs/decisions/0012).
 * @returns a candidate, with an error among its findings if even the denials cannot be proved; null: nothing was published before
 */
export function prepareWithdrawal(
  preparation: Preparation,
  compiler: string,
  { how, changes }: WithdrawalOrder,
): Candidate | null {
  const { snapshot, previous } = preparation;
  if (previous === null) return null;
  const { baseline, published } = previous;
  const known = republished(baseline);
  const snapshots = withSettings(snapshotPair(snapshot, previous, changes), baseline, snapshot);
  const less = snapshots && withdrawnSnapshot(snapshots.previous, snapshots.explained);
  const finished = (candidate: Candidate): Candidate => ({
    ...candidate,
    access: compareAccess(documentOf(published), documentOf(candidate.text)),
    changedAt: firstChange(previous, snapshots, snapshot.at),
  });
  // Rules of this database were never in force, so its records say nothing about access to take away.
  if (baseline.isFound && baseline.snapshot === '') return finished(known);
  if (snapshots === null || less === null) return { ...known, findings: [WITHDRAWAL_IMPOSSIBLE] };
  if (writtenSnapshot(less) === writtenSnapshot(snapshots.previous)) return finished(known);
  // A found text may give access that this database does not know, so rules compiled from it must not replace the text.
  const compiled =
    how === 'compiled' && !baseline.isFound ? compiledWithdrawal(less, baseline, { ...preparation, compiler }) : null;
  if (compiled !== null) return finished(compiled);
  const reading = readRules(baseline.text);
  const { ownAccount } = snapshot.settings;
  const closed = reading.kind === 'read' ? closedRules(reading.document, snapshots, ownAccount) : null;
  if (closed === null) return { ...known, findings: [WITHDRAWAL_IMPOSSIBLE] };
  const { text, hash, document } = closed;
  return finished({ ...known, ...sizeFields(text, document), hash, at: snapshot.at, findings: [CLOSED_INSTEAD] });
}

/** Applies the present settings over a found text: every change of it waits for an approval, but losses by settings must not wait. */
function withSettings(
  snapshots: SnapshotPair | null,
  { isFound }: Baseline,
  { settings }: Snapshot,
): SnapshotPair | null {
  if (snapshots === null || !isFound) return snapshots;
  return { ...snapshots, explained: effective({ ...snapshots.explained, settings }) };
}

/** The compiled withdrawal. Null: it cannot be compiled, its proof fails, or it gains access over the baseline. */
function compiledWithdrawal(
  snapshot: Snapshot,
  baseline: Baseline,
  by: Pick<Preparation, 'position' | 'limits'> & { compiler: string },
): Candidate | null {
  try {
    const compiled = compileFor(snapshot, by.limits.bytes);
    if (compiled.kind === 'too-large') return null;
    const candidate = checkedCandidate(snapshot, compiled.rules, by);
    if (isRefused(candidate)) return null;
    return compareAccess(documentOf(baseline.text), documentOf(candidate.text)).gainedInAll > 0 ? null : candidate;
  } catch {
    return null; // The candidate came from the same compiler, and its failure has been logged.
  }
}

/** The baseline as a candidate; its checks passed when it was published. */
function republished({ text, hash, snapshot, compiler, at, position }: Baseline): Candidate {
  const known = { ...sizeFields(text, documentOf(text)), ...digestFields(snapshot), hash, compiler, at, position };
  return { ...known, findings: [], changedAt: null, access: null, verdicts: [] };
}

const CLOSED_INSTEAD: Finding = {
  code: 'closed-instead',
  severity: 'warning',
  message:
    'what was taken away could not be compiled: whoever lost anything is shut out of everything until rules can be published again',
};

const WITHDRAWAL_IMPOSSIBLE: Finding = {
  code: 'withdrawal-impossible',
  severity: 'error',
  message: 'what was taken away cannot be published either: revoked access stays open',
};
