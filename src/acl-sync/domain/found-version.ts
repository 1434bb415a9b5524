import { diffRules } from '../../trino-rules/diff/rules-diff.js';
import { digestFields, sizeFields } from './candidate.js';
import type { PublicationDraft } from './publication-history.js';
import type { Publication } from './publication.js';
import type { LiveRules } from './rules-target.js';
import type { LatestVersion } from './run-decision.js';
import { type Baseline, documentOf } from './unexplained-change.js';

/**
 * A version at the target that this history does not have, because the database was restored from a backup or another installation
 * publishes to the same target (docs/decisions/0026).
 */
export interface FoundVersion {
  version: number;
  /** The hash that the target names. */
  hash: string;
  /** Empty: the target has no text, or one that Grantline did not write. */
  text: string;
}

/**
 * @param newest the highest version of this history in any state; every version is recorded before the target is written
 * @returns null: this history is as new as the target, or has the same text and lacks only the number
 */
export function foundVersion(
  { text, written }: Pick<LiveRules, 'text' | 'written'>,
  latest: Pick<Publication, 'text'> | null,
  newest: number,
): FoundVersion | null {
  if (written === undefined || written.generation <= newest || latest?.text === text) return null;
  const { generation: version, hash } = written;
  return { version, hash, text: text === null || text.includes('\0') ? '' : text };
}

/** Whether the target names the version of its text, without which a restored older database would not be recognized. */
export function isVersionNamed(
  { written }: Pick<LiveRules, 'written'>,
  { version, hash }: Pick<Publication, 'version' | 'hash'>,
): boolean {
  if (written === undefined || written.generation < version) return false;
  return written.generation > version || written.hash === hash;
}

/** The found version before a run has recorded it. */
export function latestOfFound({ version, text }: FoundVersion): LatestVersion {
  const unknown = { snapshotHash: '', compiler: '', isWithdrawal: false, restored: null, brokenAt: null };
  return { ...unknown, version, text, isFound: true };
}

/** The baseline for later changes: the found text, with the snapshot of the last version in this history. */
export function baselineOfFound({ text, hash }: FoundVersion, known: Baseline | null, now: Date): Baseline {
  const { snapshot = '', at = now, position = '0:0' } = known ?? {};
  return { text, hash, snapshot, at, position, compiler: '', approved: [], isFound: true };
}

/** The found version as a publication of this history. */
export function draftOfFound(
  found: FoundVersion,
  known: Baseline | null,
  latest: Pick<Publication, 'text'> | null,
  trigger: Publication['trigger'],
  now: Date,
): PublicationDraft {
  const { text, hash, snapshot, at, position, compiler } = baselineOfFound(found, known, now);
  return {
    ...sizeFields(text, documentOf(text)),
    ...digestFields(snapshot),
    hash,
    position,
    compiler,
    trigger,
    diff: diffRules(latest?.text ?? null, text),
    access: null,
    checks: [],
    triggeredBy: null,
    snapshotAt: at,
    changedAt: null,
    isWithdrawal: false,
    isFound: true,
    restored: null,
    edit: null,
    begunAt: now,
    isWritten: false,
    after: found.version - 1,
  };
}
