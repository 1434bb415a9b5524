import {
  CharSet,
  DFA,
  isDisjointWith,
  NFA,
  TooManyNodesError,
  type Concatenation,
  type Element,
  type NoParent,
} from 'refa';
import type { Pattern, PatternPiece } from './pattern.js';

/** What a rule matches: a pattern for each of its fields, null for any name. */
export type RulePatterns = readonly (Pattern | null)[];

export type Coverage = 'covered' | 'uncovered' | 'undecided';

/**
 * Whether all that a rule matches is matched by earlier rules together: inclusion of regular languages, a rule being the
 * language of its fields with a separator between them. `undecided` when the automata outgrow the budget of nodes.
 */
export function coverage(rule: RulePatterns, earlier: readonly RulePatterns[], budget: number): Coverage {
  return unlessTooLarge('undecided', () => {
    const left = DFA.fromFA(nfaOf(earlier.map(concatenation), budget), new DFA.LimitedNodeFactory(budget));
    left.complement();
    return isDisjointWith(nfaOf([concatenation(rule)], budget), left, budget) ? 'covered' : 'uncovered';
  });
}

/** Whether some name made of these units alone matches; true, too, where finding out takes more than the budget of nodes. */
export function mayMatchOver(pattern: Pattern, units: CharSet, budget: number): boolean {
  return unlessTooLarge(true, () => {
    const names = nfaOf([sequence([repeated([sequence([one(units)])], 1, Infinity)])], budget);
    return !isDisjointWith(namesOf(pattern, budget), names, budget);
  });
}

/** A deterministic automaton of the names that match; null where it takes more than the budget of nodes. */
export function automatonOf(pattern: Pattern, budget: number): DFA | null {
  return unlessTooLarge(null, () => {
    const automaton = DFA.fromFA(namesOf(pattern, budget), new DFA.LimitedNodeFactory(budget));
    automaton.minimize();
    return automaton;
  });
}

function unlessTooLarge<T>(otherwise: T, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof TooManyNodesError) return otherwise;
    throw error;
  }
}

function namesOf(pattern: Pattern, budget: number): NFA {
  return nfaOf([sequence([alternatives(pattern.options)])], budget);
}

/** @throws TooManyNodesError */
function nfaOf(alternatives: NoParent<Concatenation>[], budget: number): NFA {
  return NFA.fromRegex(alternatives, CHARACTERS, {}, new NFA.LimitedNodeFactory(budget));
}

const CHARACTERS = { maxCharacter: 0xffff };
/** No name has a control character. */
const SEPARATOR = '\u0000';
const LINE_ENDS = ['\n', '\r', '\u0085', '\u2028', '\u2029'];
const ANY = characters(SEPARATOR).negate();
const DOT = characters(SEPARATOR, ...LINE_ENDS).negate();

function concatenation(fields: RulePatterns): NoParent<Concatenation> {
  const elements = fields.flatMap((field, i) => [...(i > 0 ? [one(characters(SEPARATOR))] : []), inField(field)]);
  return { type: 'Concatenation', elements };
}

function inField(pattern: Pattern | null): NoParent<Element> {
  // A name is never empty.
  return pattern === null ? repeated([sequence([one(ANY)])], 1, Infinity) : alternatives(pattern.options);
}

function alternatives(options: readonly (readonly PatternPiece[])[]): NoParent<Element> {
  return { type: 'Alternation', alternatives: options.map((pieces) => sequence(pieces.flatMap(elements))) };
}

function elements(piece: PatternPiece): NoParent<Element>[] {
  switch (piece.kind) {
    case 'literal':
      return Array.from({ length: piece.text.length }, (_, i) => one(characters(piece.text.charAt(i))));
    case 'class':
      return [one(characters(...Array.from(piece.oneOf)))];
    case 'choice':
      return [alternatives(piece.options)];
    case 'set':
      return [one(piece.units.intersect(ANY))];
    case 'repeated':
      return [repeated([sequence(elements(piece.piece))], piece.min, piece.max)];
    case 'optional':
      return [repeated([sequence(elements(piece.piece))], 0, 1)];
    case 'rest':
      return [repeated([sequence([one(DOT)])], 0, Infinity)];
  }
}

function sequence(list: NoParent<Element>[]): NoParent<Concatenation> {
  return { type: 'Concatenation', elements: list };
}

function repeated(options: NoParent<Concatenation>[], min: number, max: number): NoParent<Element> {
  return { type: 'Quantifier', alternatives: options, min, max, lazy: false };
}

function one(set: CharSet): NoParent<Element> {
  return { type: 'CharacterClass', characters: set };
}

function characters(...signs: string[]): CharSet {
  const ranges = signs.map((sign) => ({ min: sign.charCodeAt(0), max: sign.charCodeAt(0) }));
  return CharSet.empty(CHARACTERS.maxCharacter).union(ranges);
}
