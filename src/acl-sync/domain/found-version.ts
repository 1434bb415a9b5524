import { diffRules } from '../../trino-rules/diff/rules-diff.js';
import { digestFields, sizeFields } from './candidate.js';
import type { PublicationDraft } from './publication-history.js';
import type { Publication } from './publication.js';
import type { LiveRules } from './rules-target.js';
import type { LatestVersion } from './run-decision.js';
import type { Baseline } from './unexplained-change.js';

/**
 * A version at the target that this history does not have, because the database was restored from a backup or another installation
 * publishes to the same target (docs/decisions/0026).
 */
export interface FoundVersion {
  version: number;
  /** The hash in the target's annotations. */
  hash: string;
  /** The target's text. Empty if the target has no text, or a text with NUL, which PostgreSQL cannot store. */
  text: string;
}

/**
 * Finds the highest version at a target that this database did not make. Versions with the text of `latest` are ignored.
 * @param unknownRules the rules at targets whose version this history lacks
 */
export function findVersionAtTargets(
  unknownRules: readonly Pick<LiveRules, 'text' | 'namedVersion'>[],
  latest: Pick<Publication, 'text'> | null,
): FoundVersion | null {
  const versionsAtTargets = unknownRules.flatMap(({ text: liveText, namedVersion }): FoundVersion[] => {
    const text = liveText === null || liveText.includes('\0') ? '' : liveText;
    return namedVersion === undefined || latest?.text === text || latest?.text === liveText
      ? []
      : [{ version: namedVersion.generation, hash: namedVersion.hash, text }];
  });
  return versionsAtTargets.sort((a, b) => b.version - a.version)[0] ?? null;
}

export function isVersionNamed(
  { namedVersion }: Pick<LiveRules, 'namedVersion'>,
  { version, hash }: Pick<Publication, 'version' | 'hash'>,
): boolean {
  if (namedVersion === undefined || namedVersion.generation < version) return false;
  return namedVersion.generation > version || namedVersion.hash === hash;
}

/** A version that only a target has, in the form of a recorded version. For previews, which record nothing. */
export function latestVersionOfFound({ version, hash, text }: FoundVersion): LatestVersion {
  const unknownFields = { snapshotHash: '', compiler: '', restored: null, brokenAt: null };
  return { ...unknownFields, version, hash, text, isWithdrawal: false, isFound: true, firstStepOf: null };
}

export function baselineOfFound({ text, hash }: FoundVersion, knownBaseline: Baseline | null, now: Date): Baseline {
  const { snapshot = '', at = now, position = '0:0' } = knownBaseline ?? {};
  return { text, hash, snapshot, at, position, compiler: '', approved: [], isFound: true };
}

/** Makes the publication that records a found version (one that a target has and the history lacks). */
export function draftOfFound(
  found: FoundVersion,
  knownBaseline: Baseline | null,
  latest: Pick<Publication, 'text'> | null,
  trigger: Publication['trigger'],
  now: Date,
): PublicationDraft {
  const { text } = found;
  const { hash, snapshot, at, position, compiler } = baselineOfFound(found, knownBaseline, now);
  const unknownFields = { access: null, checks: [], triggeredBy: null, changedAt: null, restored: null, edit: null };
  return {
    ...{ ...unknownFields, ...sizeFields(text), ...digestFields(snapshot), hash, position, compiler, trigger },
    diff: diffRules(latest?.text ?? null, text),
    ...{ isWithdrawal: false, isFound: true, firstStepOf: null, isWritten: false },
    ...{ snapshotAt: at, begunAt: now, highestNamed: found.version - 1 },
  };
}
