import { DOT, isWithinCharacter, unitsOf, wouldPair } from './characters.js';
import type { Pattern, PatternPiece } from './pattern.js';
import type { WorkBudget } from './work-budget.js';

/**
 * Whether the whole of `name` matches, case-sensitively, as `java.util.regex` `matches()` does: by code points, one half of a
 * surrogate pair is none. Walks sets of positions, so its time is bounded by pattern × name, whatever the pattern.
 * @param work pays for the positions
 * @throws BudgetExceeded
 */
export function matches(pattern: Pattern, name: string, work?: WorkBudget): boolean {
  return pattern.options.some((option) => {
    const [first] = option;
    // Most patterns are lists of names, which differ at once.
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

/** To reach and to keep a place in a name. */
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
    case 'class':
      for (const at of from) if (at < name.length && piece.oneOf.includes(name.charAt(at))) reached.add(at + 1);
      return reached;
    case 'set':
      for (const at of from) {
        const code = name.codePointAt(at);
        if (code !== undefined && piece.characters.has(code)) reached.add(at + unitsOf(code));
      }
      return reached;
    case 'repeated':
      return repeated(piece, name, from, work);
    case 'optional':
      return new Set([...from, ...step(piece.piece, name, from, work)]);
    case 'choice':
      for (const option of piece.options) for (const at of walk(option, name, from, work)) reached.add(at);
      return reached;
    case 'rest':
      for (const at of from) {
        // Whatever is reached from a position that was reached before, has been reached, too.
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
  // Repetitions that read no character change nothing, so more of them than there are characters need not be tried.
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

/** The cost of spelling out a pattern; repetitions count. */
export interface PatternSize {
  names: number;
  /** UTF-16 units of all names together. */
  characters: number;
}

/** Counted without spelling anything out; infinite where the pattern has `.*`. */
export function sizeOf({ options }: Pick<Pattern, 'options'>): PatternSize {
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
    case 'class':
      return { names: piece.oneOf.length, characters: piece.oneOf.length };
    case 'set':
      // An empty set makes no name, but what stands beside it is spelled out all the same.
      return { names: Math.max(piece.characters.size, 1), characters: piece.characters.size };
    case 'repeated':
      return repeatedSize(piece);
    case 'optional':
      return added(pieceSize(piece.piece), { names: 1, characters: 0 });
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
  // Spelling out is for names; what is repeated more often is matched instead.
  if (max > MAX_SPELLED || names > MAX_SPELLED) return MANY;
  let size: PatternSize = { names: 0, characters: 0 };
  for (let n = min; n <= max; n++)
    size = added(size, { names: names ** n, characters: n * characters * names ** Math.max(n - 1, 0) });
  return size;
}

const MAX_SPELLED = 1_000;

/** Every string that a finite pattern names, or null: it has `.*`, or names more than `limit` (repetitions count). */
export function expand(pattern: Pick<Pattern, 'options'>, limit: number): Set<string> | null {
  return sizeOf(pattern).names > limit ? null : new Set(choices(pattern.options));
}

function choices(options: readonly (readonly PatternPiece[])[]): string[] {
  return options.flatMap((option) => strings(option.map(ends)));
}

function strings(sequence: readonly (readonly string[])[]): string[] {
  return sequence.reduce<string[]>(joined, ['']);
}

/** Two halves of a surrogate pair, each a character of its own to the pattern, are in no name. */
function joined(heads: readonly string[], tails: readonly string[]): string[] {
  return heads.flatMap((head) => tails.filter((tail) => !wouldPair(head, tail)).map((tail) => head + tail));
}

function ends(piece: PatternPiece): string[] {
  switch (piece.kind) {
    case 'literal':
      return [piece.text];
    case 'class':
      return Array.from(piece.oneOf);
    case 'optional':
      return ['', ...ends(piece.piece)];
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
