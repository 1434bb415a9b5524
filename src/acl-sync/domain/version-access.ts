import type { JudgedRules, FormerBreachTest } from '../../trino-rules/answers/guarantee-verdicts.js';
import { type AccessChange, compareAccess } from '../../trino-rules/diff/access-change.js';
import { compareData } from '../../trino-rules/diff/data-change.js';
import type { RulesDocument } from '../../trino-rules/document/rules-document.js';
import { documentOf } from '../../trino-rules/document/rules-reader.js';
import { effectiveSnapshot } from '../../trino-rules/model/effective-snapshot.js';
import { readSnapshot } from '../../trino-rules/model/snapshot-file.js';
import type { Snapshot, SnapshotSettings } from '../../trino-rules/model/snapshot.js';
import { dataText } from '../../trino-rules/opa/archive.js';
import { bundleData } from '../../trino-rules/opa/bundle-data.js';
import { judgeBundle } from '../../trino-rules/verify/bundle-proof.js';

/** The form in which targets get a version: `rules` for files and ConfigMaps, `data` for OPA. */
export type Artefact = 'rules' | 'data';

export interface VersionAccess {
  /** The text of the rules; null if OPA is the only target, which uses no rules. */
  text: string | null;
  /** The snapshot as a JSON file; empty: not known. */
  snapshot: string;
  /** The document in `text`, if it has been parsed. */
  document?: RulesDocument;
}

/** The access that people gain and lose. Compares the texts or, if one of them is null, the snapshots. An unreadable text or snapshot counts as no access. */
export function accessChange(before: VersionAccess, after: VersionAccess): AccessChange {
  if (before.text === null || after.text === null) return compareData(dataOf(before.snapshot), dataOf(after.snapshot));
  return compareAccess(before.document ?? documentOf(before.text), after.document ?? documentOf(after.text));
}

export function isSameAccess(a: VersionAccess, b: VersionAccess): boolean {
  return a.text === null || b.text === null ? a.snapshot === b.snapshot : a.text === b.text;
}

export interface ProvedBundleData extends JudgedRules {
  /** The content of the bundle's `data.json`. */
  text: string;
}

/**
 * Makes and proves the data by which OPA decides, and judges the guarantees. A run calls this before it publishes, and every replica
 * before it serves a bundle.
 */
export function provedData(
  snapshot: Snapshot,
  ...judgeOptions: [most?: number, former?: FormerBreachTest | null]
): ProvedBundleData {
  const { guarantees } = snapshot;
  const judgedSnapshot = { ...effectiveSnapshot(snapshot), ...(guarantees && { guarantees }) };
  const text = dataText(bundleData(judgedSnapshot));
  return { text, ...judgeBundle(text, judgedSnapshot, ...judgeOptions) };
}

/** Proved OPA data of the last two snapshots (of the previous run and of this run), by the text of the snapshot. */
const latestData = new Map<string, ProvedBundleData>();
const MAX_KEPT_SNAPSHOTS = 2;

export function keepOpaData(storedSnapshotText: string, opaData: ProvedBundleData): void {
  latestData.delete(storedSnapshotText);
  latestData.set(storedSnapshotText, opaData);
  for (const oldest of latestData.keys()) if (latestData.size > MAX_KEPT_SNAPSHOTS) latestData.delete(oldest);
}

/** The result of `provedData` for a stored snapshot. @throws Error if the snapshot cannot be read */
export function provedDataOfSnapshot(storedSnapshotText: string): ProvedBundleData {
  const keptData = latestData.get(storedSnapshotText);
  if (keptData !== undefined) return keptData;
  const snapshot = storedSnapshot(storedSnapshotText);
  if (snapshot === null) throw new Error('the snapshot of the version cannot be read');
  return provedData(snapshot);
}

export function dataOf(storedSnapshotText: string): string {
  const keptData = latestData.get(storedSnapshotText);
  if (keptData !== undefined) return keptData.text;
  const snapshot = storedSnapshot(storedSnapshotText);
  return snapshot === null ? '{}' : dataText(bundleData(snapshot));
}

/** Reads a snapshot of the history. By default `at` is so early that all grants are live. Null: empty text, or an unknown form. */
export function storedSnapshot(text: string, settings = DEFAULT_SETTINGS, at = new Date(0)): Snapshot | null {
  if (text === '') return null;
  const reading = readSnapshot(JSON.parse(text), { settings, at });
  return reading.kind === 'read' ? reading.snapshot : null;
}

/** Settings that a stored snapshot lacks, because an earlier build wrote it. */
const DEFAULT_SETTINGS: SnapshotSettings = {
  ...{ ownAccount: '', serviceAccounts: [], writableCatalogs: [], readableCatalogs: [], metadataCatalog: null },
  ...{ impersonation: false, sessionProperties: [], readersMaintain: false },
  ...{ externalTableCatalogs: [], rawColumnCatalogs: [] },
};
