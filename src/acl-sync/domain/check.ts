import type { Snapshot } from '../../grants/domain/snapshot.js';
import type { Finding } from './finding.js';
import { checkInvariants } from './invariants.js';
import { proveRules } from './proof.js';
import { readRules } from './rules-reader.js';

/**
 * Everything that must hold before rules are published, judged on their text: the strict reader, the invariants of the
 * source document, the proof against the snapshot. A finding of severity `error` stops the publication.
 */
export function checkRules(text: string | Uint8Array, snapshot: Snapshot): Finding[] {
  const reading = readRules(text);
  if (reading.kind === 'refused') return reading.findings;
  return [...checkInvariants(reading.document, snapshot.settings), ...proveRules(reading.document, snapshot)];
}
