import type { RuleEffect } from './access-state.js';
import type { Bitset } from './bitset.js';
import { patternOfNames } from './name-pattern.js';
import { denialUsers, type Rectangle, type Sibling } from './rectangles.js';

// The engine checks `table$suffix` (a companion) as a table of its own, although it serves data of `table` (seen on 483). If a policy
// restricts `table`, the compiler therefore writes denials for the companions too.

/** Suffix of a name that stands for all companions of a table (`table$suffix`). Names of tables have no control characters. */
const COMPANION_MARK = '\0$';

export const ANY_COMPANION = '.*[$].*';

export function companionsName(table: string): string {
  return table + COMPANION_MARK;
}

export function areCompanions(name: string): boolean {
  return name.endsWith(COMPANION_MARK);
}

/** Patterns that together match exactly these tables. A name from `companionsName` stands for all companions (`table$suffix`) of a table. */
export function tablePatterns(names: readonly string[]): string[] {
  const tables = new Set(names.filter((name) => !areCompanions(name)));
  const baseNames = names.filter(areCompanions).map((name) => name.slice(0, -COMPANION_MARK.length));
  const namesWithCompanions = baseNames.filter((name) => tables.has(name));
  const namesWithTableOnly = [...tables].filter((name) => !namesWithCompanions.includes(name));
  const namesWithoutTable = baseNames.filter((name) => !tables.has(name));
  return [
    ...(namesWithTableOnly.length > 0 ? [patternOfNames(namesWithTableOnly)] : []),
    ...(namesWithCompanions.length > 0 ? [`${groupedPattern(namesWithCompanions)}([$].*)?`] : []),
    ...(namesWithoutTable.length > 0 ? [`${groupedPattern(namesWithoutTable)}[$].*`] : []),
  ];
}

function groupedPattern(names: readonly string[]): string {
  const pattern = patternOfNames(names);
  return isSequence(pattern) ? pattern : `(${pattern})`;
}

/** Whether a pattern has no alternatives at the top level, so that a suffix can be appended without parentheses. */
function isSequence(pattern: string): boolean {
  const topLevelText = pattern.replace(/\\.|\[[^\]]*\]/g, '');
  let depth = 0;
  for (const character of topLevelText) {
    if (character === '(') depth++;
    if (character === ')') depth--;
    if (character === '|' && depth === 0) return false;
  }
  return true;
}

/** Shortens patterns: extends a denial of a table to its companions (`table$suffix`), or the reverse, if no user loses access. */
export function joinDenials(
  rectangles: readonly Rectangle<RuleEffect>[],
  siblings: readonly Sibling<RuleEffect>[],
): Rectangle<RuleEffect>[] {
  if (rectangles.every(({ effect }) => effect.privileges.length > 0)) return [...rectangles];
  const holdersByName = new Map(siblings.map(({ name, holders }) => [name, holders]));
  const widenedRectangles = rectangles.map((rectangle) => {
    const { people } = rectangle;
    const deniesNobody = (name: string): boolean => {
      const holders = holdersByName.get(name);
      return holders !== undefined && (people === null ? holders.isEmpty() : !holders.intersects(people));
    };
    const names = new Set(rectangle.names);
    if (rectangle.effect.privileges.length === 0) {
      for (const name of rectangle.names) {
        const counterpart = areCompanions(name) ? name.slice(0, -COMPANION_MARK.length) : companionsName(name);
        if (deniesNobody(counterpart)) names.add(counterpart);
      }
    }
    // Later rules have no effect on the `people` of this rule, so these people no longer count as holders.
    for (const name of people === null ? [] : names) {
      const holders = holdersByName.get(name);
      if (holders !== undefined) holdersByName.set(name, holders.minus(people ?? holders));
    }
    return { ...rectangle, names: [...names] };
  });
  return widenedRectangles.filter(
    (rectangle, index) => !widenedRectangles.slice(0, index).some((each) => isCoveredDenial(rectangle, each)),
  );
}

function isCoveredDenial(rectangle: Rectangle<RuleEffect>, earlierRectangle: Rectangle<RuleEffect>): boolean {
  const { people, names } = rectangle;
  const areDenials = [rectangle, earlierRectangle].every(({ effect }) => effect.privileges.length === 0);
  if (!areDenials || !earlierRectangle.names.includes(names[0] ?? '')) return false;
  const coversUsers = earlierRectangle.people === null || people?.minus(earlierRectangle.people).isEmpty() === true;
  return coversUsers && names.every((name) => earlierRectangle.names.includes(name));
}

export interface SiblingWithCompanions extends Sibling<RuleEffect> {
  /** Users with access to the node but not to its companions (`table$suffix`). Computed on demand, because most tables do not need this set. */
  usersWithClosedCompanions: () => Bitset;
  /** Users with the same access at this node as at the parent, except that the node's companions (`table$suffix`) are closed to them. */
  newlyClosedUsers: Bitset;
}

/** For the nodes in `siblings`: denials of their companions (`table$suffix`), for users who may access a node but not its companions. */
export function companionDenials(
  rectangles: readonly Rectangle<RuleEffect>[],
  siblings: readonly SiblingWithCompanions[],
): Sibling<RuleEffect>[] {
  return siblings.flatMap(({ name, usersWithClosedCompanions: findClosedUsers, newlyClosedUsers, holders }) => {
    const closedUsers = findClosedUsers();
    const givingRectangles = rectangles.filter(
      ({ effect, names }) => effect.privileges.length > 0 && names.includes(name),
    );
    const coveredUsers = givingRectangles.reduce((all, { people }) => all.or(people ?? closedUsers), newlyClosedUsers);
    const deniedUsers = coveredUsers.and(closedUsers);
    if (deniedUsers.isEmpty()) return [];
    return [{ name, effectUsers: [denialUsers(NO_PRIVILEGES, deniedUsers)], holders: holders.minus(closedUsers) }];
  });
}

export const NO_PRIVILEGES: RuleEffect = { privileges: [] };
