/** A piece of a rule's text, and whether its counterpart in the other text lacks it. */
interface Segment {
  text: string;
  isChanged: boolean;
}

/** A rule of a difference: `tables {"user":…}`. */
export interface RuleLine {
  section: string;
  segments: Segment[];
}

/** The share of a rule's text that its former text must have in common. */
const ALIKE = 0.5;

/** Rules of one side, each marked where it differs from the most similar one of the same section on the other side. */
export function ruleLines(rules: readonly string[], others: readonly string[]): RuleLine[] {
  return rules.map((rule) => {
    const [section, text] = parted(rule);
    const candidates = others
      .map(parted)
      .flatMap(([other, value]) => (other === section ? [commonEnds(text, value)] : []));
    const best = candidates.reduce((a, b) => (b.start + b.end > a.start + a.end ? b : a), { start: 0, end: 0 });
    if (best.start + best.end < text.length * ALIKE) return { section, segments: [{ text, isChanged: false }] };
    const segments = [
      { text: text.slice(0, best.start), isChanged: false },
      { text: text.slice(best.start, text.length - best.end), isChanged: true },
      { text: text.slice(text.length - best.end), isChanged: false },
    ];
    return { section, segments: segments.filter((each) => each.text !== '') };
  });
}

function parted(rule: string): [section: string, text: string] {
  const space = rule.indexOf(' ');
  return [rule.slice(0, space), rule.slice(space + 1)];
}

function commonEnds(one: string, other: string): { start: number; end: number } {
  const most = Math.min(one.length, other.length);
  let start = 0;
  while (start < most && one[start] === other[start]) start++;
  let end = 0;
  while (end < most - start && one[one.length - 1 - end] === other[other.length - 1 - end]) end++;
  return { start, end };
}
