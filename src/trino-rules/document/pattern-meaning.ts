import { DOT, isWithinCharacter, unitsOf, wouldPair } from './characters.js';
import type { Pattern, PatternPiece } from './pattern.js';
import type { WorkBudget } from './work-budget.js';

/**
 * Whether the whole of `name` matches, case-sensitively and by code points, as `java.util.regex` `matches()`. Walks sets of positions,
 * so the time is bounded by pattern × name.
 * @throws BudgetExceeded
 */
export function matches(pattern: Pattern, name: string, work?: WorkBudget): boolean {
  return pattern.options.some((option) => {
    const [first] = option;
    if (first?.kind === 'literal' && !name.startsWith(first.text)) return false;
    return walk(option, name, START, work).has(name.length);
  });
}

const START: ReadonlySet<number> = new Set([0]);

function walk(
  sequence: readonly PatternPiece[],
  name: string,
  from: ReadonlySet<number>,
  work?: WorkBudget,
): ReadonlySet<number> {
  let positions = from;
  for (const piece of sequence) {
    if (positions.size === 0) return positions;
    positions = step(piece, name, positions, work);
    work?.spend(positions.size * STEPS_PER_POSITION);
  }
  return positions;
}

const STEPS_PER_POSITION = 4;

function step(piece: PatternPiece, name: string, from: ReadonlySet<number>, work?: WorkBudget): ReadonlySet<number> {
  const reached = new Set<number>();
  switch (piece.kind) {
    case 'literal':
      for (const at of from) {
        const end = at + piece.text.length;
        if (name.startsWith(piece.text, at) && !isWithinCharacter(name, end)) reached.add(end);
      }
      return reached;
    case 'set':
      for (const at of from) {
        const code = name.codePointAt(at);
        if (code !== undefined && piece.characters.has(code)) reached.add(at + unitsOf(code));
      }
      return reached;
    case 'repeated':
      return repeated(piece, name, from, work);
    case 'choice':
      for (const option of piece.options) for (const at of walk(option, name, from, work)) reached.add(at);
      return reached;
    case 'rest':
      for (const at of from) {
        // A position that was reached before had also reached all positions behind it.
        for (let end = at; !reached.has(end);) {
          reached.add(end);
          const code = name.codePointAt(end);
          if (code === undefined || !DOT.has(code)) break;
          end += unitsOf(code);
        }
      }
      return reached;
  }
}

function repeated(
  { piece, min, max }: PatternPiece & { kind: 'repeated' },
  name: string,
  from: ReadonlySet<number>,
  work?: WorkBudget,
): ReadonlySet<number> {
  let last = from;
  // Empty repetitions change nothing, so at most one repetition more than the name has characters is tried.
  const least = Math.min(min, name.length + 1);
  for (let i = 0; i < least && last.size > 0; i++) last = step(piece, name, last, work);
  const reached = new Set(last);
  for (let i = least; i < Math.min(max, least + name.length) && last.size > 0; i++) {
    last = new Set([...step(piece, name, last, work)].filter((at) => !reached.has(at)));
    for (const at of last) reached.add(at);
    work?.spend(last.size * STEPS_PER_POSITION);
  }
  return reached;
}

/** The size of a spelled-out pattern, including repeated names. */
export interface PatternSize {
  names: number;
  /** UTF-16 units of all names together. */
  characters: number;
}

/** Computed without spelling out; infinite with `.*`. */
export function sizeOf({ options }: Pattern): PatternSize {
  return options.map(sequenceSize).reduce(added, { names: 0, characters: 0 });
}

function added(a: PatternSize, b: PatternSize): PatternSize {
  return { names: a.names + b.names, characters: a.characters + b.characters };
}

function sequenceSize(pieces: readonly PatternPiece[]): PatternSize {
  return pieces.map(pieceSize).reduce(
    (head, tail) => ({
      names: head.names * tail.names,
      characters: head.characters * tail.names + tail.characters * head.names,
    }),
    { names: 1, characters: 0 },
  );
}

function pieceSize(piece: PatternPiece): PatternSize {
  switch (piece.kind) {
    case 'literal':
      return { names: 1, characters: piece.text.length };
    case 'set':
      // A piece with an empty set has no name, but the pieces beside it are spelled out.
      return { names: Math.max(piece.characters.size, 1), characters: piece.characters.size };
    case 'repeated':
      return repeatedSize(piece);
    case 'choice':
      return sizeOf(piece);
    case 'rest':
      return MANY;
  }
}

const MANY: PatternSize = { names: Infinity, characters: Infinity };

function repeatedSize({ piece, min, max }: PatternPiece & { kind: 'repeated' }): PatternSize {
  if (max === 0) return { names: 1, characters: 0 };
  const { names, characters } = pieceSize(piece);
  // Patterns with more repetitions are matched, not spelled out.
  if (names === Infinity || (max > 1 && Math.max(max, names) > MAX_SPELLED)) return MANY;
  let size: PatternSize = { names: 0, characters: 0 };
  for (let n = min; n <= max; n++)
    size = added(size, { names: names ** n, characters: n * characters * names ** Math.max(n - 1, 0) });
  return size;
}

const MAX_SPELLED = 1_000;

/** All strings that a pattern matches; null: with `.*`, or with more than `limit`, including repeated ones. */
export function expand(pattern: Pattern, limit: number): Set<string> | null {
  return sizeOf(pattern).names > limit ? null : new Set(choices(pattern.options));
}

function choices(options: readonly (readonly PatternPiece[])[]): string[] {
  return options.flatMap((option) => strings(option.map(ends)));
}

function strings(sequence: readonly (readonly string[])[]): string[] {
  return sequence.reduce<string[]>(joined, ['']);
}

/** Concatenations. Separate halves of a surrogate pair are in no name. */
function joined(heads: readonly string[], tails: readonly string[]): string[] {
  return heads.flatMap((head) => tails.filter((tail) => !wouldPair(head, tail)).map((tail) => head + tail));
}

function ends(piece: PatternPiece): string[] {
  switch (piece.kind) {
    case 'literal':
      return [piece.text];
    case 'choice':
      return choices(piece.options);
    case 'set':
      return piece.characters.ranges.flatMap(({ min, max }) =>
        Array.from({ length: max - min + 1 }, (_, i) => String.fromCodePoint(min + i)),
      );
    case 'repeated': {
      if (piece.max === 0) return [''];
      const once = ends(piece.piece);
      const times = (count: number) => strings(Array.from({ length: count }, () => once));
      return Array.from({ length: piece.max - piece.min + 1 }, (_, i) => times(piece.min + i)).flat();
    }
    case 'rest':
      throw new RangeError('a pattern with .* has no end of names');
  }
}
