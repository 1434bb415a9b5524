import { DOT, isWithinCharacter, utf16Length, wouldPairSurrogates } from './characters.js';
import type { Pattern, PatternPiece } from './pattern.js';
import type { WorkBudget } from './work-budget.js';

/**
 * Whether a pattern matches the whole name, case-sensitively and by code points, like `matches()` of `java.util.regex`. Keeps sets of
 * positions instead of backtracking, so that the time is bounded by pattern length × name length.
 * @throws BudgetExceeded
 */
export function matches(pattern: Pattern, name: string, budget?: WorkBudget): boolean {
  return pattern.options.some((option) => {
    const [firstPiece] = option;
    if (firstPiece?.kind === 'literal' && !name.startsWith(firstPiece.text)) return false;
    return endsOfSequence(option, name, START_POSITIONS, budget).has(name.length);
  });
}

const START_POSITIONS: ReadonlySet<number> = new Set([0]);

function endsOfSequence(
  sequence: readonly PatternPiece[],
  name: string,
  startPositions: ReadonlySet<number>,
  budget?: WorkBudget,
): ReadonlySet<number> {
  let positions = startPositions;
  for (const piece of sequence) {
    if (positions.size === 0) return positions;
    positions = endsOfPiece(piece, name, positions, budget);
    budget?.spend(positions.size * COST_PER_POSITION);
  }
  return positions;
}

const COST_PER_POSITION = 4;

function endsOfPiece(
  piece: PatternPiece,
  name: string,
  startPositions: ReadonlySet<number>,
  budget?: WorkBudget,
): ReadonlySet<number> {
  const endPositions = new Set<number>();
  switch (piece.kind) {
    case 'literal':
      for (const position of startPositions) {
        const end = position + piece.text.length;
        if (name.startsWith(piece.text, position) && !isWithinCharacter(name, end)) endPositions.add(end);
      }
      return endPositions;
    case 'set':
      for (const position of startPositions) {
        const code = name.codePointAt(position);
        if (code !== undefined && piece.characters.has(code)) endPositions.add(position + utf16Length(code));
      }
      return endPositions;
    case 'repeated':
      return endsOfRepetition(piece, name, startPositions, budget);
    case 'choice':
      for (const option of piece.options)
        for (const position of endsOfSequence(option, name, startPositions, budget)) endPositions.add(position);
      return endPositions;
    case 'rest':
      for (const position of startPositions) {
        // If a position is already in the set, all positions that follow from it have been added before.
        for (let end = position; !endPositions.has(end);) {
          endPositions.add(end);
          const code = name.codePointAt(end);
          if (code === undefined || !DOT.has(code)) break;
          end += utf16Length(code);
        }
      }
      return endPositions;
  }
}

function endsOfRepetition(
  { piece, min, max }: PatternPiece & { kind: 'repeated' },
  name: string,
  startPositions: ReadonlySet<number>,
  budget?: WorkBudget,
): ReadonlySet<number> {
  let positions = startPositions;
  // Of `name.length` + 1 repetitions, at least one matches the empty text. More repetitions can only match more empty texts, so they change nothing.
  const minRepetitions = Math.min(min, name.length + 1);
  for (let i = 0; i < minRepetitions && positions.size > 0; i++)
    positions = endsOfPiece(piece, name, positions, budget);
  const allEnds = new Set(positions);
  for (let i = minRepetitions; i < Math.min(max, minRepetitions + name.length) && positions.size > 0; i++) {
    positions = new Set([...endsOfPiece(piece, name, positions, budget)].filter((position) => !allEnds.has(position)));
    for (const position of positions) allEnds.add(position);
    budget?.spend(positions.size * COST_PER_POSITION);
  }
  return allEnds;
}

/** The size of the list of names that a pattern spells out. Repeated names count each time. */
export interface PatternSize {
  names: number;
  /** UTF-16 units of all names together. */
  characters: number;
}

/** The number and the length of all matching names, computed without listing the names. Infinite for `.*`. */
export function sizeOf({ options }: Pattern): PatternSize {
  return options.map(sequenceSize).reduce(addSizes, { names: 0, characters: 0 });
}

function addSizes(a: PatternSize, b: PatternSize): PatternSize {
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
      // An empty set matches nothing. It still counts as one name, so that the product with the sizes of other pieces is not zero.
      return { names: Math.max(piece.characters.size, 1), characters: piece.characters.size };
    case 'repeated':
      return repeatedSize(piece);
    case 'choice':
      return sizeOf(piece);
    case 'rest':
      return UNBOUNDED;
  }
}

const UNBOUNDED: PatternSize = { names: Infinity, characters: Infinity };

function repeatedSize({ piece, min, max }: PatternPiece & { kind: 'repeated' }): PatternSize {
  if (max === 0) return { names: 1, characters: 0 };
  const { names, characters } = pieceSize(piece);
  if (names === Infinity || (max > 1 && Math.max(max, names) > MAX_SPELLED_REPETITIONS)) return UNBOUNDED;
  let size: PatternSize = { names: 0, characters: 0 };
  for (let count = min; count <= max; count++)
    size = addSizes(size, { names: names ** count, characters: count * characters * names ** Math.max(count - 1, 0) });
  return size;
}

const MAX_SPELLED_REPETITIONS = 1_000;

/** All strings that a pattern matches; null: there are more than `limit` (repeated strings count each time). */
export function matchingStrings(pattern: Pattern, limit: number): Set<string> | null {
  return sizeOf(pattern).names > limit ? null : new Set(stringsOfOptions(pattern.options));
}

function stringsOfOptions(options: readonly (readonly PatternPiece[])[]): string[] {
  return options.flatMap((option) => stringsOfSequence(option.map(stringsOfPiece)));
}

function stringsOfSequence(sequence: readonly (readonly string[])[]): string[] {
  return sequence.reduce<string[]>(concatenations, ['']);
}

/** All concatenations of a head and a tail, except those that would join two surrogates to a new character. */
function concatenations(heads: readonly string[], tails: readonly string[]): string[] {
  return heads.flatMap((head) => tails.filter((tail) => !wouldPairSurrogates(head, tail)).map((tail) => head + tail));
}

function stringsOfPiece(piece: PatternPiece): string[] {
  switch (piece.kind) {
    case 'literal':
      return [piece.text];
    case 'choice':
      return stringsOfOptions(piece.options);
    case 'set':
      return piece.characters.ranges.flatMap(({ min, max }) =>
        Array.from({ length: max - min + 1 }, (_, i) => String.fromCodePoint(min + i)),
      );
    case 'repeated': {
      if (piece.max === 0) return [''];
      const strings = stringsOfPiece(piece.piece);
      const repeatStrings = (count: number) => stringsOfSequence(Array.from({ length: count }, () => strings));
      return Array.from({ length: piece.max - piece.min + 1 }, (_, i) => repeatStrings(piece.min + i)).flat();
    }
    case 'rest':
      throw new RangeError('a pattern with .* has no end of names');
  }
}
