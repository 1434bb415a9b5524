import type { RuleEffect } from './access-state.js';
import type { Bitset } from './bitset.js';
import { anyOf } from './name-pattern.js';
import type { Rectangle, Sibling } from './rectangles.js';

// The engine asks the rules for `table$suffix` by that name alone, though it serves the table's data (seen on 483). Companions of
// restricted tables are therefore siblings of their own, with denials of their own.

/** Marks a sibling as the companions of a table. No name holds a control character. */
const SUFFIX = '\0$';

/** Pattern of the companions of any table. */
export const ANY_COMPANION = '.*[$].*';

export function companionsOf(table: string): string {
  return table + SUFFIX;
}

export function areCompanions(name: string): boolean {
  return name.endsWith(SUFFIX);
}

/** Patterns that together match these tables and companions. */
export function tablePatterns(names: readonly string[]): string[] {
  const tables = new Set(names.filter((name) => !areCompanions(name)));
  const bases = names.filter(areCompanions).map((name) => name.slice(0, -SUFFIX.length));
  const both = bases.filter((name) => tables.has(name));
  const alone = [...tables].filter((name) => !both.includes(name));
  const companions = bases.filter((name) => !tables.has(name));
  return [
    ...(alone.length > 0 ? [anyOf(alone)] : []),
    ...(both.length > 0 ? [`${grouped(both)}([$].*)?`] : []),
    ...(companions.length > 0 ? [`${grouped(companions)}[$].*`] : []),
  ];
}

function grouped(names: readonly string[]): string {
  const pattern = anyOf(names);
  return isSequence(pattern) ? pattern : `(${pattern})`;
}

/** Whether a suffix can be appended to a pattern without a group: it has no alternatives at the top. */
function isSequence(pattern: string): boolean {
  const outside = pattern.replace(/\\.|\[[^\]]*\]/g, '');
  let depth = 0;
  for (const sign of outside) {
    if (sign === '(') depth++;
    if (sign === ')') depth--;
    if (sign === '|' && depth === 0) return false;
  }
  return true;
}

/** Widens denials of tables to their companions and vice versa if nobody loses access by it, so that one pattern matches both. */
export function joinedDenials(
  rectangles: readonly Rectangle<RuleEffect>[],
  siblings: readonly Sibling<RuleEffect>[],
): Rectangle<RuleEffect>[] {
  if (rectangles.every(({ effect }) => effect.privileges.length > 0)) return [...rectangles];
  const open = new Map(siblings.map(({ name, holders }) => [name, holders]));
  return rectangles.map((rectangle) => {
    const { people } = rectangle;
    const takesNothing = (name: string): boolean => {
      const holders = open.get(name);
      return holders !== undefined && (people === null ? holders.isEmpty() : !holders.intersects(people));
    };
    const names = new Set(rectangle.names);
    if (rectangle.effect.privileges.length === 0) {
      for (const name of rectangle.names) {
        const other = areCompanions(name) ? name.slice(0, -SUFFIX.length) : companionsOf(name);
        if (takesNothing(other)) names.add(other);
      }
    }
    // Later rules have no effect on users who are decided here.
    for (const name of people === null ? [] : names) {
      const holders = open.get(name);
      if (holders !== undefined) open.set(name, holders.minus(people ?? holders));
    }
    return { ...rectangle, names: [...names] };
  });
}

/** A sibling, and the users with access to it to whom companions are closed. */
export interface WideSibling extends Sibling<RuleEffect> {
  /** Users with access here to whom companions are closed. Computed on demand, because thousands of tables do not need it. */
  closed: () => Bitset;
  /** Users with the same access as at the parent to whom companions are closed here, but not at the parent. */
  closedHere: Bitset;
}

/** Denials of all companions on these nodes, in front of the rules that give access there: for users to whom companions are closed. */
export function closingSiblings(
  rectangles: readonly Rectangle<RuleEffect>[],
  siblings: readonly WideSibling[],
): Sibling<RuleEffect>[] {
  return siblings.flatMap(({ name, closed: closedAt, closedHere, holders }) => {
    const closed = closedAt();
    const giving = rectangles.filter(({ effect, names }) => effect.privileges.length > 0 && names.includes(name));
    const must = giving.reduce((all, { people }) => all.or(people ?? closed), closedHere).and(closed);
    if (must.isEmpty()) return [];
    return [{ name, parts: [{ effect: NOTHING, rank: 0, must, may: must }], holders: holders.minus(closed) }];
  });
}

export const NOTHING: RuleEffect = { privileges: [] };
