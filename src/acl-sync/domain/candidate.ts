import { createHash } from 'node:crypto';
import type { TrailPosition } from '../../audit/domain/audit-store.js';
import { compile, type CompiledRules } from '../../trino-rules/compile/compile.js';
import { type AccessChange, compareAccess } from '../../trino-rules/diff/access-change.js';
import { type Finding, isError } from '../../trino-rules/document/finding.js';
import { ruleCount, type RulesDocument } from '../../trino-rules/document/rules-document.js';
import { checkSize, checkRuleCount } from '../../trino-rules/document/target-capacity.js';
import type { Snapshot } from '../../trino-rules/model/snapshot.js';
import { checkRules } from '../../trino-rules/verify/check.js';
import { closedRules } from './closed-rules.js';
import { takings } from './takings.js';
import {
  approvedFinding,
  type Baseline,
  documentOf,
  type Previous,
  needsApproval,
  toleratedFinding,
  findUnexplainedChange,
  unexplainedFinding,
  type SnapshotPair,
  snapshotPair,
  writtenSnapshot,
} from './unexplained-change.js';
import { withdrawal } from './withdrawal.js';

/** Rules that could be published, and everything that the checks have to say about them. */
export interface Candidate {
  text: string;
  hash: string;
  /** How many, in all sections. */
  rules: number;
  /** UTF-8. */
  bytes: number;
  findings: Finding[];
  /** The form of a snapshot file, as JSON; its digest tells whether anything that rules follow from has changed. */
  snapshot: string;
  snapshotHash: string;
  /** When the snapshot was taken. */
  at: Date;
  /** Where the audit trail was before that. */
  position: TrailPosition;
  /** Which build made it. */
  compiler: string;
  /** When the first of its grants ends by itself; null: none does. */
  nextExpiry: Date | null;
  /** When the first change that is not published yet was recorded, or took effect by itself; null: nobody recorded one. */
  changedAt: Date | null;
  /** Who gains and loses what against the text that was published last; null: nothing, or there was none. */
  access: AccessChange | null;
}

/** What a candidate is made of and judged by. */
export interface Preparation {
  snapshot: Snapshot;
  /** Where the audit trail was before that was read. */
  position: TrailPosition;
  /** Null: nothing was published yet, so that nothing can unexplained. */
  previous: Previous | null;
  limits: {
    /** Of the target; null: it has none. */
    bytes: number | null;
    maxUnexplainedPercent: number;
    warnTableRules: number;
  };
}

/**
 * Compiles a snapshot, judges the text that came out, and compares it with what was published: seconds of work for thousands of
 * grants. What no target of this size can hold is refused before it is proved.
 * @param compiler which build this is
 */
export function prepare(preparation: Preparation, compiler: string): Candidate {
  const { snapshot, previous, limits } = preparation;
  const rules = compile(snapshot);
  const candidate = checkedCandidate(snapshot, rules, { ...preparation, compiler });
  if (previous === null || previous.published === rules.text) return candidate;
  // What a text means that the checks refuse is anybody's guess, and it goes nowhere.
  if (isRefused(candidate)) return candidate;
  const access = compareAccess(documentOf(previous.published), rules.document);
  const unexplained = findUnexplainedChange(snapshot, rules, previous, compiler);
  const compared = { ...candidate, access, changedAt: firstChange(previous, unexplained.snapshots, snapshot.at) };
  const withFinding = (finding: Finding): Candidate => ({ ...compared, findings: [...candidate.findings, finding] });
  if (unexplained.change.changedPairs === 0 && !unexplained.isEmptied) return compared;
  const isApproved = previous.baseline.approved.includes(rules.hash);
  if (!needsApproval(unexplained, limits.maxUnexplainedPercent)) return withFinding(toleratedFinding(unexplained));
  return withFinding(isApproved ? approvedFinding(unexplained) : unexplainedFinding(unexplained, rules.hash));
}

/**
 * What goes out while a run is refused, for whatever reason: what recorded changes took away since the last version that was
 * published whole, and nothing else. Compiled and proved like any other; where that fails, or gives anybody more than that
 * version, its own rules go out with denials in front (docs/decisions/0012).
 * @param how `closed`: do not compile at all, because that did not end
 * @returns with an error among its findings where even that cannot be proved; null: there is nothing to take from
 */
export function prepareWithdrawal(
  preparation: Preparation,
  compiler: string,
  how: 'compiled' | 'closed',
): Candidate | null {
  const { snapshot, previous } = preparation;
  if (previous === null) return null;
  const { baseline, published } = previous;
  const known = republished(baseline);
  const snapshots = snapshotPair(snapshot, previous);
  const less = snapshots && withdrawal(snapshots.previous, snapshots.explained);
  const finished = (candidate: Candidate): Candidate => ({
    ...candidate,
    access: compareAccess(documentOf(published), documentOf(candidate.text)),
    changedAt: firstChange(previous, snapshots, snapshot.at),
  });
  if (snapshots === null || less === null) return { ...known, findings: [WITHDRAWAL_IMPOSSIBLE] };
  if (writtenSnapshot(less) === writtenSnapshot(snapshots.previous)) return finished(known);
  const compiled = how === 'compiled' ? compiledWithdrawal(less, baseline, { ...preparation, compiler }) : null;
  if (compiled !== null) return finished(compiled);
  const closed = closedRules(documentOf(baseline.text), takings(snapshots.previous, snapshots.explained));
  if (closed === null) return { ...known, findings: [WITHDRAWAL_IMPOSSIBLE] };
  const { text, hash, document } = closed;
  return finished({ ...known, ...sized(text, document), hash, at: snapshot.at, findings: [CLOSED_INSTEAD] });
}

/** Null: it cannot be compiled, its proof fails, or it would give somebody more than the baseline did. */
function compiledWithdrawal(
  snapshot: Snapshot,
  baseline: Baseline,
  by: Pick<Preparation, 'position' | 'limits'> & { compiler: string },
): Candidate | null {
  try {
    const candidate = checkedCandidate(snapshot, compile(snapshot), by);
    if (isRefused(candidate)) return null;
    return compareAccess(documentOf(baseline.text), documentOf(candidate.text)).gainedInAll > 0 ? null : candidate;
  } catch {
    return null; // The candidate itself was compiled by the same program, and that failure has been logged.
  }
}

/** A candidate of a snapshot for which no text could be made. */
export function unprepared({ snapshot, position, previous }: Preparation): Candidate {
  const text = previous?.published ?? '';
  return {
    ...sized(text, documentOf(text)),
    ...digested(writtenSnapshot(snapshot)),
    hash: previous?.baseline.hash ?? '',
    at: snapshot.at,
    position,
    compiler: '',
    findings: [UNPREPARED],
    nextExpiry: null,
    changedAt: null,
    access: null,
  };
}

const UNPREPARED: Finding = {
  code: 'preparation-failed',
  severity: 'error',
  message: 'the rules could not be compiled or proved to the end; the log says why',
};

const CLOSED_INSTEAD: Finding = {
  code: 'closed-instead',
  severity: 'warning',
  message:
    'what was taken away could not be compiled: the nodes concerned are closed altogether to the people concerned, until rules can be published again',
};

const WITHDRAWAL_IMPOSSIBLE: Finding = {
  code: 'withdrawal-impossible',
  severity: 'error',
  message: 'what was taken away cannot be published either: revoked access stays open',
};

export function isRefused({ findings }: Pick<Candidate, 'findings'>): boolean {
  return findings.some(isError);
}

/** Why a run would refuse this snapshot, whatever was published before; null: it would not. */
export function refusalOf(snapshot: Snapshot): Finding | null {
  const { text, findings } = compile(snapshot);
  return [...findings, ...checkRules(text, snapshot)].find(isError) ?? null;
}

/** All that there is to say about compiled rules by themselves: what no target of this size can hold is not proved. */
export function checkCompiled(
  snapshot: Snapshot,
  { text, document, findings }: Pick<CompiledRules, 'text' | 'document' | 'findings'>,
  { bytes, warnTableRules }: Pick<Preparation['limits'], 'bytes' | 'warnTableRules'>,
): Finding[] {
  const oversize = checkSize(Buffer.byteLength(text), bytes);
  const checked = oversize.length > 0 ? oversize : checkRules(text, snapshot);
  return [...findings, ...checked, ...checkRuleCount(document.tables.length, warnTableRules)];
}

function checkedCandidate(
  snapshot: Snapshot,
  { text, hash, document, findings }: CompiledRules,
  { position, limits, compiler }: Pick<Preparation, 'position' | 'limits'> & { compiler: string },
): Candidate {
  return {
    ...sized(text, document),
    hash,
    findings: checkCompiled(snapshot, { text, document, findings }, limits),
    // Without the moment: it changes with every reading, what follows from it does not.
    ...digested(writtenSnapshot(snapshot)),
    at: snapshot.at,
    position,
    compiler,
    nextExpiry: earliest(
      snapshot.grants.flatMap(({ expiresAt }) => expiresAt ?? []),
      snapshot.at,
    ),
    changedAt: null,
    access: null,
  };
}

/** Recorded, or a grant that ended by itself. */
function firstChange({ events, settledAt }: Previous, snapshots: SnapshotPair | null, now: Date): Date | null {
  const endings = snapshots?.previous.grants.flatMap(({ expiresAt }) => expiresAt ?? []) ?? [];
  const ended = endings.filter((ending) => ending <= now);
  return earliest([...events.map(({ at }) => at), ...ended], settledAt);
}

/** What is published already, and was judged then. */
function republished({ text, hash, snapshot, compiler, at, position }: Baseline): Candidate {
  const known = { ...sized(text, documentOf(text)), ...digested(snapshot), hash, compiler, at, position };
  return { ...known, findings: [], nextExpiry: null, changedAt: null, access: null };
}

function sized(text: string, document: RulesDocument): Pick<Candidate, 'text' | 'rules' | 'bytes'> {
  return { text, rules: ruleCount(document), bytes: Buffer.byteLength(text) };
}

function digested(snapshot: string): Pick<Candidate, 'snapshot' | 'snapshotHash'> {
  return { snapshot, snapshotHash: createHash('sha256').update(snapshot).digest('hex') };
}

function earliest(moments: readonly Date[], after: Date): Date | null {
  const ahead = moments.map((moment) => moment.getTime()).filter((time) => time > after.getTime());
  return ahead.length === 0 ? null : new Date(ahead.reduce((a, b) => Math.min(a, b)));
}
