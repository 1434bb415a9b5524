import type { Pattern, PatternPiece } from './pattern.js';

/** What `.*` does not run over (java.util.regex without DOTALL). */
const LINE_END = /[\n\r\u0085\u2028\u2029]/;

/**
 * Whether the whole of `name` matches, case-sensitively, as `java.util.regex` `matches()` does.
 * Walks sets of positions, so its time is bounded by pattern × name, whatever the pattern.
 */
export function matches(pattern: Pattern, name: string): boolean {
  return pattern.options.some((option) => walk(option, name, new Set([0])).has(name.length));
}

function walk(sequence: readonly PatternPiece[], name: string, from: ReadonlySet<number>): ReadonlySet<number> {
  let positions = from;
  for (const piece of sequence) {
    if (positions.size === 0) return positions;
    positions = step(piece, name, positions);
  }
  return positions;
}

function step(piece: PatternPiece, name: string, from: ReadonlySet<number>): ReadonlySet<number> {
  const reached = new Set<number>();
  switch (piece.kind) {
    case 'literal':
      for (const at of from) if (name.startsWith(piece.text, at)) reached.add(at + piece.text.length);
      return reached;
    case 'class':
      for (const at of from) if (at < name.length && piece.oneOf.includes(name.charAt(at))) reached.add(at + 1);
      return reached;
    case 'optional':
      return new Set([...from, ...step(piece.piece, name, from)]);
    case 'choice':
      for (const option of piece.options) for (const at of walk(option, name, from)) reached.add(at);
      return reached;
    case 'rest':
      for (const at of from) {
        reached.add(at);
        for (let end = at; end < name.length && !LINE_END.test(name.charAt(end)); end++) reached.add(end + 1);
      }
      return reached;
  }
}

/** Every string that a finite pattern names, or null: it has `.*`, or names more than `limit` (repetitions count). */
export function expand(pattern: Pattern, limit: number): Set<string> | null {
  if (!pattern.isFinite) return null;
  const names = choices(pattern.options, limit);
  return names && new Set(names);
}

function choices(options: readonly (readonly PatternPiece[])[], limit: number): string[] | null {
  const all: string[] = [];
  for (const option of options) {
    const names = strings(option, limit - all.length);
    if (names === null) return null;
    for (const name of names) all.push(name);
  }
  return all;
}

function strings(sequence: readonly PatternPiece[], limit: number): string[] | null {
  let heads = [''];
  for (const piece of sequence) {
    const tails = ends(piece, limit);
    if (tails === null || heads.length * tails.length > limit) return null;
    heads = heads.flatMap((head) => tails.map((tail) => head + tail));
  }
  return heads;
}

function ends(piece: PatternPiece, limit: number): string[] | null {
  switch (piece.kind) {
    case 'literal':
      return [piece.text];
    case 'class':
      return Array.from(piece.oneOf);
    case 'optional': {
      const some = ends(piece.piece, limit - 1);
      return some && ['', ...some];
    }
    case 'choice':
      return choices(piece.options, limit);
    case 'rest':
      return null;
  }
}
