import {
  CharSet,
  DFA,
  NFA,
  TooManyNodesError,
  type Element,
  type Expression,
  type NoParent,
  type TransitionIterable,
} from 'refa';
import { LAST_CODE_POINT } from '../../trino-rules/document/characters.js';
import type { JavaPiece, Pattern, PatternPiece } from '../../trino-rules/document/pattern.js';
import { sizeOf } from '../../trino-rules/document/pattern-meaning.js';
import { patternNfa } from '../../trino-rules/document/rule-language.js';

/** The most nodes of an automaton, and of the pattern into which it is converted back. */
const MAX_NODES = 400;
/** The most repetitions of a piece with a look-ahead: each repetition is written out. */
const MAX_REPETITIONS = 4;

/**
 * Removes look-aheads: intersects the automaton of each look-ahead with the automaton of the rest of the pattern, and converts the result
 * into a pattern. Null: a look-ahead is repeated too often, or an automaton has more than `MAX_NODES` nodes.
 */
export function withoutLookAhead(options: JavaPiece[][]): Pattern | null {
  if (haveNoLookAhead(options)) return { options };
  try {
    const automaton = toDeterministic(automatonOfOptions(options, NFA.emptyWord(ALPHABET, nodeFactory())));
    automaton.minimize();
    const pieces = piecesOf(automaton.toRegex({ maxNodes: MAX_NODES * 10 }));
    if (sizeOf({ options: pieces }).names < Infinity) return { options: pieces };
    // The wrapper keeps `namesOfOpenPattern` from listing names that are not in the rule, such as `fo` for `(?!foo).*`.
    const wrapper: PatternPiece = { kind: 'repeated', piece: { kind: 'choice', options: pieces }, min: 1, max: 1 };
    return { options: [[wrapper]] };
  } catch (error) {
    if (error instanceof TooManyNodesError || error instanceof EndlessLookAhead) return null;
    throw error;
  }
}

function haveNoLookAhead(options: JavaPiece[][]): options is PatternPiece[][] {
  return options.every((option) => option.every(hasNoLookAhead));
}

class EndlessLookAhead extends Error {}

function hasNoLookAhead(piece: JavaPiece): piece is PatternPiece {
  if (piece.kind === 'ahead' || piece.kind === 'end') return false;
  if (piece.kind === 'repeated') return hasNoLookAhead(piece.piece);
  return piece.kind !== 'choice' || haveNoLookAhead(piece.options);
}

/** An automaton that accepts one of the sequences in `options`, followed by `followingNfa`. */
function automatonOfOptions(options: readonly JavaPiece[][], followingNfa: NFA): NFA {
  const unionNodes = new NFA.LimitedNodeFactory(MAX_NODES * 10);
  const automaton = NFA.empty(ALPHABET, unionNodes);
  for (const option of options) {
    const optionNfa = option.reduceRight((restNfa, piece) => prepend(piece, restNfa), followingNfa);
    automaton.union(optionNfa, unionNodes);
  }
  return automaton;
}

function prepend(piece: JavaPiece, followingNfa: NFA): NFA {
  if (hasNoLookAhead(piece)) {
    const automaton = patternNfa({ options: [[piece]] }, MAX_NODES);
    automaton.append(followingNfa, nodeFactory());
    return automaton;
  }
  switch (piece.kind) {
    case 'ahead': {
      const assertionDfa = toDeterministic(automatonOfOptions(piece.options, NFA.all(ALPHABET, nodeFactory())));
      if (piece.isNegative) assertionDfa.complement();
      return NFA.fromIntersection(followingNfa, assertionDfa, nodeFactory());
    }
    case 'end': {
      const lineEndings = [[], [0x0a], [0x0d, 0x0a], [0x0d], [0x85], [0x2028], [0x2029]];
      return NFA.fromIntersection(followingNfa, NFA.fromWords(lineEndings, ALPHABET, nodeFactory()), nodeFactory());
    }
    case 'choice':
      return automatonOfOptions(piece.options, followingNfa);
    case 'repeated': {
      const { piece: repeatedPiece, min, max } = piece;
      if (max > MAX_REPETITIONS) throw new EndlessLookAhead();
      const repeatPieces = (count: number): JavaPiece[] => Array.from({ length: count }, () => repeatedPiece);
      return automatonOfOptions(
        Array.from({ length: max - min + 1 }, (_, extraCount) => repeatPieces(min + extraCount)),
        followingNfa,
      );
    }
  }
}

const ALPHABET = { maxCharacter: LAST_CODE_POINT };

function nodeFactory(): NFA.LimitedNodeFactory {
  return new NFA.LimitedNodeFactory(MAX_NODES);
}

function toDeterministic(automaton: TransitionIterable<NFA.ReadonlyNode>): DFA {
  return DFA.fromFA(automaton, new DFA.LimitedNodeFactory(MAX_NODES));
}

function piecesOf({ alternatives }: Pick<NoParent<Expression>, 'alternatives'>): PatternPiece[][] {
  if (alternatives.length === 0) return [[{ kind: 'set', characters: CharSet.empty(LAST_CODE_POINT) }]];
  return alternatives.map(({ elements }) => elements.map(pieceOf));
}

function pieceOf(element: NoParent<Element>): PatternPiece {
  switch (element.type) {
    case 'CharacterClass': {
      const { characters } = element;
      const [first] = characters.ranges;
      return characters.size === 1 && first !== undefined
        ? { kind: 'literal', text: String.fromCodePoint(first.min) }
        : { kind: 'set', characters };
    }
    case 'Alternation':
      return { kind: 'choice', options: piecesOf(element) };
    case 'Quantifier': {
      const piece: PatternPiece = { kind: 'choice', options: piecesOf(element) };
      return { kind: 'repeated', piece, min: element.min, max: element.max };
    }
    case 'Assertion':
    case 'Unknown':
      throw new Error(`an automaton has no ${element.type}`);
  }
}
