import type { Finding } from '../../trino-rules/document/finding.js';
import { readRules } from '../../trino-rules/document/rules-reader.js';
import { effectiveSnapshot } from '../../trino-rules/model/effective-snapshot.js';
import type { Snapshot } from '../../trino-rules/model/snapshot.js';
import {
  type Candidate,
  dataSize,
  digestFields,
  firstChangeAt,
  hasRules,
  isRefused,
  makeCandidate,
  type Preparation,
  sizeFields,
} from './candidate.js';
import { closedRules, shutOutLosers } from './closed-rules.js';
import { type Baseline, snapshotPair, type SnapshotPair, writtenSnapshot } from './unexplained-change.js';
import { accessChange, dataOf } from './version-access.js';
import { withdrawnSnapshot } from './withdrawal.js';

export interface WithdrawalOrder {
  /** `compiled`: from a snapshot. `closed`: from the published rules, with denials in front, because the compilation failed. */
  how: 'compiled' | 'closed';
  /** The changes that may take access away. `recorded`: only those in the audit trail. `all`: also others. */
  changes: 'recorded' | 'all';
}

/**
 * Makes the version to publish while a run is refused: the last regular version (baseline) without the access that was taken away later.
 * If that fails, all users who lost access are denied everything (docs/decisions/0012).
 * @returns null: nothing was published before
 */
export function prepareWithdrawal(
  preparation: Preparation,
  compiler: string,
  { how, changes }: WithdrawalOrder,
): Candidate | null {
  const { snapshot, previous, artefacts } = preparation;
  if (previous === null) return null;
  const { baseline, publishedAccess } = previous;
  const keptCandidate = baselineCandidate(baseline);
  const snapshots = withPresentSettings(snapshotPair(snapshot, previous, changes), baseline, snapshot);
  const remaining = snapshots && withdrawnSnapshot(snapshots.previous, snapshots.explained);
  const withChange = (candidate: Candidate): Candidate => ({
    ...candidate,
    access: accessChange(publishedAccess, candidate),
    changedAt: firstChangeAt(previous, snapshots, snapshot.at),
  });
  // If the baseline was found at a target and its snapshot is not known, nothing shows which access was revoked: the baseline stays.
  if (baseline.isFound && baseline.snapshot === '') return withChange(keptCandidate);
  if (snapshots === null || remaining === null) return { ...keptCandidate, findings: [WITHDRAWAL_IMPOSSIBLE] };
  const canStay = baseline.text !== null || !hasRules(artefacts);
  if (canStay && writtenSnapshot(remaining) === writtenSnapshot(snapshots.previous)) return withChange(keptCandidate);
  const proveWithdrawal = (withdrawal: Snapshot) =>
    provedWithdrawal(withdrawal, baseline, { ...preparation, compiler });
  // Compiled rules must not replace a text that was found at a target, because that text may give access that this database does not record.
  const provedVersion = how === 'compiled' && !baseline.isFound ? proveWithdrawal(remaining) : null;
  if (provedVersion !== null) return withChange(provedVersion);
  const { ownAccount } = snapshot.settings;
  const shutOutVersion = hasRules(artefacts)
    ? closedBaseline(baseline, snapshots, ownAccount)
    : proveWithdrawal(shutOutLosers(snapshots, ownAccount).snapshot);
  if (shutOutVersion === null) return { ...keptCandidate, findings: [WITHDRAWAL_IMPOSSIBLE] };
  return withChange({ ...keptCandidate, ...shutOutVersion, at: snapshot.at, findings: [SHUT_OUT_FINDING] });
}

/** The rules of the baseline, preceded by denials for the users who lost access. Null: such denials cannot be written. */
function closedBaseline({ text }: Baseline, snapshots: SnapshotPair, ownAccount: string): Partial<Candidate> | null {
  const reading = readRules(text ?? '');
  const closedResult = reading.kind === 'read' ? closedRules(reading.document, snapshots, ownAccount) : null;
  if (closedResult === null) return null;
  return {
    ...sizeFields(closedResult.text, closedResult.document),
    ...digestFields(writtenSnapshot(closedResult.snapshot)),
    hash: closedResult.hash,
  };
}

/** Puts the present settings into `explained` if the baseline was found at a target. A loss of access by settings then waits for no approval. */
function withPresentSettings(
  snapshots: SnapshotPair | null,
  { isFound }: Baseline,
  { settings }: Snapshot,
): SnapshotPair | null {
  if (snapshots === null || !isFound) return snapshots;
  return { ...snapshots, explained: effectiveSnapshot({ ...snapshots.explained, settings }) };
}

/** Compiles and proves the snapshot of a withdrawal. Null if that fails, or if the rules give access that `baseline` does not give. */
function provedWithdrawal(
  snapshot: Snapshot,
  baseline: Baseline,
  candidateOptions: Parameters<typeof makeCandidate>[1],
): Candidate | null {
  try {
    const candidateResult = makeCandidate(snapshot, candidateOptions);
    if (candidateResult.kind === 'too-large' || isRefused(candidateResult.candidate)) return null;
    return accessChange(baseline, candidateResult.candidate).gainedInAll > 0 ? null : candidateResult.candidate;
  } catch {
    return null; // The candidate came from the same compiler, and its failure has been logged.
  }
}

function baselineCandidate({ text, hash, snapshot, compiler, at, position }: Baseline): Candidate {
  const size = text === null ? dataSize(dataOf(snapshot)) : sizeFields(text);
  const baselineFields = { ...size, ...digestFields(snapshot), hash, compiler, at, position };
  return { ...baselineFields, findings: [], changedAt: null, access: null, verdicts: [] };
}

const SHUT_OUT_FINDING: Finding = {
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
