import { matchingStrings, type PatternSize, sizeOf } from './pattern-meaning.js';
import { isOptional, type Pattern, type PatternPiece } from './pattern.js';
import type { WorkBudget } from './work-budget.js';

/**
 * Prefix of fresh (invented) names. No granted name starts with it, because granted names have at most 128 characters. Most patterns match its
 * lower-case letters.
 */
export const FRESH_PREFIX = `fresh${'x'.repeat(128)}`;

export function unusedFreshName(usedNames: ReadonlySet<string>): string {
  let name = FRESH_PREFIX;
  for (let number = 1; usedNames.has(name); number++) name = `${FRESH_PREFIX}${number}`;
  return name;
}

type Sequence = PatternPiece[];

/** Names that represent all names that an open pattern (with `.*`, or with too many names) matches. */
export interface RepresentativeNames {
  /** The names of all alternatives that match finitely many names, such as `eu` in `eu|tmp.*`; empty if there are too many names. */
  spelledNames: readonly string[];
  /** An example of a name for each alternative with `.*` or an endless repetition. Only one example if there are too many alternatives. */
  witnesses: readonly string[];
}

/** Limits for listing the names that a pattern matches. Each name and each of its characters costs steps of the budget. */
export interface SpellingLimits {
  budget: WorkBudget;
  maxNames: number;
  stepsPerName: number;
}

/** All names that a pattern matches; null: the names exceed the limits. */
export function spellOut(pattern: Pattern, limits: SpellingLimits): Set<string> | null {
  const size = sizeOf(pattern);
  if (!isWithinLimits(size, limits)) return null;
  limits.budget.spend(spellingSteps(size, limits));
  return matchingStrings(pattern, limits.maxNames);
}

function isWithinLimits(size: PatternSize, limits: SpellingLimits): boolean {
  return size.names <= limits.maxNames && limits.budget.canAfford(spellingSteps(size, limits));
}

function spellingSteps({ names, characters }: PatternSize, { stepsPerName }: SpellingLimits): number {
  return names * stepsPerName + characters + Math.max(0, characters - names * USUAL_NAME_LENGTH) * COST_PER_EXTRA_UNIT;
}

/** Longer names (in UTF-16 units) cost extra steps of the budget, because names are hashed and compared often. */
const USUAL_NAME_LENGTH = 256;
const COST_PER_EXTRA_UNIT = 30;

export function namesOfOpenPattern({ options }: Pattern, limits: SpellingLimits): RepresentativeNames {
  const alternatives = topAlternatives(options) ?? options;
  const finiteSequences = alternatives.filter((sequence) => !sequence.some(isOpenPiece));
  const openSequences = alternatives.filter((sequence) => sequence.some(isOpenPiece));
  const witnesses = witnessesOf(openSequences, limits);
  const spelledNames = witnesses && spellOut({ options: finiteSequences }, limits);
  const isTooLarge = witnesses === null || spelledNames === null;
  if (isTooLarge) return { spelledNames: [], witnesses: [exampleNameOf(firstOpenOption(options))] };
  return { spelledNames: [...spelledNames], witnesses: [...witnesses] };
}

/** An example name for each alternative that matches endlessly many names, such as `a.*`. Null: the examples exceed the limits. */
function witnessesOf(openSequences: readonly Sequence[], limits: SpellingLimits): Set<string> | null {
  const witnesses = new Set<string>();
  const size = { names: 0, characters: 0 };
  for (const sequence of openSequences) {
    const witness = exampleNameOf(sequence);
    size.names++;
    size.characters += witness.length;
    if (!isWithinLimits(size, limits)) return null;
    witnesses.add(witness);
  }
  limits.budget.spend(spellingSteps(size, limits));
  return witnesses;
}

/** Limit of the pieces that `topAlternatives` copies. */
const MAX_COPIED_PIECES = 2_000;

/** Splits a choice that contains `.*`: `sales_(eu|tmp.*)` becomes `sales_eu` and `sales_tmp.*`. Null if the result would be too long. */
function topAlternatives(options: readonly Sequence[]): Sequence[] | null {
  const finishedSequences: Sequence[] = [];
  let copiedPieceCount = 0;
  const pendingSequences: Sequence[] = [...options].reverse();
  for (let sequence = pendingSequences.pop(); sequence !== undefined; sequence = pendingSequences.pop()) {
    const index = sequence.findIndex((piece) => (piece.kind === 'choice' || isOptional(piece)) && isOpenPiece(piece));
    const piece = sequence[index];
    if (piece?.kind !== 'choice' && piece?.kind !== 'repeated') {
      finishedSequences.push(sequence);
      continue;
    }
    const [head, tail] = [sequence.slice(0, index), sequence.slice(index + 1)];
    const choices: Sequence[] = piece.kind === 'choice' ? piece.options : [[piece.piece], []];
    for (const choice of choices.toReversed()) {
      copiedPieceCount += sequence.length + choice.length;
      if (copiedPieceCount > MAX_COPIED_PIECES) return null;
      pendingSequences.push([...head, ...choice, ...tail]);
    }
  }
  return finishedSequences;
}

function exampleNameOf(sequence: Sequence): string {
  return sequence
    .map((piece) => {
      switch (piece.kind) {
        case 'literal':
          return piece.text;
        case 'choice':
          return exampleNameOf(firstOpenOption(piece.options));
        case 'set':
          return (
            Array.from('a0_').find((character) => piece.characters.has(character.charCodeAt(0))) ??
            String.fromCodePoint(piece.characters.ranges[0]?.min ?? 0)
          );
        case 'repeated': {
          const name = exampleNameOf([piece.piece]);
          const repetitions = Math.max(piece.min, Math.min(1, piece.max));
          return name.repeat(Math.min(repetitions, Math.ceil(MAX_REPEATED_LENGTH / Math.max(name.length, 1))));
        }
        case 'rest':
          return FRESH_PREFIX;
      }
    })
    .join('');
}

/** A repeated piece, such as `(ab){9}`, is repeated in an example name only until it has this many characters. */
const MAX_REPEATED_LENGTH = 1_000;

function firstOpenOption(options: readonly Sequence[]): Sequence {
  return options.find((option) => option.some(isOpenPiece)) ?? options[0] ?? [];
}

function isOpenPiece(piece: PatternPiece): boolean {
  if (piece.kind === 'repeated') return piece.max === Infinity || (isOptional(piece) && isOpenPiece(piece.piece));
  return piece.kind === 'rest' || (piece.kind === 'choice' && piece.options.some((option) => option.some(isOpenPiece)));
}

/** The tables whose companions (`table$suffix`) a pattern matches: `a[$].*`, `(a|b)([$].*)?` or `.*[$].*`. */
export interface Companions {
  /** The tables whose companions (`table$suffix`) the pattern matches; null: all tables. */
  baseNames: ReadonlySet<string> | null;
  /** Whether the pattern also matches the tables in `baseNames`. */
  includesBases: boolean;
}

/** The companions (`table$suffix`) that a pattern matches. Null: the pattern has another form than `Companions`, or names too many tables. */
export function companionsOf({ options }: Pattern, limits: SpellingLimits): Companions | null {
  const [pieces] = options;
  if (pieces === undefined || options.length !== 1) return null;
  const lastPiece = pieces.at(-1);
  const optionalPiece = lastPiece && isOptional(lastPiece) ? lastPiece.piece : null;
  const includesBases = optionalPiece?.kind === 'choice';
  const piecesWithoutLast = includesBases && isCompanionSuffix(optionalPiece.options) ? pieces.slice(0, -1) : null;
  const basePieces = includesBases ? piecesWithoutLast : withoutSuffix(pieces);
  if (basePieces === null || basePieces.length === 0) return null;
  if (basePieces.every(({ kind }) => kind === 'rest')) return includesBases ? null : { baseNames: null, includesBases };
  const baseNames = spellOut({ options: [basePieces] }, limits);
  return baseNames === null ? null : { baseNames, includesBases };
}

/** Names that stand for all matches of a pattern for companion tables (`table$suffix`). */
export function companionNames({ baseNames, includesBases }: Companions): RepresentativeNames {
  return {
    spelledNames: includesBases ? [...(baseNames ?? [])] : [],
    witnesses: [...(baseNames ?? [null])].map(freshCompanion),
  };
}

/** A made-up name of a companion (`table$suffix`), for all companions that no rule names. @param baseName the table; null: a made-up table */
export function freshCompanion(baseName: string | null): string {
  return `${baseName ?? FRESH_PREFIX}$${FRESH_PREFIX}`;
}

/** Whether Java's `.*` matches the whole name. Java's `.` matches no line ends. */
export function isLineOfText(name: string): boolean {
  return !/[\n\r\u0085\u2028\u2029]/.test(name);
}

/** Whether a pattern has only one alternative, and this is `[$].*` or `\$.*`: a dollar sign with any text after it. */
function isCompanionSuffix([sequence, ...otherOptions]: readonly (readonly PatternPiece[])[]): boolean {
  return otherOptions.length === 0 && sequence !== undefined && withoutSuffix(sequence)?.length === 0;
}

/** The pieces before a final `[$].*` or `\$.*`; null: there is no such end. */
function withoutSuffix(pieces: readonly PatternPiece[]): PatternPiece[] | null {
  const [dollar, restPiece] = pieces.slice(-2);
  if (dollar === undefined || restPiece?.kind !== 'rest') return null;
  const headPieces = pieces.slice(0, -2);
  if (dollar.kind === 'set') return dollar.characters.size === 1 && dollar.characters.has(DOLLAR) ? headPieces : null;
  if (dollar.kind !== 'literal' || !dollar.text.endsWith('$')) return null;
  const text = dollar.text.slice(0, -1);
  return text === '' ? headPieces : [...headPieces, { kind: 'literal', text }];
}

const DOLLAR = 0x24;
