import { expand, type PatternSize, sizeOf } from './pattern-meaning.js';
import { isOptional, type Pattern, type PatternPiece } from './pattern.js';
import type { WorkBudget } from './work-budget.js';

/** Begins fresh names: lower-case letters, which most patterns match, and longer than any granted name (128 characters). */
export const FRESH_PREFIX = `fresh${'x'.repeat(128)}`;

/** A name with the prefix that is not among `taken`. */
export function freshAmong(taken: ReadonlySet<string>): string {
  let name = FRESH_PREFIX;
  for (let number = 1; taken.has(name); number++) name = `${FRESH_PREFIX}${number}`;
  return name;
}

type Sequence = PatternPiece[];

/** Names that an open pattern matches. */
export interface OpenNames {
  /** All names of finite alternatives; none where these are too many. */
  spelled: readonly string[];
  /** One name of each alternative with `.*` or an endless repetition; only one where alternatives are too many. */
  witnesses: readonly string[];
}

/** Limits for spelling out patterns: names and their characters cost steps of the budget. */
export interface Spelling {
  budget: WorkBudget;
  mostNames: number;
  stepsPerName: number;
}

/** Null: too many, or too long. */
export function spelledOut(pattern: Pattern, spelling: Spelling): Set<string> | null {
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

/** Length in UTF-16 units. Longer names cost extra steps, because they are hashed and compared often. */
const USUAL_LENGTH = 256;
const STEPS_PER_MORE = 30;

export function openNames({ options }: Pattern, spelling: Spelling): OpenNames {
  const alternatives = topAlternatives(options) ?? options;
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

/** Limit of the pieces that are copied in `topAlternatives`. */
const MAX_PIECES = 2_000;

/** Moves alternatives out of open pieces: `sales_(eu|tmp.*)` becomes `sales_eu` and `sales_tmp.*`. Null: too many. */
function topAlternatives(options: readonly Sequence[]): Sequence[] | null {
  const whole: Sequence[] = [];
  let copied = 0;
  const waiting: Sequence[] = [...options].reverse();
  for (let sequence = waiting.pop(); sequence !== undefined; sequence = waiting.pop()) {
    const at = sequence.findIndex((piece) => (piece.kind === 'choice' || isOptional(piece)) && isOpen(piece));
    const piece = sequence[at];
    if (piece?.kind !== 'choice' && piece?.kind !== 'repeated') {
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
        case 'choice':
          return oneOf(openOption(piece.options));
        case 'set':
          return (
            Array.from('a0_').find((sign) => piece.characters.has(sign.charCodeAt(0))) ??
            String.fromCodePoint(piece.characters.ranges[0]?.min ?? 0)
          );
        case 'repeated': {
          const name = oneOf([piece.piece]);
          const times = Math.max(piece.min, Math.min(1, piece.max));
          return name.repeat(Math.min(times, Math.ceil(MAX_REPEATED / Math.max(name.length, 1))));
        }
        case 'rest':
          return FRESH_PREFIX;
      }
    })
    .join('');
}

/** Limit of a repeated name, in UTF-16 units. */
const MAX_REPEATED = 1_000;

function openOption(options: readonly Sequence[]): Sequence {
  return options.find((option) => option.some(isOpen)) ?? options[0] ?? [];
}

function isOpen(piece: PatternPiece): boolean {
  if (piece.kind === 'repeated') return piece.max === Infinity || (isOptional(piece) && isOpen(piece.piece));
  return piece.kind === 'rest' || (piece.kind === 'choice' && piece.options.some((option) => option.some(isOpen)));
}

/** The tables that a pattern of companions is about: `a[$].*`, `(a|b)([$].*)?` or `.*[$].*`. */
export interface Companions {
  /** Null: companions of any table. */
  bases: ReadonlySet<string> | null;
  /** Whether it also matches the tables themselves. */
  isWithBases: boolean;
}

/** Null: another kind of pattern, or too many tables. */
export function companionsOf({ options }: Pattern, spelling: Spelling): Companions | null {
  const [pieces] = options;
  if (pieces === undefined || options.length !== 1) return null;
  const last = pieces.at(-1);
  const optional = last && isOptional(last) && last.piece.kind === 'choice' ? last.piece.options : null;
  const isWithBases = optional !== null;
  const base = isWithBases ? (isSuffix(optional) ? pieces.slice(0, -1) : null) : withoutSuffix(pieces);
  if (base === null || base.length === 0) return null;
  if (base.every(({ kind }) => kind === 'rest')) return isWithBases ? null : { bases: null, isWithBases };
  const bases = spelledOut({ options: [base] }, spelling);
  return bases === null ? null : { bases, isWithBases };
}

/** One name of each kind that a pattern of companions tells apart: a companion with a fresh suffix, and the base. */
export function companionNames({ bases, isWithBases }: Companions): OpenNames {
  return {
    spelled: isWithBases ? [...(bases ?? [])] : [],
    witnesses: [...(bases ?? [null])].map(freshCompanion),
  };
}

/** A companion of a table that no rule names; null: of a table that no rule names either. */
export function freshCompanion(base: string | null): string {
  return `${base ?? FRESH_PREFIX}$${FRESH_PREFIX}`;
}

/** Whether `.*` matches the whole name: Java's dot stops at the end of a line. */
export function isLineOfText(name: string): boolean {
  return !/[\n\r\u0085\u2028\u2029]/.test(name);
}

/** `[$].*` */
function isSuffix([sequence, ...others]: readonly (readonly PatternPiece[])[]): boolean {
  return others.length === 0 && sequence !== undefined && withoutSuffix(sequence)?.length === 0;
}

/** The pieces before `[$].*` or `\$.*`; null: they end otherwise. */
function withoutSuffix(pieces: readonly PatternPiece[]): PatternPiece[] | null {
  const [sign, rest] = pieces.slice(-2);
  if (sign === undefined || rest?.kind !== 'rest') return null;
  const before = pieces.slice(0, -2);
  if (sign.kind === 'set') return sign.characters.size === 1 && sign.characters.has(DOLLAR) ? before : null;
  if (sign.kind !== 'literal' || !sign.text.endsWith('$')) return null;
  const text = sign.text.slice(0, -1);
  return text === '' ? before : [...before, { kind: 'literal', text }];
}

const DOLLAR = 0x24;
