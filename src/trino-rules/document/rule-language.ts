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

/** The patterns of a rule, one for each field; null: any name. */
export type RulePatterns = readonly (Pattern | null)[];

export type Coverage = 'covered' | 'uncovered' | 'undecided';

/**
 * Whether earlier rules together match everything that a rule matches: inclusion of regular languages, where the language of a rule
 * is its fields with separators. `undecided`: the automata exceed the budget of nodes, or of transitions.
 * @throws BudgetExceeded
 */
export function coverage(
  rule: RulePatterns,
  earlier: readonly RulePatterns[],
  budget: number,
  work = new WorkBudget(),
): Coverage {
  const followed = new TransitionCount(budget);
  const answer = unlessTooLarge<Coverage>('undecided', () => {
    const left = DFA.fromFA(
      followed.counting(nfaOf(earlier.map(concatenation), budget)),
      new DFA.LimitedNodeFactory(budget),
    );
    left.complement();
    const right = followed.counting(nfaOf([concatenation(rule)], budget));
    return isDisjointWith(right, left, budget) ? 'covered' : 'uncovered';
  });
  work.spend(followed.count * STEPS_PER_TRANSITION);
  return answer;
}

/** Whether a name of only these characters matches; true also where the budget of nodes is exceeded. */
export function mayMatchOver(pattern: Pattern, characters: CharSet, budget: number): boolean {
  return unlessTooLarge(true, () => {
    const names = nfaOf([sequence([repeated([sequence([one(characters)])], 1, Infinity)])], budget);
    return !isDisjointWith(namesOf(pattern, budget), names, budget);
  });
}

/** The one-line names that do not match; null: there are more than `most`, or the budget of nodes is exceeded. */
export function namesLeftOut(pattern: Pattern, most: number, budget: number): string[] | null {
  return unlessTooLarge(null, () => {
    const others = DFA.fromFA(namesOf(pattern, budget), new DFA.LimitedNodeFactory(budget));
    others.complement();
    const lines = nfaOf([sequence([repeated([sequence([one(DOT)])], 1, Infinity)])], budget);
    const left = NFA.fromIntersection(lines, others, new NFA.LimitedNodeFactory(budget));
    if (!left.isFinite) return null;
    const names = new Set<string>();
    for (const word of left.words()) {
      names.add(String.fromCodePoint(...word));
      if (names.size > most) return null;
    }
    return [...names];
  });
}

/** A minimal deterministic automaton of the names that match; null: the budget of nodes is exceeded. */
export function automatonOf(pattern: Pattern, budget: number): DFA | null {
  return unlessTooLarge(null, () => {
    const names = new TransitionCount(budget).counting(namesOf(pattern, budget));
    const automaton = DFA.fromFA(names, new DFA.LimitedNodeFactory(budget));
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

/** @throws TooManyNodesError */
export function namesOf(pattern: Pattern, budget: number): NFA {
  return nfaOf([sequence([alternatives(pattern.options)])], budget);
}

/** @throws TooManyNodesError */
function nfaOf(alternatives: NoParent<Concatenation>[], budget: number): NFA {
  const nodes = new NFA.LimitedNodeFactory(budget);
  const links = new TransitionCount(budget);
  const createNode = (): NFA.Node => {
    nodes.createNode();
    return new CountedNode(links);
  };
  return NFA.fromRegex(alternatives, CHARACTERS, {}, { createNode });
}

/** Few nodes can have many transitions: `a?b?c?…` links each letter with all following ones. */
const TRANSITIONS_PER_NODE = 50;
const STEPS_PER_TRANSITION = 30;

class TransitionCount {
  count = 0;
  private readonly limit: number;

  constructor(nodes: number) {
    this.limit = nodes * TRANSITIONS_PER_NODE;
  }

  /** @throws TooManyNodesError */
  add(transitions: number): void {
    this.count += transitions;
    TooManyNodesError.assert(this.count, this.limit, 'transitions');
  }

  /** The automaton, with a count of followed transitions. */
  counting(automaton: NFA): TransitionIterable<NFA.ReadonlyNode> {
    return {
      maxCharacter: automaton.maxCharacter,
      transitionIterator: () => {
        const states = automaton.transitionIterator();
        const getOut = (state: NFA.ReadonlyNode): ReturnType<typeof states.getOut> => {
          const out = states.getOut(state);
          this.add(out.size);
          return out;
        };
        return { ...states, getOut };
      },
    };
  }
}

class CountedNode extends NFA.Node {
  constructor(private readonly links: TransitionCount) {
    super();
  }

  override link(to: NFA.Node, via: CharSet): void {
    this.links.add(1);
    super.link(to, via);
  }
}

const CHARACTERS = { maxCharacter: LAST_CODE_POINT };
/** No name has a control character. */
const SEPARATOR = '\u0000';
const ANY = setOf(SEPARATOR).negate();
const DOT = JAVA_DOT.intersect(ANY);

function concatenation(fields: RulePatterns): NoParent<Concatenation> {
  const elements = fields.flatMap((field, i) => [...(i > 0 ? [one(setOf(SEPARATOR))] : []), inField(field)]);
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
      return Array.from(piece.text, (character) => one(setOf(character)));
    case 'choice':
      return [alternatives(piece.options)];
    case 'set':
      return [one(piece.characters.intersect(ANY))];
    case 'repeated':
      return [repeated([sequence(elements(piece.piece))], piece.min, piece.max)];
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

function setOf(...characters: string[]): CharSet {
  const codes = characters.map((character) => character.codePointAt(0) ?? 0);
  const ranges = codes.map((code) => ({ min: code, max: code }));
  return CharSet.empty(CHARACTERS.maxCharacter).union(ranges);
}
