/** An added or removed rule, such as `tables {"user":…}`. `isChanged`: the compared rule does not contain this piece of the text. */
export interface RuleLine {
  section: string;
  segments: { text: string; isChanged: boolean }[];
}

/** The rules of one version. Each is marked where it differs from the most similar rule of its section in the other version. */
export function ruleLines(rules: readonly string[], otherRules: readonly string[]): RuleLine[] {
  return rules.map((rule) => {
    const [section, text] = splitRule(rule);
    const candidates = otherRules
      .map(splitRule)
      .flatMap(([otherSection, otherText]) => (otherSection === section ? [commonEndLengths(text, otherText)] : []));
    const longestCommonEnds = candidates.reduce((a, b) => (b.start + b.end > a.start + a.end ? b : a), {
      start: 0,
      end: 0,
    });
    // Two rules count as the old and the new form of one rule if at least half of their text is the same.
    if (longestCommonEnds.start + longestCommonEnds.end < text.length / 2)
      return { section, segments: [{ text, isChanged: false }] };
    const segments = [
      { text: text.slice(0, longestCommonEnds.start), isChanged: false },
      { text: text.slice(longestCommonEnds.start, text.length - longestCommonEnds.end), isChanged: true },
      { text: text.slice(text.length - longestCommonEnds.end), isChanged: false },
    ];
    return { section, segments: segments.filter((each) => each.text !== '') };
  });
}

function splitRule(rule: string): [section: string, text: string] {
  const spaceIndex = rule.indexOf(' ');
  return [rule.slice(0, spaceIndex), rule.slice(spaceIndex + 1)];
}

function commonEndLengths(left: string, right: string): { start: number; end: number } {
  const maxLength = Math.min(left.length, right.length);
  let start = 0;
  while (start < maxLength && left[start] === right[start]) start++;
  let end = 0;
  while (end < maxLength - start && left[left.length - 1 - end] === right[right.length - 1 - end]) end++;
  return { start, end };
}
