import { expand, matches } from './pattern-meaning.js';
import { readPattern, type Pattern } from './pattern.js';

/** What a pattern means among names: any name; exactly these; or what `matches` says, where it has `.*` besides others. */
export type Meaning =
  { kind: 'any' } | { kind: 'names'; names: ReadonlySet<string> } | { kind: 'open'; witness: string; pattern: Pattern };

const MAX_NAMES = 1_000_000;
/** Without any of these a pattern is a list of names. */
const SYNTAX = /[\\^$.?*+()[\]{}]/;

/**
 * The meanings of a document's patterns, each distinct text read and expanded once. A fresh name is one that no pattern
 * and no snapshot spells out: it stands for all those that may yet come.
 */
export class NameSpace {
  private readonly meanings = new Map<string, Meaning>();

  meaning(text: string | undefined): Meaning {
    if (text === undefined) return ANY;
    const known = this.meanings.get(text);
    if (known) return known;
    const meaning = readMeaning(text);
    this.meanings.set(text, meaning);
    return meaning;
  }

  /** Those of `names` that the pattern means. */
  among(text: string | undefined, names: readonly string[]): readonly string[] {
    const meaning = this.meaning(text);
    switch (meaning.kind) {
      case 'any':
        return names;
      case 'names':
        return names.filter((name) => meaning.names.has(name));
      case 'open':
        return names.filter((name) => matches(meaning.pattern, name));
    }
  }

  means(text: string | undefined, name: string): boolean {
    return this.among(text, [name]).length > 0;
  }

  /** The names that a pattern brings up itself: those that it spells out, or one that an open pattern would let in. */
  spelled(text: string | undefined): Iterable<string> {
    const meaning = this.meaning(text);
    return meaning.kind === 'names' ? meaning.names : meaning.kind === 'open' ? [meaning.witness] : [];
  }
}

const ANY: Meaning = { kind: 'any' };

/** Reads and expands a pattern; nothing is remembered. */
export function readMeaning(text: string): Meaning {
  if (text === '.*') return ANY;
  if (!SYNTAX.test(text)) return { kind: 'names', names: new Set(text.split('|')) };
  const reading = readPattern(text);
  if (reading.kind === 'refused') throw new RangeError(`a pattern that readRules would refuse: ${reading.reason}`);
  const names = expand(reading.pattern, MAX_NAMES);
  if (names) return { kind: 'names', names };
  return { kind: 'open', witness: witness(reading.pattern), pattern: reading.pattern };
}

/** One of the names that an open pattern lets in although nobody has spelled it out. */
function witness({ options }: Pattern): string {
  const some = (sequence: Pattern['options'][number]): string =>
    sequence
      .map((piece) => {
        switch (piece.kind) {
          case 'literal':
            return piece.text;
          case 'class':
            return piece.oneOf.charAt(0);
          case 'choice':
            return some(openOption(piece.options));
          case 'optional':
            return some([piece.piece]);
          case 'rest':
            return FRESH;
        }
      })
      .join('');
  return some(openOption(options));
}

function openOption(options: Pattern['options']): Pattern['options'][number] {
  return options.find((option) => option.some(isOpen)) ?? options[0] ?? [];
}

function isOpen(piece: Pattern['options'][number][number]): boolean {
  if (piece.kind === 'optional') return isOpen(piece.piece);
  if (piece.kind === 'choice') return piece.options.some((option) => option.some(isOpen));
  return piece.kind === 'rest';
}

/** Lower case, and longer than any name that the grants may hold (128 characters), so that it is nobody's. */
export const FRESH = `fresh-${'x'.repeat(128)}`;
