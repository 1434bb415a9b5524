/** What changes between two texts, as rules with their section: `tables {"user":"ana",…}`. */
export interface RulesDiff {
  added: string[];
  removed: string[];
}

/**
 * Rules that one text has more often than the other, in their order there; one that only moves is in neither list. A text that
 * cannot be read counts as empty. The marker of the version is left out: it is never the same.
 */
export function diffRules(before: string | null, after: string): RulesDiff {
  const [former, next] = [rulesOf(before ?? ''), rulesOf(after)];
  return { added: missingFrom(former, next), removed: missingFrom(next, former) };
}

function rulesOf(text: string): string[] {
  return Object.entries(parsed(text))
    .flatMap(([section, rules]) =>
      (Array.isArray(rules) ? rules : []).map((rule) => `${section} ${JSON.stringify(rule)}`),
    )
    .filter((rule) => !rule.includes('"property":"grantline_rules_'));
}

function parsed(text: string): object {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}

function missingFrom(other: readonly string[], rules: readonly string[]): string[] {
  const left = new Map<string, number>();
  for (const rule of other) left.set(rule, (left.get(rule) ?? 0) + 1);
  return rules.filter((rule) => {
    const count = left.get(rule) ?? 0;
    left.set(rule, count - 1);
    return count <= 0;
  });
}
