import { createHash, createHmac } from 'node:crypto';
import type { LiveRules } from './rules-target.js';

/** The state of a target after a run. */
export interface TargetState {
  target: string;
  /** Revision and SHA-256 of the text of the last version that the target contained; null: it never contained one. */
  held: { revision: string; textHash: string } | null;
  /** Why the target could not be read or written; null: it was read, and written if necessary. */
  failure: { reason: string; message: string } | null;
}

interface PublishedVersion {
  version: number;
  snapshotHash: string;
  text: string | null;
}

/** The revision of a version, such as `v12-0123456789ab`: its number and the first digits of its snapshot's hash. */
export function revisionOf({ version, snapshotHash }: Pick<PublishedVersion, 'version' | 'snapshotHash'>): string {
  return `v${version}-${snapshotHash.slice(0, 12)}`;
}

/** The number of the last version that a target contained; `otherwise` if it never contained one. */
export function heldVersion(target: string, states: readonly TargetState[], otherwise: number): number {
  const revision = states.find((state) => state.target === target)?.held?.revision;
  return revision === undefined ? otherwise : Number(/^v(\d+)-/.exec(revision)?.[1] ?? otherwise);
}

/** Proves that the holder of the key served a revision. @param key the signing key of bundles, in PEM */
export function proofOf(revision: string, key: string): string {
  return createHmac('sha256', key).update(revision).digest('base64url').slice(0, 27);
}

export function hashOfText(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/**
 * Whether a target lacks the latest version because the target could not be written or was added later, not because of an edit by hand.
 * @param lastTargetStates the targets after the previous run; empty: not known
 */
export function isBehind(
  { text }: Pick<LiveRules, 'text'>,
  target: string,
  lastTargetStates: readonly TargetState[],
  latest: PublishedVersion | null,
): boolean {
  if (latest === null || latest.text === '' || text === latest.text || lastTargetStates.length === 0) return false;
  const heldVersion = lastTargetStates.find((state) => state.target === target)?.held ?? null;
  if (heldVersion === null) return true;
  return heldVersion.revision !== revisionOf(latest) && text !== null && heldVersion.textHash === hashOfText(text);
}
