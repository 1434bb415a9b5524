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
import { namesOf } from '../../trino-rules/document/rule-language.js';

/** Limit of an automaton, and of the pattern that it becomes again. */
const MOST_NODES = 400;
/** Most repetitions of a piece with a look-ahead, which are written out. */
const MOST_REPEATED = 4;

/**
 * The same pattern without look-aheads: what follows a look-ahead is intersected with its assertion, as automata, and the result
 * becomes a pattern again. Null: a look-ahead is repeated too often, or an automaton outgrows the budget.
 */
export function withoutLookAhead(options: JavaPiece[][]): Pattern | null {
  if (arePlain(options)) return { options };
  try {
    const automaton = deterministic(anyOf(options, NFA.emptyWord(CHARACTERS, nodes())));
    automaton.minimize();
    const cut = piecesOf(automaton.toRegex({ maxNodes: MOST_NODES * 10 }));
    if (sizeOf({ options: cut }).names < Infinity) return { options: cut };
    // One piece, so that beginnings of excluded names do not count as names that the pattern spells out.
    const whole: PatternPiece = { kind: 'repeated', piece: { kind: 'choice', options: cut }, min: 1, max: 1 };
    return { options: [[whole]] };
  } catch (error) {
    if (error instanceof TooManyNodesError || error instanceof EndlessLookAhead) return null;
    throw error;
  }
}

function arePlain(options: JavaPiece[][]): options is PatternPiece[][] {
  return options.every((option) => option.every(isPlain));
}

class EndlessLookAhead extends Error {}

function isPlain(piece: JavaPiece): piece is PatternPiece {
  if (piece.kind === 'ahead' || piece.kind === 'end') return false;
  if (piece.kind === 'repeated') return isPlain(piece.piece);
  return piece.kind !== 'choice' || arePlain(piece.options);
}

/** An automaton of any of these sequences, followed by `behind`. */
function anyOf(options: readonly JavaPiece[][], behind: NFA): NFA {
  const names = NFA.empty(CHARACTERS, nodes());
  for (const option of options)
    names.union(
      option.reduceRight((rest, piece) => before(piece, rest), behind),
      nodes(),
    );
  return names;
}

function before(piece: JavaPiece, behind: NFA): NFA {
  if (isPlain(piece)) {
    const names = namesOf({ options: [[piece]] }, MOST_NODES);
    names.append(behind, nodes());
    return names;
  }
  switch (piece.kind) {
    case 'ahead': {
      const asserted = deterministic(anyOf(piece.options, NFA.all(CHARACTERS, nodes())));
      if (piece.isNegative) asserted.complement();
      return NFA.fromIntersection(behind, asserted, nodes());
    }
    case 'end': {
      const endings = [[], [0x0a], [0x0d, 0x0a], [0x0d], [0x85], [0x2028], [0x2029]];
      return NFA.fromIntersection(behind, NFA.fromWords(endings, CHARACTERS, nodes()), nodes());
    }
    case 'choice':
      return anyOf(piece.options, behind);
    case 'repeated': {
      const { piece: inner, min, max } = piece;
      if (max > MOST_REPEATED) throw new EndlessLookAhead();
      const times = (count: number): JavaPiece[] => Array.from({ length: count }, () => inner);
      return anyOf(
        Array.from({ length: max - min + 1 }, (_, more) => times(min + more)),
        behind,
      );
    }
  }
}

const CHARACTERS = { maxCharacter: LAST_CODE_POINT };

function nodes(): NFA.LimitedNodeFactory {
  return new NFA.LimitedNodeFactory(MOST_NODES);
}

function deterministic(names: TransitionIterable<NFA.ReadonlyNode>): DFA {
  return DFA.fromFA(names, new DFA.LimitedNodeFactory(MOST_NODES));
}

function piecesOf({ alternatives }: Pick<NoParent<Expression>, 'alternatives'>): PatternPiece[][] {
  // A set without characters matches no name.
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
