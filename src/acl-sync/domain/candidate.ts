import { createHash } from 'node:crypto';
import type { TrailPosition } from '../../audit/domain/audit-store.js';
import type { Snapshot } from '../../grants/domain/snapshot.js';
import { type AccessChange, compareAccess } from '../proof/access-change.js';
import { checkRules } from '../proof/check.js';
import { compile, type CompiledRules } from '../compiler/compile.js';
import type { Finding } from '../rules/finding.js';
import { ruleCount, type RulesDocument } from '../rules/rules-document.js';
import { checkAlone, checkRuleCount } from '../rules/size.js';
import {
  approved,
  type Basis,
  documentOf,
  type Former,
  needsApproval,
  type Surprise,
  surpriseIn,
  unexplained,
  withdrawn,
  writtenSnapshot,
} from './surprise.js';

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
  /** While an unexplained change waits for its approval: the former rules less what recorded changes take away. */
  meanwhile: Candidate | null;
}

/** What a candidate is made of and judged by. */
export interface Preparation {
  snapshot: Snapshot;
  /** Where the audit trail was before that was read. */
  position: TrailPosition;
  /** Null: nothing was published yet, so that nothing can surprise. */
  former: Former | null;
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
  const { snapshot, position, former, limits } = preparation;
  const rules = compile(snapshot);
  const candidate = judged(snapshot, rules, { ...preparation, compiler });
  if (former === null || former.published === rules.text) return candidate;
  // What a text means that the checks refuse is anybody's guess, and it goes nowhere.
  if (candidate.findings.some(({ severity }) => severity === 'error')) return candidate;
  const access = compareAccess(documentOf(former.published), rules.document);
  const surprise = surpriseIn(snapshot, rules, former, compiler);
  const compared = { ...candidate, access, changedAt: firstChange(former, surprise, snapshot.at) };
  const told = (finding: Finding): Candidate => ({ ...compared, findings: [...candidate.findings, finding] });
  if (!needsApproval(surprise, limits.maxUnexplainedPercent)) return compared;
  if (former.basis.approved.includes(rules.hash)) return told(approved(surprise));
  const less = withdrawn(surprise, former.basis);
  const refused = told(unexplained(surprise, rules.hash, less));
  if (less === null) return refused;
  const meanwhile =
    less === 'basis' ? again(former.basis, candidate) : judged(less.world, less.rules, { position, limits, compiler });
  const change = compareAccess(documentOf(former.published), documentOf(meanwhile.text));
  const { nextExpiry, changedAt } = refused;
  return { ...refused, meanwhile: { ...meanwhile, access: change, nextExpiry, changedAt } };
}

function judged(
  snapshot: Snapshot,
  { text, hash, document, findings }: CompiledRules,
  { position, limits, compiler }: Pick<Preparation, 'position' | 'limits'> & { compiler: string },
): Candidate {
  const size = sized(text, document);
  const oversize = checkAlone(size.bytes, limits.bytes);
  const checked = oversize.length > 0 ? oversize : checkRules(text, snapshot);
  return {
    ...size,
    hash,
    findings: [...findings, ...checked, ...checkRuleCount(document.tables.length, limits.warnTableRules)],
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
    meanwhile: null,
  };
}

/** Recorded, or a grant that ended by itself. */
function firstChange({ events, settledAt }: Former, { worlds }: Surprise, now: Date): Date | null {
  const endings = worlds?.former.grants.flatMap(({ expiresAt }) => expiresAt ?? []) ?? [];
  const ended = endings.filter((ending) => ending <= now);
  return earliest([...events.map(({ at }) => at), ...ended], settledAt);
}

/** What is published already, and was judged then. */
function again({ text, hash, snapshot, compiler, at, position }: Basis, { nextExpiry }: Candidate): Candidate {
  const known = { ...sized(text, documentOf(text)), ...digested(snapshot), hash, compiler, at, position, nextExpiry };
  return { ...known, findings: [], changedAt: null, access: null, meanwhile: null };
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
