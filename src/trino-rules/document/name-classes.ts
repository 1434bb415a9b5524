import { type DFA } from 'refa';
import { getOrInsert } from '../../kernel/collections.js';
import { LAST_CODE_POINT } from './characters.js';
import { matches } from './pattern-meaning.js';
import type { Pattern } from './pattern.js';
import { automatonOf } from './rule-language.js';
import { BudgetExceeded, type WorkBudget } from './work-budget.js';

/** Kinds of names. `object`: a catalog, schema, table or routine, which the engine writes in lower case. `any`: for example a user. */
export type NameKind = 'object' | 'any';

export interface MissingNamesInput {
  patterns: readonly Pattern[];
  nameKind: NameKind;
  /** Names that the caller already evaluates. `missingNames` returns no name that matches the same patterns as one of them. */
  presentNames: Iterable<string>;
  /** Names that patterns contain in full. They stand for no other names. */
  spelledNames: ReadonlySet<string>;
}

/**
 * Finds a name for every possible combination of matching patterns, by a walk through the product of their automata. These names
 * represent all names, because rules cannot distinguish names that match the same patterns.
 */
export class NameClasses {
  private readonly automata = new Map<Pattern, Automaton>();

  constructor(private readonly budget: WorkBudget) {}

  /**
   * Short names, usually one, for each set of patterns that can match the same name. Leaves out sets that match a name in `presentNames`.
   * Prefers names outside of `spelledNames`.
   * @throws BudgetExceeded
   */
  missingNames({ patterns, nameKind, presentNames, spelledNames }: MissingNamesInput): string[] {
    if (patterns.length === 0) return [];
    const automata = patterns.map((pattern) => getOrInsert(this.automata, pattern, () => this.automaton(pattern)));
    const nameByCombination = new Map<string, string | null>();
    for (const name of presentNames) nameByCombination.set(this.matchCombination(patterns, name), null);
    const spelledOnlyNames = ALLOWED_CHARACTERS[nameKind].flatMap((isAllowed) =>
      this.addNames(new AutomataProduct(automata, isAllowed, this.budget), patterns, spelledNames, nameByCombination),
    );
    return [...new Set([...nameByCombination.values(), ...spelledOnlyNames])].filter((name) => name !== null);
  }

  private addNames(
    product: AutomataProduct,
    patterns: readonly Pattern[],
    spelledNames: ReadonlySet<string>,
    nameByCombination: Map<string, string | null>,
  ): string[] {
    let spelledCombinations = product.visitNames(1, nameByCombination, spelledNames);
    if (spelledCombinations.size === 0) return [];
    const namesByCombination = new Map([...spelledCombinations].map((each) => [each, new Array<string>()]));
    for (const name of spelledNames) namesByCombination.get(this.matchCombination(patterns, name))?.push(name);
    // Among so many names of one combination, at least one is outside of `spelledNames`.
    const sufficientCount = Math.max(...[...namesByCombination.values()].map(({ length }) => length)) + 1;
    for (let maxVisits = 2; maxVisits < sufficientCount * 2 && spelledCombinations.size > 0; maxVisits *= 2)
      spelledCombinations = product.visitNames(maxVisits, nameByCombination, spelledNames);
    return [...spelledCombinations].flatMap((each) => namesByCombination.get(each) ?? []);
  }

  private matchCombination(patterns: readonly Pattern[], name: string): string {
    this.budget.spend(patterns.length * COST_PER_MATCH);
    return combinationKey(patterns.map((pattern) => matches(pattern, name, this.budget)));
  }

  private automaton(pattern: Pattern): Automaton {
    const dfa = automatonOf(pattern, MAX_AUTOMATON_NODES);
    if (dfa === null) throw new BudgetExceeded();
    const automaton = automatonOfDfa(dfa);
    this.budget.spend(automaton.states.length * COST_PER_STATE);
    return automaton;
  }
}

const MAX_AUTOMATON_NODES = 10_000;
const COST_PER_STATE = 1_000;
const COST_PER_MATCH = 40;
const COST_PER_NAME = 100;

interface Automaton {
  states: { isFinal: boolean; ranges: { min: number; max: number; target: number }[] }[];
}

/** The automaton with numbered states. The first state is the initial one. */
function automatonOfDfa(dfa: DFA): Automaton {
  const nodes = [dfa.initial, ...[...dfa.nodes()].filter((node) => node !== dfa.initial)];
  const stateNumbers = new Map(nodes.map((node, number) => [node, number]));
  return {
    states: nodes.map((node) => ({
      isFinal: dfa.finals.has(node),
      ranges: [...node.out].map(([{ min, max }, target]) => ({ min, max, target: stateNumbers.get(target) ?? 0 })),
    })),
  };
}

const DEAD_STATE = -1;

function targetOf(ranges: Automaton['states'][number]['ranges'], code: number): number {
  return ranges.find(({ min, max }) => min <= code && code <= max)?.target ?? DEAD_STATE;
}

function combinationKey(matchResults: readonly boolean[]): string {
  return matchResults.map(Number).join('');
}

/** The product of several automata. Each of its states consists of one state of each automaton. */
class AutomataProduct {
  /** One character for each set of characters with equal transitions, and these transitions (`targets`). */
  private readonly characters: { character: string; targets: Int32Array[] }[] = [];

  constructor(
    private readonly automata: readonly Automaton[],
    isAllowed: (code: number) => boolean,
    private readonly budget: WorkBudget,
  ) {
    const seenTransitions = new Set<string>();
    const stateCount = automata.reduce((sum, { states }) => sum + states.length, 0);
    for (const code of charactersToTry(automata, isAllowed)) {
      budget.spend(stateCount * COST_PER_TRANSITION);
      const targets = automata.map(({ states }) => Int32Array.from(states, ({ ranges }) => targetOf(ranges, code)));
      const key = targets.join(';');
      if (seenTransitions.has(key)) continue;
      seenTransitions.add(key);
      this.characters.push({ character: String.fromCodePoint(code), targets });
    }
  }

  /**
   * Visits names, the shortest first. Adds an example name to `nameByCombination` for each set of patterns that match one name.
   * @returns the sets, as text, of which only names in `spelledNames` were found
   */
  visitNames(
    maxVisits: number,
    nameByCombination: Map<string, string | null>,
    spelledNames: ReadonlySet<string>,
  ): Set<string> {
    const { automata, budget } = this;
    const spelledCombinations = new Set<string>();
    const visitCounts = new Map<string, number>();
    let statesToVisit = [{ name: '', at: automata.map(() => 0) }];
    while (statesToVisit.length > 0) {
      const nextStatesToVisit: typeof statesToVisit = [];
      for (const { name: prefix, at: states } of statesToVisit) {
        for (const { character, targets } of this.characters) {
          budget.spend(states.length + COST_PER_NAME);
          const [name, nextStates] = [prefix + character, states.map((state, i) => targets[i]?.[state] ?? DEAD_STATE)];
          const key = nextStates.join();
          const visitCount = visitCounts.get(key) ?? 0;
          if (visitCount === maxVisits) continue;
          visitCounts.set(key, visitCount + 1);
          nextStatesToVisit.push({ name, at: nextStates });
          const isFinal = (state: number, i: number): boolean => automata[i]?.states[state]?.isFinal ?? false;
          const combination = combinationKey(nextStates.map(isFinal));
          if (nameByCombination.has(combination)) continue;
          if (spelledNames.has(name)) spelledCombinations.add(combination);
          else {
            nameByCombination.set(combination, name);
            spelledCombinations.delete(combination);
          }
        }
      }
      statesToVisit = nextStatesToVisit;
    }
    return spelledCombinations;
  }
}

const COST_PER_TRANSITION = 10;

/** Readable characters, then one character from each range that an automaton distinguishes. */
function* charactersToTry(automata: readonly Automaton[], isAllowed: (code: number) => boolean): Iterable<number> {
  for (const character of READABLE_CHARACTERS) yield character.charCodeAt(0);
  const rangeBounds = new Set([0]);
  for (const { states } of automata)
    for (const { ranges } of states) for (const { min, max } of ranges) rangeBounds.add(min).add(max + 1);
  const sortedBounds = [...rangeBounds].sort((a, b) => a - b);
  for (const [i, bound] of sortedBounds.entries()) {
    const nextBound = sortedBounds[i + 1] ?? LAST_CODE_POINT + 1;
    let code = bound;
    while (code < nextBound && !isAllowed(code)) code++;
    if (code < nextBound) yield code;
  }
}

const READABLE_CHARACTERS = 'abcdefghijklmnopqrstuvwxyz0123456789_-$.@ ';

function isPrintable(code: number): boolean {
  return /[^\p{C}\p{Z}]| /u.test(String.fromCodePoint(code));
}

function isLowerCase(code: number): boolean {
  const character = String.fromCodePoint(code);
  return isPrintable(code) && character === character.toLowerCase();
}

/** Tests for the characters of names, in the order in which they are tried. Lower case is tried first, because most names are lower-case. */
const ALLOWED_CHARACTERS: Record<NameKind, ((code: number) => boolean)[]> = {
  object: [isLowerCase],
  any: [isLowerCase, isPrintable],
};
