import { gzipSync } from 'node:zlib';
import { checkCapacity } from '../trino-rules/document/target-capacity.js';
import type { Candidate } from './domain/candidate.js';

/** The candidate with the findings about its size next to the text that is live now. */
export function withCapacityFindings(candidate: Candidate, live: string | null, limitBytes: number | null): Candidate {
  if (candidate.findings.some(({ code }) => code === 'too-large')) return candidate;
  const former = live ?? '';
  const sizes = {
    next: candidate.bytes,
    former: Buffer.byteLength(former),
    nextCompressed: () => gzipSync(candidate.text).length,
    formerCompressed: () => gzipSync(former).length,
  };
  return { ...candidate, findings: [...candidate.findings, ...checkCapacity(sizes, limitBytes).findings] };
}
