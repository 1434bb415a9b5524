import {
  CharSet,
  DFA,
  isDisjointWith,
  NFA,
  TooManyNodesError,
  type Concatenation,
  type Element,
  type NoParent,
  type TransitionIterable,
} from 'refa';
import { DOT as JAVA_DOT, LAST_CODE_POINT } from './characters.js';
import type { Pattern, PatternPiece } from './pattern.js';
import { WorkBudget } from './work-budget.js';

/** The patterns of a rule, one for each field (user, catalog, …); null: any name. */
export type RulePatterns = readonly (Pattern | null)[];

export type Coverage = 'covered' | 'uncovered' | 'undecided';

/**
 * Whether earlier rules together match everything that a rule matches.
 * `undecided`: the comparison needs automata with more nodes or transitions than `budget`.
 * @throws BudgetExceeded
 */
export function judgeCoverage(
  rule: RulePatterns,
  earlierRules: readonly RulePatterns[],
  budget: number,
  workBudget = new WorkBudget(),
): Coverage {
  const transitionCounter = new TransitionCount(budget);
  const result = fallbackIfTooLarge<Coverage>('undecided', () => {
    const complementDfa = DFA.fromFA(
      transitionCounter.countingAutomaton(nfaOf(earlierRules.map(concatenation), budget)),
      new DFA.LimitedNodeFactory(budget),
    );
    complementDfa.complement();
    const ruleNfa = transitionCounter.countingAutomaton(nfaOf([concatenation(rule)], budget));
    return isDisjointWith(ruleNfa, complementDfa, budget) ? 'covered' : 'uncovered';
  });
  workBudget.spend(transitionCounter.count * COST_PER_TRANSITION);
  return result;
}

/** Whether a pattern matches at least one name that consists of these characters. Also true if the budget of nodes is exceeded. */
export function mayMatchOnly(pattern: Pattern, characters: CharSet, budget: number): boolean {
  return fallbackIfTooLarge(true, () => {
    const namesNfa = nfaOf([sequence([repetition([sequence([characterElement(characters)])], 1, Infinity)])], budget);
    return !isDisjointWith(patternNfa(pattern, budget), namesNfa, budget);
  });
}

/** The names without line ends that a pattern does not match; null: there are more than `maxNames`, or the budget is exceeded. */
export function namesExcludedBy(pattern: Pattern, maxNames: number, budget: number): string[] | null {
  return fallbackIfTooLarge(null, () => {
    const excludedDfa = DFA.fromFA(patternNfa(pattern, budget), new DFA.LimitedNodeFactory(budget));
    excludedDfa.complement();
    const lineNfa = nfaOf([sequence([repetition([sequence([characterElement(DOT)])], 1, Infinity)])], budget);
    const excludedLineNfa = NFA.fromIntersection(lineNfa, excludedDfa, new NFA.LimitedNodeFactory(budget));
    if (!excludedLineNfa.isFinite) return null;
    const names = new Set<string>();
    for (const word of excludedLineNfa.words()) {
      names.add(String.fromCodePoint(...word));
      if (names.size > maxNames) return null;
    }
    return [...names];
  });
}

/** The minimal deterministic automaton of a pattern; null: the budget of nodes is exceeded. */
export function automatonOf(pattern: Pattern, budget: number): DFA | null {
  return fallbackIfTooLarge(null, () => {
    const countedNfa = new TransitionCount(budget).countingAutomaton(patternNfa(pattern, budget));
    const automaton = DFA.fromFA(countedNfa, new DFA.LimitedNodeFactory(budget));
    automaton.minimize();
    return automaton;
  });
}

function fallbackIfTooLarge<T>(fallbackValue: T, compute: () => T): T {
  try {
    return compute();
  } catch (error) {
    if (error instanceof TooManyNodesError) return fallbackValue;
    throw error;
  }
}

/** @throws TooManyNodesError */
export function patternNfa(pattern: Pattern, budget: number): NFA {
  return nfaOf([sequence([alternation(pattern.options)])], budget);
}

/** @throws TooManyNodesError */
function nfaOf(alternatives: NoParent<Concatenation>[], budget: number): NFA {
  const nodes = new NFA.LimitedNodeFactory(budget);
  const transitions = new TransitionCount(budget);
  const createNode = (): NFA.Node => {
    nodes.createNode();
    return new CountedNode(transitions);
  };
  return NFA.fromRegex(alternatives, ALPHABET, {}, { createNode });
}

/** A limit of nodes is not enough: `a?b?c?…` has few nodes but many transitions, because each letter is linked with all following letters. */
const TRANSITIONS_PER_NODE = 50;
const COST_PER_TRANSITION = 30;

class TransitionCount {
  count = 0;
  private readonly maxTransitions: number;

  constructor(nodes: number) {
    this.maxTransitions = nodes * TRANSITIONS_PER_NODE;
  }

  /** @throws TooManyNodesError */
  add(transitions: number): void {
    this.count += transitions;
    TooManyNodesError.assert(this.count, this.maxTransitions, 'transitions');
  }

  /** Wraps an automaton so that followed transitions are counted. */
  countingAutomaton(automaton: NFA): TransitionIterable<NFA.ReadonlyNode> {
    return {
      maxCharacter: automaton.maxCharacter,
      transitionIterator: () => {
        const states = automaton.transitionIterator();
        const getOut = (state: NFA.ReadonlyNode): ReturnType<typeof states.getOut> => {
          const transitions = states.getOut(state);
          this.add(transitions.size);
          return transitions;
        };
        return { ...states, getOut };
      },
    };
  }
}

class CountedNode extends NFA.Node {
  constructor(private readonly transitions: TransitionCount) {
    super();
  }

  override link(target: NFA.Node, characters: CharSet): void {
    this.transitions.add(1);
    super.link(target, characters);
  }
}

const ALPHABET = { maxCharacter: LAST_CODE_POINT };
/** Separates the names that a rule matches together (such as user, catalog, schema) in one text. Names contain no control characters. */
const SEPARATOR = '\u0000';
const ANY_CHARACTER = characterSet(SEPARATOR).negate();
const DOT = JAVA_DOT.intersect(ANY_CHARACTER);

function concatenation(fields: RulePatterns): NoParent<Concatenation> {
  // A name is never empty.
  const anyName = repetition([sequence([characterElement(ANY_CHARACTER)])], 1, Infinity);
  const elements = fields.flatMap((field, i) => [
    ...(i > 0 ? [characterElement(characterSet(SEPARATOR))] : []),
    field === null ? anyName : alternation(field.options),
  ]);
  return { type: 'Concatenation', elements };
}

function alternation(options: readonly (readonly PatternPiece[])[]): NoParent<Element> {
  return { type: 'Alternation', alternatives: options.map((pieces) => sequence(pieces.flatMap(elementsOf))) };
}

function elementsOf(piece: PatternPiece): NoParent<Element>[] {
  switch (piece.kind) {
    case 'literal':
      return Array.from(piece.text, (character) => characterElement(characterSet(character)));
    case 'choice':
      return [alternation(piece.options)];
    case 'set':
      return [characterElement(piece.characters.intersect(ANY_CHARACTER))];
    case 'repeated':
      return [repetition([sequence(elementsOf(piece.piece))], piece.min, piece.max)];
    case 'rest':
      return [repetition([sequence([characterElement(DOT)])], 0, Infinity)];
  }
}

function sequence(members: NoParent<Element>[]): NoParent<Concatenation> {
  return { type: 'Concatenation', elements: members };
}

function repetition(options: NoParent<Concatenation>[], min: number, max: number): NoParent<Element> {
  return { type: 'Quantifier', alternatives: options, min, max, lazy: false };
}

function characterElement(set: CharSet): NoParent<Element> {
  return { type: 'CharacterClass', characters: set };
}

function characterSet(...characters: string[]): CharSet {
  const codes = characters.map((character) => character.codePointAt(0) ?? 0);
  const ranges = codes.map((code) => ({ min: code, max: code }));
  return CharSet.empty(ALPHABET.maxCharacter).union(ranges);
}
