import { groupBy } from '../../kernel/collections.js';
import { jsonOrNull, plainValue, readJson } from '../../kernel/json-reader.js';

/** Changes between two texts, as rules with their section: `tables {"user":"ana",…}`. */
export interface RulesDiff {
  added: string[];
  removed: string[];
}

/**
 * Rules that one text has more often than the other, in order. Moved rules and the order of keys are no change. A text that even the
 * engine cannot read counts as empty. The marker of the version, which always differs, is left out.
 */
export function diffRules(before: string | null, after: string): RulesDiff {
  const [former, next] = [rulesOf(before ?? ''), rulesOf(after)];
  const lines = (rules: readonly RuleLine[]): string[] => rules.map(({ line }) => line);
  return { added: lines(missingFrom(former, next)), removed: lines(missingFrom(next, former)) };
}

/** Sections whose common rules are in another order, which alone can change access: the first match decides. */
export function reorderedSections(before: string, after: string): string[] {
  const [former, next] = [rulesOf(before), rulesOf(after)];
  const common = (rules: readonly RuleLine[], other: readonly RuleLine[]): Map<string, RuleLine[]> => {
    const missing = new Set(missingFrom(other, rules));
    return groupBy(
      rules.filter((rule) => !missing.has(rule)),
      ({ section }) => section,
    );
  };
  const order = (rules: readonly RuleLine[] = []): string => rules.map(({ canonical }) => canonical).join('\n');
  const [ofFormer, ofNext] = [common(former, next), common(next, former)];
  return [...ofFormer].flatMap(([section, rules]) => (order(rules) === order(ofNext.get(section)) ? [] : [section]));
}

interface RuleLine {
  section: string;
  line: string;
  /** A text that is equal for equal rules. */
  canonical: string;
}

function rulesOf(text: string): RuleLine[] {
  return Object.entries(parsed(text))
    .flatMap(([section, rules]) =>
      (Array.isArray(rules) ? rules : []).map((rule: unknown) => ({
        section,
        line: `${section} ${JSON.stringify(rule)}`,
        canonical: `${section} ${JSON.stringify(rule, keysInOrder)}`,
      })),
    )
    .filter(({ line }) => !line.includes('"property":"grantline_rules_'));
}

function keysInOrder(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function parsed(text: string): object {
  const value = jsonOrNull(text) ?? readLeniently(text);
  return typeof value === 'object' && value !== null ? value : {};
}

function readLeniently(text: string): unknown {
  const { root } = readJson(text, { maxValues: 5_000_000, maxFaults: 1, isLenient: true });
  return root === null ? null : plainValue(root);
}

function missingFrom(other: readonly RuleLine[], rules: readonly RuleLine[]): RuleLine[] {
  const left = new Map<string, number>();
  for (const { canonical } of other) left.set(canonical, (left.get(canonical) ?? 0) + 1);
  return rules.filter(({ canonical }) => {
    const count = left.get(canonical) ?? 0;
    left.set(canonical, count - 1);
    return count <= 0;
  });
}
