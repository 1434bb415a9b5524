import { matches, matchingStrings, type PatternSize, sizeOf } from './pattern-meaning.js';
import { readPattern, type Pattern, isOptional, type PatternPiece } from './pattern.js';
import { WorkBudget } from './work-budget.js';

/**
 * The names that a pattern matches. `any`: the pattern is absent (`.*` is not `any`, because Java's `.` matches no line ends). `names`: a
 * complete list. `open`: the pattern has `.*` or too many names.
 */
export type PatternLanguage =
  | { kind: 'any' }
  | { kind: 'names'; names: ReadonlySet<string> }
  | ({ kind: 'open'; pattern: Pattern; companions: Companions | null } & RepresentativeNames);

/** A pattern without any of these characters is a list of names (`a|b`). */
const SYNTAX_CHARACTERS = /[\\^$.?*+()[\]{}]/;
const MAX_NAMES = 1_000_000;
/** Limit of all cached patterns, in UTF-16 units. A parsed pattern takes about thirty times the memory of its text. */
const MAX_CACHED_LENGTH = 2 * 1_048_576;
const COST_PER_NAME = 400;
const COST_PER_KEPT_NAME = 10;

/** Caches the parsed patterns of documents, and the names that they match, by text. */
export class PatternCache {
  private readonly patterns = new Map<string, Pattern>();
  private readonly languages = new Map<string, PatternLanguage>();
  private readonly spelledFreshNames = new Set<string>();
  private cachedTextLength = 0;
  private usedFreshName: string | null = null;
  /** Whether a rule may contain a name that `freshCompanion` makes up. */
  spellsFreshCompanion = false;

  /**
   * @param parser reads the text of a pattern; by default only patterns of the form that Grantline writes
   * @param maxNamesOf the most names that are listed for a pattern; a pattern with more names is treated like a pattern with `.*`
   */
  constructor(
    readonly budget = new WorkBudget(),
    private readonly parser: (text: string) => Pattern = readCommonSubset,
    readonly maxNamesOf: (text: string) => number = () => MAX_NAMES,
  ) {}

  /** @throws RangeError for a text that `readRules` refuses */
  pattern(text: string): Pattern {
    const cachedPattern = this.patterns.get(text);
    if (cachedPattern) return cachedPattern;
    const pattern = this.parse(text);
    if (this.cachedTextLength + text.length <= MAX_CACHED_LENGTH) {
      this.cachedTextLength += text.length;
      this.patterns.set(text, pattern);
    }
    return pattern;
  }

  /** Like `pattern`, but without caching. Used for patterns of users, which are the larger part of a document and are read only once. */
  parse(text: string): Pattern {
    if (SYNTAX_CHARACTERS.test(text)) return this.parser(text);
    return { options: text.split('|').map((name) => [{ kind: 'literal', text: name }]) };
  }

  language(text: string | undefined): PatternLanguage {
    if (text === undefined) return ANY_NAME;
    const cachedLanguage = this.languages.get(text);
    if (cachedLanguage) return cachedLanguage;
    const language = languageOf(this.pattern(text), this.budget, this.maxNamesOf(text));
    this.languages.set(text, language);
    if (language.kind === 'names') this.markSpelled(language.names);
    // The `$` lets `markSpelled` notice a companion (`table$suffix`) of a made-up name.
    const companions = language.kind === 'open' ? language.companions : null;
    for (const baseName of companions?.baseNames ?? []) this.markSpelled([`$${baseName}`]);
    return language;
  }

  matches(text: string | undefined, name: string): boolean {
    const language = this.language(text);
    if (language.kind === 'open') return matches(language.pattern, name, this.budget);
    return language.kind === 'any' || language.names.has(name);
  }

  listsOnly(text: string | undefined, isAccepted: (name: string) => boolean): boolean {
    const language = this.language(text);
    return language.kind === 'names' && [...language.names].every(isAccepted);
  }

  /** The names that a pattern spells out, and one name of each of its alternatives with `.*`. */
  spelledNames(text: string | undefined): Iterable<string> {
    const language = this.language(text);
    if (language.kind === 'open') return [...language.spelledNames, ...language.witnesses];
    return language.kind === 'names' ? language.names : [];
  }

  anyMatchingName(text: string | undefined): string {
    for (const name of this.spelledNames(text)) return name;
    return FRESH_PREFIX;
  }

  /** All names that are spelled out by the patterns read so far. */
  allSpelledNames(): ReadonlySet<string> {
    const allNames = new Set<string>();
    for (const language of this.languages.values()) {
      const names = language.kind === 'open' ? language.spelledNames : language.kind === 'names' ? language.names : [];
      for (const name of names) allNames.add(name);
    }
    this.budget.spend(allNames.size * COST_PER_KEPT_NAME);
    return allNames;
  }

  markSpelled(names: Iterable<string>): void {
    for (const name of names) {
      if (name.includes(`$${FRESH_PREFIX}`)) this.spellsFreshCompanion = true;
      if (!name.startsWith(FRESH_PREFIX)) continue;
      if (name === this.usedFreshName)
        throw new Error('a name was spelled out after it had been asked about as a fresh one');
      this.spelledFreshNames.add(name);
    }
  }

  /** A name that no pattern read so far spells out. The name represents all such names. */
  freshName(): string {
    return (this.usedFreshName ??= unusedFreshName(this.spelledFreshNames));
  }
}

const ANY_NAME: PatternLanguage = { kind: 'any' };

function readCommonSubset(text: string): Pattern {
  const reading = readPattern(text);
  if (reading.kind === 'refused') throw new RangeError(`a pattern that readRules would refuse: ${reading.reason}`);
  return reading.pattern;
}

function languageOf(pattern: Pattern, budget: WorkBudget, maxNames: number): PatternLanguage {
  const limits = { budget, maxNames, stepsPerName: COST_PER_NAME };
  const names = spellOut(pattern, limits);
  if (names !== null) return { kind: 'names', names };
  const companions = companionsOf(pattern, limits);
  const representativeNames = companions === null ? namesOfOpenPattern(pattern, limits) : companionNames(companions);
  return { kind: 'open', pattern, companions, ...representativeNames };
}

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
interface RepresentativeNames {
  /** The names of all alternatives that match finitely many names, such as `eu` in `eu|tmp.*`; empty if there are too many names. */
  spelledNames: readonly string[];
  /** An example of a name for each alternative with `.*` or an endless repetition. Only one example if there are too many alternatives. */
  witnesses: readonly string[];
}

/** Limits for listing the names that a pattern matches. Each name and each of its characters costs steps of the budget. */
interface SpellingLimits {
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
interface Companions {
  /** The tables whose companions (`table$suffix`) the pattern matches; null: all tables. */
  baseNames: ReadonlySet<string> | null;
  includesBases: boolean;
}

/** The companions (`table$suffix`) that a pattern matches. Null: the pattern has another form than `Companions`, or names too many tables. */
function companionsOf({ options }: Pattern, limits: SpellingLimits): Companions | null {
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
function companionNames({ baseNames, includesBases }: Companions): RepresentativeNames {
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
