import type { CharSet } from 'refa';
import { expand } from './pattern-meaning.js';
import type { Pattern, PatternPiece } from './pattern.js';

/** Letters in lower case, as most patterns let in, and longer than any name that the grants may hold (128 characters). */
export const FRESH_PREFIX = `fresh${'x'.repeat(128)}`;

/** A name with the prefix that is not among `taken`. */
export function freshAmong(taken: ReadonlySet<string>): string {
  let name = FRESH_PREFIX;
  for (let number = 1; taken.has(name); number++) name = `${FRESH_PREFIX}${number}`;
  return name;
}

type Sequence = PatternPiece[];

/** Names that an open pattern lets in. */
export interface OpenNames {
  /** All names of the alternatives that are lists of names; none where they are too many. */
  spelled: readonly string[];
  /** One of each alternative with `.*` or an endless repetition; just one where they cannot be told apart. */
  witnesses: readonly string[];
}

/** @param mostNames that may be spelled out */
export function openNames({ options }: Pattern, mostNames: number): OpenNames {
  const alternatives = apart(options);
  const lists = alternatives?.filter((sequence) => !sequence.some(isOpen)) ?? [];
  const open = alternatives?.filter((sequence) => sequence.some(isOpen)) ?? [];
  const spelled = alternatives === null ? null : expand({ options: lists }, mostNames);
  if (spelled === null) return { spelled: [], witnesses: [oneOf(openOption(options))] };
  return { spelled: [...spelled], witnesses: [...new Set(open.map(oneOf))] };
}

/** What is copied to tell alternatives apart. */
const MAX_PIECES = 2_000;

/** Alternatives inside an open piece become alternatives of the whole: `sales_(eu|tmp.*)` is `sales_eu` and `sales_tmp.*`. Null: too many. */
function apart(options: readonly Sequence[]): Sequence[] | null {
  const whole: Sequence[] = [];
  let copied = 0;
  const waiting: Sequence[] = [...options].reverse();
  for (let sequence = waiting.pop(); sequence !== undefined; sequence = waiting.pop()) {
    const at = sequence.findIndex((piece) => (piece.kind === 'choice' || piece.kind === 'optional') && isOpen(piece));
    const piece = sequence[at];
    if (piece?.kind !== 'choice' && piece?.kind !== 'optional') {
      whole.push(sequence);
      continue;
    }
    const [before, after] = [sequence.slice(0, at), sequence.slice(at + 1)];
    const choices: Sequence[] = piece.kind === 'choice' ? piece.options : [[piece.piece], []];
    for (const choice of choices.toReversed()) {
      copied += sequence.length + choice.length;
      if (copied > MAX_PIECES) return null;
      waiting.push([...before, ...choice, ...after]);
    }
  }
  return whole;
}

function oneOf(sequence: Sequence): string {
  return sequence
    .map((piece) => {
      switch (piece.kind) {
        case 'literal':
          return piece.text;
        case 'class':
          return piece.oneOf.charAt(0);
        case 'choice':
          return oneOf(openOption(piece.options));
        case 'set':
          return (
            Array.from('a0_').find((sign) => piece.characters.has(sign.charCodeAt(0))) ?? firstOf(piece.characters)
          );
        case 'repeated':
          return oneOf([piece.piece]).repeat(Math.min(Math.max(piece.min, Math.min(1, piece.max)), MAX_REPEATED));
        case 'optional':
          return oneOf([piece.piece]);
        case 'rest':
          return FRESH_PREFIX;
      }
    })
    .join('');
}

function firstOf({ ranges }: CharSet): string {
  return String.fromCodePoint(ranges[0]?.min ?? 0);
}

/** A longer name is none. */
const MAX_REPEATED = 1_000;

function openOption(options: readonly Sequence[]): Sequence {
  return options.find((option) => option.some(isOpen)) ?? options[0] ?? [];
}

function isOpen(piece: PatternPiece): boolean {
  if (piece.kind === 'optional') return isOpen(piece.piece);
  if (piece.kind === 'choice') return piece.options.some((option) => option.some(isOpen));
  return piece.kind === 'rest' || (piece.kind === 'repeated' && piece.max === Infinity);
}
