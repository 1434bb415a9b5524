const LONGEST = 160;

/** A rule as people read it: one line of JSON, in which long alternations of names are cut. */
export function ruleText(rule: object): string {
  return JSON.stringify(rule, (_key, value: unknown) =>
    typeof value === 'string' && value.length > LONGEST
      ? `${value.slice(0, LONGEST)}… (${value.length} characters)`
      : value,
  );
}
