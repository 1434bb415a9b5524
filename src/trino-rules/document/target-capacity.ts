import type { Finding } from './finding.js';

const WARNING_SHARE = 0.6;

/**
 * Checks that a target (such as a ConfigMap of 1,048,576 bytes) can hold the next rules and a backup. The backup is the former rules now, and
 * the next rules later.
 * @param sizes in bytes
 * @param limit in bytes; null: the target has none
 */
export function checkCapacity(
  sizes: {
    nextBytes: number;
    formerBytes: number;
    compressedNextBytes: () => number;
    compressedFormerBytes: () => number;
  },
  limit: number | null,
): Finding[] {
  const { nextBytes, formerBytes } = sizes;
  if (limit === null || nextBytes + formerBytes <= WARNING_SHARE * limit) return [];
  const uncompressedFormerBytes = nextBytes + formerBytes <= limit ? formerBytes : Infinity;
  const formerBytesBeside = Math.min(uncompressedFormerBytes, sizes.compressedFormerBytes());
  const neededBytes = nextBytes + Math.max(formerBytesBeside, sizes.compressedNextBytes());
  if (neededBytes > limit) {
    const message =
      `the rules take ${formatCount(nextBytes)} bytes, and the former ones beside them ${formatCount(neededBytes - nextBytes)} even when compressed; ` +
      `the target holds ${formatCount(limit)}. ${SIZE_ADVICE}`;
    return [{ code: 'too-large', severity: 'error', message }];
  }
  if (neededBytes <= WARNING_SHARE * limit) return [];
  const percent = Math.floor((100 * neededBytes) / limit);
  const message =
    `the rules and the former ones take ${percent} % of the ${formatCount(limit)} bytes that the target holds; at 100 % publishing is ` +
    `refused. Grants to groups instead of single people, and on schemas instead of tables, make the rules shorter`;
  return [{ code: 'nearly-too-large', severity: 'warning', message }];
}

/**
 * Checks that the rules fit a target, without counting the backup of the former rules.
 * @param bytes size of the rules, or a lower bound
 * @param limit in bytes; null: the target has none
 */
export function checkSize(bytes: number, limit: number | null, sizeIs: 'exactly' | 'at least' = 'exactly'): Finding[] {
  if (limit === null || bytes <= limit) return [];
  const message = `the rules ${sizeIs === 'exactly' ? 'take' : 'take at least'} ${formatCount(bytes)} bytes; the target holds ${formatCount(limit)}. ${SIZE_ADVICE}`;
  return [{ code: 'too-large', severity: 'error', message }];
}

const SIZE_ADVICE =
  'Give fewer grants to single people and more to groups, on schemas rather than on tables; or publish to a file ' +
  '(ACL_TARGET=file) or decide by OPA alone (ACL_TARGET=opa), which have no limit';

/** CPU time that each table rule adds to a listing of 1,000 tables: Trino 483 took 6 seconds with 11,000 table rules. */
const SECONDS_PER_RULE = 6 / 11_000;

/** Warns about many table rules, because the engine scans all of them for each object that it lists. */
export function checkRuleCount(tableRules: number, warningCount: number): Finding[] {
  if (tableRules <= warningCount) return [];
  const seconds = (tableRules * SECONDS_PER_RULE).toFixed(1);
  const message =
    `there are ${formatCount(tableRules)} table rules (a warning is due from ${formatCount(warningCount)}): the engine scans them for each object ` +
    `that it lists, which is about ${seconds} s of CPU time for a listing of 1,000 tables`;
  return [{ code: 'many-table-rules', severity: 'warning', message }];
}

function formatCount(count: number): string {
  return count.toLocaleString('en-GB');
}
