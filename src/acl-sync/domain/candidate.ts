import { createHash } from 'node:crypto';
import type { Snapshot } from '../../grants/domain/snapshot.js';
import { writeSnapshot } from '../../grants/domain/snapshot-file.js';
import { checkRules } from './check.js';
import { compile } from './compile.js';
import type { Finding } from './finding.js';
import { checkAlone } from './size.js';

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
  /** When the first of its grants ends by itself; null: none does. */
  nextExpiry: Date | null;
}

/**
 * Compiles a snapshot and judges the text that came out: seconds of work for thousands of grants. What no target of this size
 * can hold is refused before it is proved.
 * @param limitBytes of the target; null: it has none
 */
export function prepare(snapshot: Snapshot, limitBytes: number | null): Candidate {
  const { text, hash, document, findings } = compile(snapshot);
  const bytes = Buffer.byteLength(text);
  const oversize = checkAlone(bytes, limitBytes);
  // Without the moment: it changes with every reading, what follows from it does not.
  const written = JSON.stringify(writeSnapshot({ ...snapshot, at: new Date(0) }));
  return {
    text,
    hash,
    rules: Object.values<readonly unknown[]>({ ...document }).reduce((sum, rules) => sum + rules.length, 0),
    bytes,
    findings: [...findings, ...(oversize.length > 0 ? oversize : checkRules(text, snapshot))],
    snapshot: written,
    snapshotHash: createHash('sha256').update(written).digest('hex'),
    at: snapshot.at,
    nextExpiry: earliest(
      snapshot.grants.flatMap(({ expiresAt }) => expiresAt ?? []),
      snapshot.at,
    ),
  };
}

function earliest(moments: readonly Date[], after: Date): Date | null {
  const ahead = moments.map((moment) => moment.getTime()).filter((time) => time > after.getTime());
  return ahead.length === 0 ? null : new Date(ahead.reduce((a, b) => Math.min(a, b)));
}
