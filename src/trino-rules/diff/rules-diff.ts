import { groupBy } from '../../kernel/collections.js';
import { canonicalJson, jsonOrNull, plainValue, readJson } from '../../kernel/json-reader.js';

/** Rules that are added or removed between two texts, each with its section: `tables {"user":"ana",…}`. */
export interface RulesDiff {
  added: string[];
  removed: string[];
}

/**
 * The rules that are added and removed between two texts. Moving a rule or reordering its keys is no change. A text that the engine cannot
 * read counts as empty. The rule that marks the version is left out, because it differs between any two versions.
 */
export function diffRules(oldText: string | null, newText: string | null): RulesDiff {
  const [oldRules, newRules] = [rulesOf(oldText ?? ''), rulesOf(newText ?? '')];
  const linesOf = (rules: readonly RuleLine[]): string[] => rules.map(({ line }) => line);
  return { added: linesOf(missingFrom(oldRules, newRules)), removed: linesOf(missingFrom(newRules, oldRules)) };
}

/** Sections in which the order of the common rules differs between two texts. The order can change access, because the first match decides. */
export function reorderedSections(oldText: string, newText: string): string[] {
  const [oldRules, newRules] = [rulesOf(oldText), rulesOf(newText)];
  const commonRules = (rules: readonly RuleLine[], otherRules: readonly RuleLine[]): Map<string, RuleLine[]> => {
    const missingRules = new Set(missingFrom(otherRules, rules));
    return groupBy(
      rules.filter((rule) => !missingRules.has(rule)),
      ({ section }) => section,
    );
  };
  const orderText = (rules: readonly RuleLine[] = []): string => rules.map(({ sortedText }) => sortedText).join('\n');
  const [commonBefore, commonAfter] = [commonRules(oldRules, newRules), commonRules(newRules, oldRules)];
  return [...commonBefore].flatMap(([section, rules]) =>
    orderText(rules) === orderText(commonAfter.get(section)) ? [] : [section],
  );
}

interface RuleLine {
  section: string;
  line: string;
  /** The rule with sorted keys, so that equal rules have equal texts. */
  sortedText: string;
}

function rulesOf(text: string): RuleLine[] {
  return Object.entries(parseSections(text))
    .flatMap(([section, rules]) =>
      (Array.isArray(rules) ? rules : []).map((rule: unknown) => ({
        section,
        line: `${section} ${JSON.stringify(rule)}`,
        sortedText: `${section} ${canonicalJson(rule)}`,
      })),
    )
    .filter(({ line }) => !line.includes('"property":"grantline_rules_'));
}

function parseSections(text: string): object {
  const value = jsonOrNull(text) ?? readLeniently(text);
  return typeof value === 'object' && value !== null ? value : {};
}

function readLeniently(text: string): unknown {
  const { root } = readJson(text, { maxValues: 5_000_000, maxFaults: 1, isLenient: true });
  return root === null ? null : plainValue(root);
}

function missingFrom(otherRules: readonly RuleLine[], rules: readonly RuleLine[]): RuleLine[] {
  const remainingCounts = new Map<string, number>();
  for (const { sortedText } of otherRules) remainingCounts.set(sortedText, (remainingCounts.get(sortedText) ?? 0) + 1);
  return rules.filter(({ sortedText }) => {
    const count = remainingCounts.get(sortedText) ?? 0;
    remainingCounts.set(sortedText, count - 1);
    return count <= 0;
  });
}
