import { createHash } from 'node:crypto';
import type { TrailPosition } from '../../audit/domain/audit-event.js';
import type { AdmissionVerdict } from '../../grants/domain/admission-ports.js';
import { replacedAccess } from '../../rules-files/foreign/foreign-diff.js';
import {
  formerBreaches,
  type FormerBreachTest,
  GUARANTEE_BROKEN,
  type GuaranteeVerdict,
  type JudgedRules,
} from '../../trino-rules/answers/guarantee-verdicts.js';
import { compile, type CompiledRules } from '../../trino-rules/compile/compile.js';
import { RulesTooLarge, type RulesUnderParent } from '../../trino-rules/compile/table-rules.js';
import type { AccessChange } from '../../trino-rules/diff/access-change.js';
import { type Finding, isError } from '../../trino-rules/document/finding.js';
import { ruleCount } from '../../trino-rules/document/rules-document.js';
import { documentOf } from '../../trino-rules/document/rules-reader.js';
import { checkRuleCount, checkSize } from '../../trino-rules/document/target-capacity.js';
import { nodeText } from '../../trino-rules/model/node.js';
import type { Snapshot, SnapshotPolicy } from '../../trino-rules/model/snapshot.js';
import { judgeRules } from '../../trino-rules/verify/check.js';
import {
  approvedFinding,
  databaseBehindFinding,
  findUnexplainedChange,
  needsApproval,
  type PreviousState,
  type SnapshotPair,
  toleratedFinding,
  unexplainedFinding,
  writtenSnapshot,
} from './unexplained-change.js';
import {
  accessChange,
  isSameAccess,
  keepOpaData,
  provedData,
  type Artefact,
  type VersionAccess,
} from './version-access.js';

/** A version that could be published, with the findings of the checks. */
export interface Candidate {
  /** The text of the rules; null if OPA is the only target, which uses no rules. */
  text: string | null;
  /** The hash of the rules, which the rules also contain as a session property. If `text` is null: the hash of the snapshot. */
  hash: string;
  rules: number;
  /** Size of the rules; in a version without rules, size of the data for OPA. */
  bytes: number;
  findings: Finding[];
  /** The snapshot as a JSON file. Its digest, `snapshotHash`, changes with every input of the rules. */
  snapshot: string;
  snapshotHash: string;
  at: Date;
  /** The position of the last audit event before the snapshot was read. */
  position: TrailPosition;
  compiler: string;
  /** Time of the first unpublished change or expiry; null: no such time is known. */
  changedAt: Date | null;
  access: AccessChange | null;
  /** Verdicts on the guarantees of the snapshot; empty if the rules were not proved. */
  verdicts: GuaranteeVerdict[];
}

export interface Preparation {
  snapshot: Snapshot;
  position: TrailPosition;
  /** The published state, for comparison; null: nothing was published yet. */
  previous: PreviousState | null;
  /** Rules at the target that Grantline did not write and that a first publication replaces; absent: there are none. */
  foreignText?: string;
  /** The artefacts (rules, OPA data) to make and prove; absent: only the rules. */
  artefacts?: readonly Artefact[];
  limits: {
    /** The target's limit in bytes; null: no limit. */
    bytes: number | null;
    maxUnexplainedPercent: number;
    warnTableRules: number;
  };
}

/**
 * Compiles a snapshot, checks the text, and compares it with the published one: seconds of work for thousands of grants.
 * @param compiler digest of the compiler's code
 */
export function prepare(preparation: Preparation, compiler: string): Candidate {
  const { snapshot, previous, limits, artefacts } = preparation;
  const candidateResult = makeCandidate(snapshot, { ...preparation, compiler });
  if (candidateResult.kind === 'too-large') return refusedCandidate(preparation, candidateResult);
  const { candidate, next } = candidateResult;
  if (previous === null) {
    const { foreignText } = preparation;
    if (isRefused(candidate) || foreignText === undefined || next.document === undefined) return candidate;
    return { ...candidate, access: replacedAccess(foreignText, snapshot, next.document) };
  }
  if (isSameAccess(previous.publishedAccess, next)) return candidate;
  // A refused version is never published, so its access is not compared.
  if (isRefused(candidate)) return candidate;
  const access = accessChange(previous.publishedAccess, next);
  const hashToApprove = approvalHash(candidate, artefacts?.includes('data') === true);
  const isApproved = previous.baseline.approved.includes(hashToApprove);
  if (previous.baseline.isFound) {
    const behindFinding = isApproved ? null : databaseBehindFinding(previous.baseline, next, hashToApprove);
    const reasons = [...(isApproved ? [approvedFinding(access)] : []), ...(behindFinding ? [behindFinding] : [])];
    return { ...candidate, access, findings: [...candidate.findings, ...reasons] };
  }
  const unexplained = findUnexplainedChange(snapshot, next, previous, compiler);
  const result = { ...candidate, access, changedAt: firstChangeAt(previous, unexplained.snapshots, snapshot.at) };
  const withFinding = (finding: Finding): Candidate => ({ ...result, findings: [...candidate.findings, finding] });
  if (unexplained.change.changedPairs === 0 && !unexplained.isEmptied) return result;
  if (!needsApproval(unexplained, limits.maxUnexplainedPercent)) return withFinding(toleratedFinding(unexplained));
  return withFinding(isApproved ? approvedFinding(unexplained.change) : unexplainedFinding(unexplained, hashToApprove));
}

/** A refused candidate for a snapshot that could not be compiled or checked, or whose rules are too large to be compiled. */
export function refusedCandidate(
  { snapshot, position, previous, artefacts }: Preparation,
  tooLarge?: TooLarge,
): Candidate {
  return {
    ...(hasRules(artefacts) ? sizeFields(previous?.publishedAccess.text ?? '') : dataSize('')),
    ...(tooLarge && { bytes: tooLarge.bytes }),
    ...digestFields(writtenSnapshot(snapshot)),
    hash: previous?.baseline.hash ?? '',
    at: snapshot.at,
    position,
    compiler: '',
    findings: [tooLarge?.finding ?? PREPARATION_FAILED],
    changedAt: null,
    access: null,
    verdicts: [],
  };
}

const PREPARATION_FAILED: Finding = {
  code: 'preparation-failed',
  severity: 'error',
  message: 'the rules could not be compiled or proved completely; the log has the reason',
};

export function hasRules(artefacts: readonly Artefact[] = ['rules']): boolean {
  return artefacts.includes('rules');
}

/** The hash that an approval names: of the text or, if OPA is a target, of the snapshot, because equal texts can have unequal OPA data. */
export function approvalHash(
  { hash, snapshotHash }: Pick<Candidate, 'hash' | 'snapshotHash'>,
  isForOpa: boolean,
): string {
  return isForOpa ? snapshotHash : hash;
}

export function isRefused({ findings }: Pick<Candidate, 'findings'>): boolean {
  return findings.some(isError);
}

/** The most breaches that are listed for each guarantee when two snapshots are compared. */
const MAX_COMPARED_BREACHES = 20_000;

/**
 * Says why a run would refuse a snapshot, and which guarantees the snapshot breaks.
 * @param formerSnapshot the snapshot before a change: breaches that already exist in it are not reported; null: all breaches are reported
 */
export function admissionVerdict(
  snapshot: Snapshot,
  formerSnapshot: Snapshot | null,
  artefacts?: readonly Artefact[],
): AdmissionVerdict {
  const judge = (judgedSnapshot: Snapshot, isFormerBreach: FormerBreachTest | null = null): JudgedRules => {
    const maxBreaches = formerSnapshot === null ? undefined : MAX_COMPARED_BREACHES;
    if (!hasRules(artefacts)) return provedData(judgedSnapshot, maxBreaches, isFormerBreach);
    const rules = compile(judgedSnapshot);
    const { findings, ...otherFields } = provedRules(judgedSnapshot, rules, maxBreaches, isFormerBreach);
    return { ...otherFields, findings: [...rules.findings, ...findings] };
  };
  const { findings, verdicts } = judge(
    snapshot,
    formerSnapshot && formerBreaches(formerSnapshot, judge(formerSnapshot).breaches),
  );
  const refusal = findings.find((each) => isError(each) && each.code !== GUARANTEE_BROKEN);
  return { refusal: refusal?.message ?? null, verdicts };
}

function provedRules(
  snapshot: Snapshot,
  { text, parentWithMostRules: largestParent }: Pick<CompiledRules, 'text' | 'parentWithMostRules'>,
  ...judgeOptions: [most?: number, former?: FormerBreachTest | null]
): JudgedRules {
  const { findings, ...otherFields } = judgeRules(text, snapshot, ...judgeOptions);
  return {
    ...otherFields,
    findings: findings.map((finding) => explainUndecided(finding, largestParent, snapshot.policies)),
  };
}

/** The findings on compiled rules and the verdicts on guarantees. A text that is too large for the target is not proved. */
export function checkCompiled(
  snapshot: Snapshot,
  rules: Omit<CompiledRules, 'hash'>,
  { bytes, warnTableRules }: Pick<Preparation['limits'], 'bytes' | 'warnTableRules'>,
): Pick<JudgedRules, 'findings' | 'verdicts'> {
  const sizeFindings = checkSize(Buffer.byteLength(rules.text), bytes);
  const proof = sizeFindings.length > 0 ? { findings: sizeFindings, verdicts: [] } : provedRules(snapshot, rules);
  const countFindings = checkRuleCount(rules.document.tables.length, warnTableRules);
  return { findings: [...rules.findings, ...proof.findings, ...countFindings], verdicts: proof.verdicts };
}

/** Makes a candidate from a snapshot, without comparing it with earlier versions. */
export function makeCandidate(
  snapshot: Snapshot,
  {
    position,
    limits,
    artefacts,
    compiler,
  }: Pick<Preparation, 'position' | 'limits' | 'artefacts'> & { compiler: string },
): { kind: 'made'; candidate: Candidate; next: VersionAccess } | TooLarge {
  const compilation = hasRules(artefacts) ? compileFor(snapshot, limits.bytes) : null;
  if (compilation?.kind === 'too-large') return compilation;
  const rules = compilation?.rules;
  const opaData = artefacts?.includes('data') === true ? provedData(snapshot) : null;
  const checks = rules ? checkCompiled(snapshot, rules, limits) : { findings: [], verdicts: opaData?.verdicts ?? [] };
  // A guarantee that both the rules and the OPA data break is reported once.
  const messages = new Set(checks.findings.map(({ message }) => message));
  const findings = [...checks.findings, ...(opaData?.findings ?? []).filter(({ message }) => !messages.has(message))];
  // `writtenSnapshot` leaves out the time of reading, which has no effect on the rules and would make every digest different.
  const digest = digestFields(writtenSnapshot(snapshot));
  if (opaData?.findings.length === 0) keepOpaData(digest.snapshot, opaData);
  const size = rules ? sizeFields(rules.text, rules.document) : dataSize(opaData?.text ?? '');
  const candidate = {
    ...{ ...size, ...digest, hash: rules?.hash ?? digest.snapshotHash },
    ...{ findings, verdicts: checks.verdicts, at: snapshot.at, position, compiler },
    ...{ changedAt: null, access: null },
  };
  return { kind: 'made', candidate, next: { ...digest, ...rules, text: size.text } };
}

/** A digest that is equal for snapshots with the same meaning. */
export function snapshotDigest(snapshot: Snapshot): string {
  return digestFields(writtenSnapshot(snapshot)).snapshotHash;
}

export function firstChangeAt({ events, settledAt }: PreviousState, pair: SnapshotPair | null, now: Date): Date | null {
  const expiries = pair?.previous.grants.flatMap(({ expiresAt }) => expiresAt ?? []) ?? [];
  const moments = [...events.map(({ at }) => at), ...expiries.filter((expiry) => expiry <= now)];
  const times = moments.map((moment) => moment.getTime()).filter((time) => time > settledAt.getTime());
  return times.length === 0 ? null : new Date(times.reduce((a, b) => Math.min(a, b)));
}

type SizeFields = Pick<Candidate, 'text' | 'rules' | 'bytes'>;

export function sizeFields(text: string, document = documentOf(text)): SizeFields {
  return { text, rules: ruleCount(document), bytes: Buffer.byteLength(text) };
}

export function dataSize(data: string): SizeFields {
  return { text: null, rules: 0, bytes: Buffer.byteLength(data) };
}

export function digestFields(snapshot: string): Pick<Candidate, 'snapshot' | 'snapshotHash'> {
  return { snapshot, snapshotHash: createHash('sha256').update(snapshot).digest('hex') };
}

/** The result for rules that are too large. Compiling stops as soon as that is certain, so `bytes` is a lower bound. */
export interface TooLarge {
  kind: 'too-large';
  bytes: number;
  finding: Finding;
}

type Compilation = { kind: 'compiled'; rules: CompiledRules } | TooLarge;

/** Compiles rules for a target. @param limit the target's limit in bytes; null: no limit */
export function compileFor(snapshot: Snapshot, limit: number | null): Compilation {
  try {
    return { kind: 'compiled', rules: compile(snapshot, limit ?? Infinity) };
  } catch (error) {
    if (!(error instanceof RulesTooLarge)) throw error;
    return { kind: 'too-large', bytes: error.minBytes, finding: overflowFinding(error, limit ?? 0, snapshot.policies) };
  }
}

function overflowFinding(error: RulesTooLarge, limit: number, policies: readonly SnapshotPolicy[]): Finding {
  const [size] = checkSize(error.minBytes, limit, 'at least');
  return {
    code: 'too-large',
    severity: 'error',
    message: `${size?.message ?? ''}. At least ${ruleCountCause(error.parentAtLimit, policies)}`,
  };
}

/** If a finding says that there are too many rules to prove, adds why there are so many. */
export function explainUndecided(
  finding: Finding,
  parentWithMostRules: RulesUnderParent,
  policies: readonly SnapshotPolicy[],
): Finding {
  // If the finding names a rule, the patterns of that rule are the cause, and not the number of rules.
  if (finding.code !== 'proof-undecided' || finding.rule !== undefined) return finding;
  return { ...finding, message: `${finding.message}. ${ruleCountCause(parentWithMostRules, policies)}` };
}

/** The most policy ids that a finding lists. */
const MAX_LISTED_POLICIES = 10;

function ruleCountCause({ parent, rulesInAll }: RulesUnderParent, policies: readonly SnapshotPolicy[]): string {
  const restrictions = policies.filter(({ kind, resource }) => kind !== 'deny' && overlaps(nodeText(resource), parent));
  const scopeText = parent === '' ? '' : ` in ${parent}`;
  const ids = restrictions.slice(0, MAX_LISTED_POLICIES).map(({ id }) => id);
  const countText = `${rulesInAll} rules are needed${scopeText}, one for each combination of privileges, filters, masks and hidden columns`;
  const policiesText =
    restrictions.length === 0
      ? ''
      : `; ${restrictions.length} policies make them (ids ${ids.join(', ')}${restrictions.length > MAX_LISTED_POLICIES ? ' …' : ''}): let fewer of them reach the same people, or write one for everybody whose ` +
        'expression asks for current_user';
  return `${countText}${policiesText}`;
}

function overlaps(a: string, b: string): boolean {
  return a === b || b === '' || a.startsWith(`${b}.`) || b.startsWith(`${a}.`);
}
