import { descriptionProblem } from '../../grants/domain/grant.js';
import type { AccessChange } from '../../trino-rules/diff/access-change.js';
import type { Finding } from '../../trino-rules/document/finding.js';
import { firstChanges } from './access-text.js';

/** An older version that an administrator restored for some hours. */
export interface Restore {
  version: number;
  until: Date;
  reason: string;
}

/** Causes of a restore's end: the moment `until`, an administrator, access that the current grants deny, or another restore. */
export const RESTORE_ENDS = ['time', 'hand', 'contradicted', 'replaced'] as const;
export type RestoreEnd = (typeof RESTORE_ENDS)[number];

/** A restore as stored with its publication; `ended` is null while it is in effect. */
export type RecordedRestore = Restore & { ended: RestoreEnd | null };

/** The restores that a new version begins and ends. `version`: the old version. `publication`: the later version with the same text. */
export interface RestoreChanges {
  begun: (Restore & { publication: number }) | null;
  ended: { version: number; publication: number; how: RestoreEnd } | null;
}

export const LONGEST_RESTORE_HOURS = 24;

export function reasonProblem(reason: string): string | null {
  return reason.trim() === '' ? 'must not be empty' : descriptionProblem(reason);
}

export function hoursProblem(hours: unknown): string | null {
  if (!Number.isInteger(hours)) return 'must be a whole number';
  if (Number(hours) < 1) return 'must be at least 1';
  return Number(hours) > LONGEST_RESTORE_HOURS ? `must be at most ${LONGEST_RESTORE_HOURS}` : null;
}

/**
 * The restores that a version begins and ends.
 * @param formerRestore the restore of the previous version, with that version's number; null: that version was no restore
 */
export function restoreChanges(
  formerRestore: (RecordedRestore & { publication: number }) | null,
  { version, restored, publishedAt }: { version: number; restored: RecordedRestore | null; publishedAt: Date },
): RestoreChanges {
  const continuesFormer = restored !== null && isSameRestore({ restored: formerRestore }, restored);
  const begun = restored !== null && !continuesFormer ? { ...restored, publication: version } : null;
  if (formerRestore?.ended !== null || continuesFormer) return { begun, ended: null };
  const how = formerRestore.until <= publishedAt ? 'time' : restored === null ? 'contradicted' : 'replaced';
  return { begun, ended: { version: formerRestore.version, publication: formerRestore.publication, how } };
}

/** Whether a publication belongs to this restore or, with null, to no restore. */
export function isSameRestore({ restored }: { restored: RecordedRestore | null }, restore: Restore | null): boolean {
  if (restored === null || restore === null) return restored === restore;
  const { version, until, reason, ended } = restored;
  return ended === null && version === restore.version && +until === +restore.until && reason === restore.reason;
}

/** The restore in effect now; null: none. */
export function restoreInEffect(latest: { restored: RecordedRestore | null } | null, now: Date): Restore | null {
  const restored = latest?.restored ?? null;
  return restored?.ended === null && restored.until > now ? restored : null;
}

export function restoredFinding({ version, until, reason }: Restore): Finding {
  const message = `version ${version} is restored until ${until.toISOString()}: ${reason}`;
  return { code: 'restored', severity: 'info', message };
}

/**
 * The error if a restored text gives access that the current grants deny, otherwise null.
 * @param change the change from the rules by the current grants to the restored text
 */
export function restoreContradiction({ version }: Restore, change: AccessChange): Finding | null {
  if (change.gainedInAll === 0) return null;
  const examples = firstChanges({ ...change, lost: [] });
  const message = `version ${version} cannot be restored: it gives what the current grants deny (${examples})`;
  return { code: 'restore-contradicted', severity: 'error', message };
}
