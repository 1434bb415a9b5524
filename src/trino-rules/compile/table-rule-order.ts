/** The rules below one node. */
export interface Block<Rule> {
  name: string;
  rules: readonly Rule[];
}

/** A rule about some of those nodes as a whole. */
export interface WideRule<Rule> {
  names: readonly string[];
  rule: Rule;
}

/**
 * Puts wide rules as early as possible: after the blocks of all nodes that they are about, and behind the wide rules
 * before them that are about one of these. The engine tries one rule after the other, and wide rules decide the most.
 */
export function interleaved<Rule>(blocks: readonly Block<Rule>[], wide: readonly WideRule<Rule>[]): Rule[] {
  const places = new Map(blocks.map(({ name }, i) => [name, i]));
  const behind: Rule[][] = blocks.map(() => []);
  const before: Rule[] = [];
  for (const { names, rule } of wide) {
    const place = names.reduce((latest, name) => Math.max(latest, places.get(name) ?? FIRST), FIRST);
    for (const name of names) places.set(name, place);
    (behind[place] ?? before).push(rule);
  }
  return [...before, ...blocks.flatMap(({ rules }, i) => [...rules, ...(behind[i] ?? [])])];
}

/** Of rules about nodes that have no block: before all blocks. */
const FIRST = -1;
