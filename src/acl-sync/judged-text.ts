import { gzipSync } from 'node:zlib';
import type { Finding } from '../trino-rules/document/finding.js';
import { readRules } from '../trino-rules/document/rules-reader.js';
import { checkCapacity } from '../trino-rules/document/target-capacity.js';
import type { Candidate } from './domain/candidate.js';
import type { PublicationHistory } from './domain/publication-history.js';
import type { LiveRules, RulesTarget } from './domain/rules-target.js';
import type { Restore } from './domain/restore.js';
import { BROKEN_FINDING, type Restoring } from './domain/run-decision.js';

type Text = Pick<Candidate, 'text' | 'hash' | 'bytes' | 'findings'>;

/** What was found at the target was never proved: where it cannot be read, nothing tells what it gives, or whether the engine loads it. */
const UNREADABLE_FINDING: Finding = {
  code: 'rules-unreadable',
  severity: 'error',
  message:
    'the rules of the version that was found at the target cannot be read completely, so they are not published again',
};

interface Judges {
  history: PublicationHistory;
  target: RulesTarget;
}

/**
 * The text with what engine and target hold against it: the engine failed on it before, nobody can read it, or the target cannot
 * hold it next to the live text. A text that is live already fits.
 * @param isProved it has been read
 */
export async function judgedText<T extends Text>(
  judged: T,
  live: Pick<LiveRules, 'text'>,
  { history, target }: Judges,
  isProved: boolean,
): Promise<T> {
  const broken = (await history.isBroken(judged.hash)) ? [BROKEN_FINDING] : [];
  const findings = [...judged.findings, ...broken];
  if (judged.text === live.text || findings.some(({ code }) => code === 'too-large')) return { ...judged, findings };
  const isReadable = isProved || readRules(judged.text).kind === 'read';
  const further = isReadable ? capacityFindings(judged, live.text ?? '', target.limitBytes) : [UNREADABLE_FINDING];
  return { ...judged, findings: [...findings, ...further] };
}

/** The text of the restored version. */
export async function judgedRestore(
  { version }: Pick<Restore, 'version'>,
  live: Pick<LiveRules, 'text'>,
  judges: Judges,
): Promise<Restoring['text']> {
  const former = await judges.history.find(version);
  if (former === null) throw new Error(`publication ${version} does not exist`);
  const { text, hash, rules, bytes } = former;
  const unread = { text, hash, rules, bytes, findings: [] };
  if (readRules(text).kind !== 'read') return { ...unread, findings: [UNREADABLE_FINDING] };
  return judgedText(unread, live, judges, true);
}

function capacityFindings(next: Text, former: string, limitBytes: number | null): Finding[] {
  const sizes = {
    next: next.bytes,
    former: Buffer.byteLength(former),
    nextCompressed: () => gzipSync(next.text).length,
    formerCompressed: () => gzipSync(former).length,
  };
  return checkCapacity(sizes, limitBytes);
}
