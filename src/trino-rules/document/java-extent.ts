/**
 * How far a look-behind has to look back, as java.util.regex works it out (`study` of its nodes, JDK 25): it refuses a look-behind
 * without an obvious maximum, and what is obvious to it follows from these steps alone, overflows of its integers included.
 */
interface Extents {
  longest: number;
  isBounded: boolean;
  /** Without this a repeated group has no obvious maximum. */
  isFixed: boolean;
  /** What stood before each alternation on the way: Java measures what stands behind one by itself, and adds both. */
  before: { longest: number; isBounded: boolean }[];
}

/** Adds what one piece may take. */
export type Extent = (extents: Extents) => void;

const MOST = 0x7fffffff;

export const NO_CHARACTER: Extent = () => undefined;

export const CHARACTER: Extent = (extents) => {
  extents.longest = (extents.longest + 1) | 0;
};

export const LINE_BREAK: Extent = (extents) => {
  extents.longest = (extents.longest + 2) | 0;
};

export const GRAPHEME: Extent = (extents) => {
  extents.isFixed = false;
};

export const BACK_REFERENCE: Extent = (extents) => {
  extents.isBounded = false;
};

/** A repeated group of which Java does not see that it is always as long. */
const LOOP: Extent = (extents) => {
  extents.isBounded = false;
  extents.isFixed = false;
};

/** Endless repetition of one character or class. */
const GREEDY: Extent = (extents) => {
  if (extents.isBounded) extents.longest = (extents.longest + MOST) | 0;
  extents.isFixed = false;
};

export function inSequence(parts: readonly Extent[]): Extent {
  if (parts.length < 2) return parts[0] ?? NO_CHARACTER;
  return (extents) => {
    for (const part of parts) part(extents);
  };
}

/** Alternatives, of which one is nothing where there is just one. */
export function oneOfExtents(options: readonly Extent[]): Extent {
  return (extents) => {
    let { longest, isBounded } = extents;
    let most = -1;
    for (const option of options) {
      reset(extents);
      whole(option, extents);
      most = Math.max(most, extents.longest);
      isBounded &&= extents.isBounded;
    }
    longest = (longest + most) | 0;
    extents.before.push({ longest, isBounded });
    reset(extents);
  };
}

export interface Repetition {
  min: number;
  /** Infinity: no number is given. */
  max: number;
  mode: 'greedy' | 'lazy' | 'possessive';
}

/** @param isSet one character or class, which Java repeats in a shorter way */
export function repeatedExtent(piece: Extent, { min, max, mode }: Repetition, isSet: boolean): Extent {
  if (min === 0 && max === 1) {
    return (extents) => {
      whole(piece, extents);
      extents.isFixed = false;
    };
  }
  return isSet && max === Infinity && mode === 'greedy' ? GREEDY : counted(piece, min, max);
}

/** Of a group with parentheses around it. */
export function repeatedGroupExtent(group: Extent, repetition: Repetition): Extent {
  const { min, max, mode } = repetition;
  if (mode === 'possessive') return repeatedExtent(group, repetition, false);
  if (min === 0 && max === 1) return oneOfExtents([group, NO_CHARACTER]);
  // Only a look-behind asks, once for each group: groups are deep, and long.
  let repeated: Extent | null = null;
  return (extents) => {
    repeated ??= extentsOf(group).isFixed ? counted(group, min, max) : LOOP;
    repeated(extents);
  };
}

/** Of a group that nothing behind it can reach into again, `(?>…)`. */
export function independentExtent(group: Extent): Extent {
  return (extents) => {
    whole(group, extents);
  };
}

/** Whether a look-behind of this has an obvious maximum. */
export function isObvious(extent: Extent): boolean {
  return extentsOf(extent).isBounded;
}

function extentsOf(extent: Extent): Extents {
  const extents = { longest: 0, isBounded: true, isFixed: true, before: [] };
  whole(extent, extents);
  return extents;
}

/** Adds a piece with which Java's way through its nodes ends. */
function whole(piece: Extent, extents: Extents): void {
  const { before } = extents;
  extents.before = [];
  piece(extents);
  for (const { longest, isBounded } of extents.before.reverse()) {
    extents.longest = (extents.longest + longest) | 0;
    extents.isBounded &&= isBounded;
    extents.isFixed = false;
  }
  extents.before = before;
}

function counted(piece: Extent, min: number, max: number): Extent {
  return (extents) => {
    const { longest, isBounded, isFixed } = extents;
    reset(extents);
    whole(piece, extents);
    if (isBounded && extents.isBounded) {
      extents.longest = (Math.imul(extents.longest, Math.min(max, MOST)) + longest) | 0;
      if (extents.longest < longest) extents.isBounded = false;
    } else extents.isBounded = false;
    extents.isFixed = extents.isFixed && min === max ? isFixed : false;
  };
}

function reset(extents: Extents): void {
  extents.longest = 0;
  extents.isBounded = true;
  extents.isFixed = true;
}
