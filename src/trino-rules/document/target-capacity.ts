import type { Finding } from './finding.js';

const WARN_SHARE = 0.6;

/**
 * Whether a target can hold the next text and the former one (a ConfigMap: 1,048,576 bytes for both). It must also hold the next text
 * beside its own compressed form, which is kept when the following version is published.
 * @param sizes bytes of the texts, and compressed sizes on demand
 * @param limit in bytes; null: the target has none
 */
export function checkCapacity(
  sizes: { next: number; former: number; nextCompressed: () => number; formerCompressed: () => number },
  limit: number | null,
): Finding[] {
  const { next, former } = sizes;
  if (limit === null || next + former <= WARN_SHARE * limit) return [];
  // The former text is kept uncompressed while both fit.
  const asText = next + former <= limit ? former : Infinity;
  const needed = next + Math.max(Math.min(asText, sizes.formerCompressed()), sizes.nextCompressed());
  if (needed > limit) return [tooLarge(next, needed - next, limit)];
  return needed > WARN_SHARE * limit ? [runningOut(needed, limit)] : [];
}

/**
 * Whether a target can hold a text at all.
 * @param bytes of the text, or a lower bound
 * @param limit in bytes; null: the target has none
 */
export function checkSize(bytes: number, limit: number | null, counted: 'exactly' | 'at least' = 'exactly'): Finding[] {
  if (limit === null || bytes <= limit) return [];
  const take = counted === 'exactly' ? 'take' : 'take at least';
  const message = `the rules ${take} ${count(bytes)} bytes; the target holds ${count(limit)}. ${CURE}`;
  return [{ code: 'too-large', severity: 'error', message }];
}

const CURE =
  'Give fewer grants to single people and more to groups, on schemas rather than on tables; or publish to a file ' +
  '(ACL_TARGET=file), which has no limit';

function tooLarge(next: number, beside: number, limit: number): Finding {
  const message =
    `the rules take ${count(next)} bytes, and the former ones beside them ${count(beside)} even when compressed; the target holds ` +
    `${count(limit)}. ${CURE}`;
  return { code: 'too-large', severity: 'error', message };
}

function runningOut(needed: number, limit: number): Finding {
  const percent = Math.floor((100 * needed) / limit);
  const message =
    `the rules and the former ones take ${percent} % of the ${count(limit)} bytes that the target holds; at 100 % publishing is ` +
    `refused. Grants to groups instead of single people, and on schemas instead of tables, make the rules shorter`;
  return { code: 'nearly-too-large', severity: 'warning', message };
}

/** Trino 483: a listing of 1,000 tables takes 6 CPU seconds with 11,000 table rules, in proportion to both. */
const SECONDS_PER_RULE = 6 / 11_000;

/** The engine scans the table rules for every object that it lists. */
export function checkRuleCount(tableRules: number, warnFrom: number): Finding[] {
  if (tableRules <= warnFrom) return [];
  const seconds = (tableRules * SECONDS_PER_RULE).toFixed(1);
  const message =
    `there are ${count(tableRules)} table rules (a warning is due from ${count(warnFrom)}): the engine scans them for each object ` +
    `that it lists, which is about ${seconds} s of CPU time for a listing of 1,000 tables`;
  return [{ code: 'many-table-rules', severity: 'warning', message }];
}

function count(number: number): string {
  return number.toLocaleString('en-GB');
}
