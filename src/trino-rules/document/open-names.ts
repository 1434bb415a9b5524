import type { CharSet } from 'refa';
import { expand, type PatternSize, sizeOf } from './pattern-meaning.js';
import type { Pattern, PatternPiece } from './pattern.js';
import type { WorkBudget } from './work-budget.js';

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

/** What may be spelled out of patterns: both names and their characters cost steps of the budget. */
export interface Spelling {
  budget: WorkBudget;
  mostNames: number;
  stepsPerName: number;
}

/** Null: too many, or too long. */
export function spelledOut(pattern: Pick<Pattern, 'options'>, spelling: Spelling): Set<string> | null {
  const size = sizeOf(pattern);
  if (!canSpell(size, spelling)) return null;
  spelling.budget.spend(stepsFor(size, spelling));
  return expand(pattern, spelling.mostNames);
}

function canSpell(size: PatternSize, spelling: Spelling): boolean {
  return size.names <= spelling.mostNames && spelling.budget.canAfford(stepsFor(size, spelling));
}

function stepsFor({ names, characters }: PatternSize, { stepsPerName }: Spelling): number {
  return names * stepsPerName + characters + Math.max(0, characters - names * USUAL_LENGTH) * STEPS_PER_MORE;
}

/** In UTF-16 units. Longer names cost more than the price of a name: they are hashed and compared again and again. */
const USUAL_LENGTH = 256;
const STEPS_PER_MORE = 30;

export function openNames({ options }: Pattern, spelling: Spelling): OpenNames {
  const alternatives = apart(options) ?? options;
  const lists = alternatives.filter((sequence) => !sequence.some(isOpen));
  const open = alternatives.filter((sequence) => sequence.some(isOpen));
  const witnesses = witnessesOf(open, spelling);
  const spelled = witnesses && spelledOut({ options: lists }, spelling);
  if (witnesses === null || spelled === null) return { spelled: [], witnesses: [oneOf(openOption(options))] };
  return { spelled: [...spelled], witnesses: [...witnesses] };
}

/** Null: too many, or too long. */
function witnessesOf(open: readonly Sequence[], spelling: Spelling): Set<string> | null {
  const witnesses = new Set<string>();
  const size = { names: 0, characters: 0 };
  for (const sequence of open) {
    const witness = oneOf(sequence);
    size.names++;
    size.characters += witness.length;
    if (!canSpell(size, spelling)) return null;
    witnesses.add(witness);
  }
  spelling.budget.spend(stepsFor(size, spelling));
  return witnesses;
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
          return repeatedName(oneOf([piece.piece]), Math.max(piece.min, Math.min(1, piece.max)));
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

function repeatedName(name: string, times: number): string {
  return name.repeat(Math.min(times, Math.ceil(MAX_REPEATED / Math.max(name.length, 1))));
}

/** In UTF-16 units: a longer name is none. */
const MAX_REPEATED = 1_000;

function openOption(options: readonly Sequence[]): Sequence {
  return options.find((option) => option.some(isOpen)) ?? options[0] ?? [];
}

function isOpen(piece: PatternPiece): boolean {
  if (piece.kind === 'optional') return isOpen(piece.piece);
  if (piece.kind === 'choice') return piece.options.some((option) => option.some(isOpen));
  return piece.kind === 'rest' || (piece.kind === 'repeated' && piece.max === Infinity);
}
