import { createHash } from 'node:crypto';
import type { TrailPosition } from '../../audit/domain/audit-event.js';
import type { AdmissionVerdict } from '../../grants/domain/admission-ports.js';
import { isRefused as isUnloadable } from '../../rules-files/check/checks.js';
import { inOneLine } from '../../rules-files/check/foreign-rules.js';
import { readLeniently } from '../../rules-files/check/lenient-reader.js';
import { foreignPatterns, type ListedUser, ListedUsers, recordedUsers } from '../../rules-files/foreign/audiences.js';
import { foreignDocument, withComparableFilters } from '../../rules-files/foreign/foreign-document.js';
import {
  formerBreaches,
  type FormerBreaches,
  GUARANTEE_BROKEN,
  type GuaranteeVerdict,
  type JudgedRules,
} from '../../trino-rules/answers/guarantee-verdicts.js';
import { compile, type CompiledRules } from '../../trino-rules/compile/compile.js';
import { RulesTooLarge, type RulesUnderParent } from '../../trino-rules/compile/table-rules.js';
import { type AccessChange, compareAccess } from '../../trino-rules/diff/access-change.js';
import { type Finding, isError } from '../../trino-rules/document/finding.js';
import { ruleCount, type RulesDocument } from '../../trino-rules/document/rules-document.js';
import { checkRuleCount, checkSize } from '../../trino-rules/document/target-capacity.js';
import { BudgetExceeded, WorkBudget } from '../../trino-rules/document/work-budget.js';
import { nodeText } from '../../trino-rules/model/node.js';
import { principalsOf, type Snapshot, type SnapshotPolicy } from '../../trino-rules/model/snapshot.js';
import { judgeRules } from '../../trino-rules/verify/check.js';
import {
  approvedFinding,
  databaseBehindFinding,
  documentOf,
  findUnexplainedChange,
  needsApproval,
  type Previous,
  type SnapshotPair,
  toleratedFinding,
  unexplainedFinding,
  writtenSnapshot,
} from './unexplained-change.js';

/** Rules that could be published, with the findings of the checks. */
export interface Candidate {
  text: string;
  hash: string;
  rules: number;
  bytes: number;
  findings: Finding[];
  /** A snapshot file, as JSON; its digest changes with any input of the rules. */
  snapshot: string;
  snapshotHash: string;
  at: Date;
  /** The end of the audit trail before the snapshot was read. */
  position: TrailPosition;
  compiler: string;
  /** Time of the first unpublished change or expiry; null: there is none. */
  changedAt: Date | null;
  access: AccessChange | null;
  /** Verdicts on the guarantees of the snapshot; empty if the rules were not proved. */
  verdicts: GuaranteeVerdict[];
}

export interface Preparation {
  snapshot: Snapshot;
  position: TrailPosition;
  /** The published state; null: nothing was published yet, so no change is unexplained. */
  previous: Previous | null;
  /** Rules at the target from elsewhere, which a first publication replaces; absent: there are none. */
  foreign?: string;
  limits: {
    /** Limit of the target in bytes; null: it has none. */
    bytes: number | null;
    maxUnexplainedPercent: number;
    warnTableRules: number;
  };
}

/**
 * Compiles a snapshot, checks the text, and compares it with the published one: seconds of work for thousands of grants. A text
 * that is too large for the target is refused before it is proved.
 * @param compiler see `compilerDigest`
 */
export function prepare(preparation: Preparation, compiler: string): Candidate {
  const { snapshot, previous, limits } = preparation;
  const compiled = compileFor(snapshot, limits.bytes);
  if (compiled.kind === 'too-large') return refusedCandidate(preparation, compiled);
  const { rules } = compiled;
  const candidate = checkedCandidate(snapshot, rules, { ...preparation, compiler });
  if (previous === null)
    return isRefused(candidate) ? candidate : { ...candidate, access: accessOverForeign(preparation, rules.document) };
  if (previous.published === rules.text) return candidate;
  // A refused text is never published, so its access is not compared.
  if (isRefused(candidate)) return candidate;
  const access = compareAccess(documentOf(previous.published), rules.document);
  const isApproved = previous.baseline.approved.includes(rules.hash);
  if (previous.baseline.isFound) {
    const found = isApproved ? null : databaseBehindFinding(previous.baseline, rules.document, rules.hash);
    const reasons = [...(isApproved ? [approvedFinding(access)] : []), ...(found ? [found] : [])];
    return { ...candidate, access, findings: [...candidate.findings, ...reasons] };
  }
  const unexplained = findUnexplainedChange(snapshot, rules, previous, compiler);
  const compared = { ...candidate, access, changedAt: firstChange(previous, unexplained.snapshots, snapshot.at) };
  const withFinding = (finding: Finding): Candidate => ({ ...compared, findings: [...candidate.findings, finding] });
  if (unexplained.change.changedPairs === 0 && !unexplained.isEmptied) return compared;
  if (!needsApproval(unexplained, limits.maxUnexplainedPercent)) return withFinding(toleratedFinding(unexplained));
  return withFinding(isApproved ? approvedFinding(unexplained.change) : unexplainedFinding(unexplained, rules.hash));
}

/** The change of access for active accounts and for principals without accounts; null: the rules cannot be compared. */
function accessOverForeign({ snapshot, foreign }: Preparation, next: RulesDocument): AccessChange | null {
  if (foreign === undefined) return null;
  const { rules, findings } = readLeniently(foreign);
  if (rules === null || findings.some(({ code }) => isUnloadable(code))) return null;
  const patterns = foreignPatterns(new WorkBudget(FOREIGN_STEPS));
  try {
    const { document, unjudged } = foreignDocument(
      rules,
      new ListedUsers(listedPrincipals(snapshot), patterns),
      ({ text }) => inOneLine(text),
    );
    return unjudged.length > 0
      ? null
      : compareAccess(withComparableFilters(document), withComparableFilters(next), undefined, patterns);
  } catch (error) {
    if (!(error instanceof BudgetExceeded)) throw error;
    return null;
  }
}

function listedPrincipals(snapshot: Snapshot): ListedUser[] {
  const { settings, groups, grants } = snapshot;
  const granted = grants.flatMap(principalsOf).flatMap((each) => (each.type === 'engine' ? [each.name] : []));
  const names = new Set([...settings.serviceAccounts, ...groups.flatMap(({ engines }) => engines), ...granted]);
  const groupsOf = (engine: string): string[] =>
    groups.flatMap(({ name, engines }) => (engines.includes(engine) ? [name] : []));
  return [...recordedUsers(snapshot), ...[...names].map((name) => ({ name, groups: groupsOf(name) }))];
}

const FOREIGN_STEPS = 1_000_000_000;

/** A refused candidate for a snapshot that could not be compiled or checked, or whose rules are too large to be compiled. */
export function refusedCandidate({ snapshot, position, previous }: Preparation, tooLarge?: TooLarge): Candidate {
  const text = previous?.published ?? '';
  return {
    ...sizeFields(text, documentOf(text)),
    ...(tooLarge && { bytes: tooLarge.bytes }),
    ...digestFields(writtenSnapshot(snapshot)),
    hash: previous?.baseline.hash ?? '',
    at: snapshot.at,
    position,
    compiler: '',
    findings: [tooLarge?.finding ?? UNPREPARED],
    changedAt: null,
    access: null,
    verdicts: [],
  };
}

const UNPREPARED: Finding = {
  code: 'preparation-failed',
  severity: 'error',
  message: 'the rules could not be compiled or proved completely; the log has the reason',
};

export function isRefused({ findings }: Pick<Candidate, 'findings'>): boolean {
  return findings.some(isError);
}

/** The most breaches of each guarantee that are compared between two snapshots. */
const MOST_COMPARED = 20_000;

/**
 * Why a run would refuse this snapshot, guarantees aside and independent of what was published before; and the verdicts on its
 * guarantees.
 * @param former a state before, whose breaches are no witnesses; null: all are
 */
export function admissionVerdict(snapshot: Snapshot, former: Snapshot | null): AdmissionVerdict {
  const known = former && formerBreaches(former, judgeRules(compile(former).text, former, MOST_COMPARED).breaches);
  const rules = compile(snapshot);
  const { findings, verdicts } = proved(snapshot, rules, known);
  const refusal = [...rules.findings, ...findings].find((each) => isError(each) && each.code !== GUARANTEE_BROKEN);
  return { refusal: refusal?.message ?? null, verdicts };
}

function proved(
  snapshot: Snapshot,
  { text, largest }: Pick<CompiledRules, 'text' | 'largest'>,
  former: FormerBreaches | null = null,
): Pick<JudgedRules, 'findings' | 'verdicts'> {
  const { findings, verdicts } = judgeRules(text, snapshot, former === null ? undefined : MOST_COMPARED, former);
  return { findings: findings.map((finding) => explainUndecided(finding, largest, snapshot.policies)), verdicts };
}

/** The findings on compiled rules and the verdicts on guarantees, whatever was published before. A text that is too large for the target is not proved. */
export function checkCompiled(
  snapshot: Snapshot,
  rules: Omit<CompiledRules, 'hash'>,
  { bytes, warnTableRules }: Pick<Preparation['limits'], 'bytes' | 'warnTableRules'>,
): Pick<JudgedRules, 'findings' | 'verdicts'> {
  const oversize = checkSize(Buffer.byteLength(rules.text), bytes);
  const checked = oversize.length > 0 ? { findings: oversize, verdicts: [] } : proved(snapshot, rules);
  const counted = checkRuleCount(rules.document.tables.length, warnTableRules);
  return { findings: [...rules.findings, ...checked.findings, ...counted], verdicts: checked.verdicts };
}

export function checkedCandidate(
  snapshot: Snapshot,
  rules: CompiledRules,
  { position, limits, compiler }: Pick<Preparation, 'position' | 'limits'> & { compiler: string },
): Candidate {
  return {
    ...sizeFields(rules.text, rules.document),
    hash: rules.hash,
    ...checkCompiled(snapshot, rules, limits),
    // Leaves out the time of reading, which has no effect on the rules and would make every digest different.
    ...digestFields(writtenSnapshot(snapshot)),
    at: snapshot.at,
    position,
    compiler,
    changedAt: null,
    access: null,
  };
}

/** A digest that is equal for snapshots with the same meaning. */
export function snapshotDigest(snapshot: Snapshot): string {
  return digestFields(writtenSnapshot(snapshot)).snapshotHash;
}

/** The time of the first recorded change or expiry of a grant since `settledAt`. */
export function firstChange({ events, settledAt }: Previous, snapshots: SnapshotPair | null, now: Date): Date | null {
  const endings = snapshots?.previous.grants.flatMap(({ expiresAt }) => expiresAt ?? []) ?? [];
  const all = [...events.map(({ at }) => at), ...endings.filter((ending) => ending <= now)];
  const times = all.map((moment) => moment.getTime()).filter((time) => time > settledAt.getTime());
  return times.length === 0 ? null : new Date(times.reduce((a, b) => Math.min(a, b)));
}

export function sizeFields(text: string, document: RulesDocument): Pick<Candidate, 'text' | 'rules' | 'bytes'> {
  return { text, rules: ruleCount(document), bytes: Buffer.byteLength(text) };
}

export function digestFields(snapshot: string): Pick<Candidate, 'snapshot' | 'snapshotHash'> {
  return { snapshot, snapshotHash: createHash('sha256').update(snapshot).digest('hex') };
}

/** The rules are too large. Compiling stops as soon as that is certain, so `bytes` is a lower bound. */
export interface TooLarge {
  kind: 'too-large';
  bytes: number;
  finding: Finding;
}

type Compilation = { kind: 'compiled'; rules: CompiledRules } | TooLarge;

/** Compiles for a target. @param limit the target's limit in bytes; null: it has none */
export function compileFor(snapshot: Snapshot, limit: number | null): Compilation {
  try {
    return { kind: 'compiled', rules: compile(snapshot, limit ?? Infinity) };
  } catch (error) {
    if (!(error instanceof RulesTooLarge)) throw error;
    return { kind: 'too-large', bytes: error.atLeast, finding: overflow(error, limit ?? 0, snapshot.policies) };
  }
}

function overflow({ atLeast, most }: RulesTooLarge, limit: number, policies: readonly SnapshotPolicy[]): Finding {
  const [size] = checkSize(atLeast, limit, 'at least');
  return {
    code: 'too-large',
    severity: 'error',
    message: `${size?.message ?? ''}. At least ${causeOf(most, policies)}`,
  };
}

/** Adds the cause to the finding that there are too many rules to be proved. */
export function explainUndecided(
  finding: Finding,
  largest: RulesUnderParent,
  policies: readonly SnapshotPolicy[],
): Finding {
  // A finding with a rule concerns the patterns of that rule only.
  if (finding.code !== 'proof-undecided' || finding.rule !== undefined) return finding;
  return { ...finding, message: `${finding.message}. ${causeOf(largest, policies)}` };
}

/** The most policies whose ids a finding names. */
const MOST_NAMED = 10;

function causeOf({ where, rules }: RulesUnderParent, policies: readonly SnapshotPolicy[]): string {
  const own = policies.filter(({ kind, resource }) => kind !== 'deny' && overlaps(nodeText(resource), where));
  const place = where === '' ? '' : ` in ${where}`;
  const ids = own.slice(0, MOST_NAMED).map(({ id }) => id);
  const counted = `${rules} rules are needed${place}, one for each combination of privileges, filters, masks and hidden columns`;
  const cause =
    own.length === 0
      ? ''
      : `; ${own.length} policies make them (ids ${ids.join(', ')}${own.length > MOST_NAMED ? ' …' : ''}): let fewer of them reach the same people, or write one for everybody whose ` +
        'expression asks for current_user';
  return `${counted}${cause}`;
}

function overlaps(a: string, b: string): boolean {
  return a === b || b === '' || a.startsWith(`${b}.`) || b.startsWith(`${a}.`);
}
