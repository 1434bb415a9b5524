import { type DFA } from 'refa';
import { getOrInsert } from '../../kernel/collections.js';
import { LAST_CODE_POINT } from './characters.js';
import { matches } from './pattern-meaning.js';
import type { Pattern } from './pattern.js';
import { automatonOf } from './rule-language.js';
import { BudgetExceeded, type WorkBudget } from './work-budget.js';

/** `object`: a catalog, schema, table or routine, whose name the engine writes in lower case. */
export type NameKind = 'object' | 'any';

/** A request for names that represent all names. */
export interface NameRequest {
  /** The patterns that tell names apart. */
  patterns: readonly Pattern[];
  kind: NameKind;
  /** Names that are evaluated anyway, and represent their combinations. */
  present: Iterable<string>;
  /** Names that rules spell out; such a name represents only itself. */
  spelled: ReadonlySet<string>;
}

/**
 * Finds a name for every combination of patterns that some name matches, by a walk through the product of their automata. Rules cannot
 * tell names apart that match the same patterns, so these names represent all.
 */
export class NameClasses {
  private readonly automata = new Map<Pattern, Automaton>();

  constructor(private readonly budget: WorkBudget) {}

  /**
   * A short name for each combination that no present name has, in lower case where possible. If rules spell out all names of a
   * combination, all of these.
   * @throws BudgetExceeded
   */
  missing({ patterns, kind, present, spelled }: NameRequest): string[] {
    if (patterns.length === 0) return [];
    const automata = patterns.map((pattern) => getOrInsert(this.automata, pattern, () => this.automaton(pattern)));
    const found = new Map<string, string | null>();
    for (const name of present) found.set(this.combination(patterns, name), null);
    const onlySpelled = CHARACTERS[kind].flatMap((isAllowed) =>
      this.search(new Product(automata, isAllowed, this.budget), patterns, spelled, found),
    );
    return [...new Set([...found.values(), ...onlySpelled])].filter((name) => name !== null);
  }

  /** Adds to `found`. @returns all names of the combinations whose names are all spelled */
  private search(
    product: Product,
    patterns: readonly Pattern[],
    spelled: ReadonlySet<string>,
    found: Map<string, string | null>,
  ): string[] {
    let spelledOnly = product.walk(1, found, spelled);
    if (spelledOnly.size === 0) return [];
    const names = new Map([...spelledOnly].map((each) => [each, new Array<string>()]));
    for (const name of spelled) names.get(this.combination(patterns, name))?.push(name);
    // Of `most` names at least one is not spelled out.
    const most = Math.max(...[...names.values()].map(({ length }) => length)) + 1;
    for (let visits = 2; visits < most * 2 && spelledOnly.size > 0; visits *= 2)
      spelledOnly = product.walk(visits, found, spelled);
    return [...spelledOnly].flatMap((each) => names.get(each) ?? []);
  }

  private combination(patterns: readonly Pattern[], name: string): string {
    this.budget.spend(patterns.length * STEPS_PER_MATCH);
    return combinationText(patterns.map((pattern) => matches(pattern, name, this.budget)));
  }

  private automaton(pattern: Pattern): Automaton {
    const dfa = automatonOf(pattern, MAX_NODES);
    if (dfa === null) throw new BudgetExceeded();
    const automaton = numbered(dfa);
    this.budget.spend(automaton.states.length * STEPS_PER_NODE);
    return automaton;
  }
}

const MAX_NODES = 10_000;
const STEPS_PER_NODE = 1_000;
const STEPS_PER_MATCH = 40;
const STEPS_PER_NAME = 100;

interface Automaton {
  states: { isFinal: boolean; ranges: { min: number; max: number; to: number }[] }[];
}

/** The first state is the initial one. */
function numbered(dfa: DFA): Automaton {
  const nodes = [dfa.initial, ...[...dfa.nodes()].filter((node) => node !== dfa.initial)];
  const numbers = new Map(nodes.map((node, number) => [node, number]));
  return {
    states: nodes.map((node) => ({
      isFinal: dfa.finals.has(node),
      ranges: [...node.out].map(([{ min, max }, to]) => ({ min, max, to: numbers.get(to) ?? 0 })),
    })),
  };
}

const DEAD = -1;

function next({ states }: Automaton, state: number, code: number): number {
  return states[state]?.ranges.find(({ min, max }) => min <= code && code <= max)?.to ?? DEAD;
}

function combinationText(isMatched: readonly boolean[]): string {
  return isMatched.map(Number).join('');
}

/** The product of the automata: its states are combinations of one state of each. */
class Product {
  /** One character of each class with equal transitions in every automaton (a readable one if possible), and its transitions. */
  private readonly signs: { sign: string; to: Int32Array[] }[] = [];

  constructor(
    private readonly automata: readonly Automaton[],
    isAllowed: (code: number) => boolean,
    private readonly budget: WorkBudget,
  ) {
    const seen = new Set<string>();
    const size = automata.reduce((sum, { states }) => sum + states.length, 0);
    for (const code of charactersToTry(automata, isAllowed)) {
      budget.spend(size * STEPS_PER_TRANSITION);
      const to = automata.map((automaton) =>
        Int32Array.from(automaton.states, (_, state) => next(automaton, state, code)),
      );
      const key = to.join(';');
      if (seen.has(key)) continue;
      seen.add(key);
      this.signs.push({ sign: String.fromCodePoint(code), to });
    }
  }

  /**
   * Visits names by growing length, each state at most `visits` times, and adds to `found`.
   * @returns combinations for which only spelled names were visited
   */
  walk(visits: number, found: Map<string, string | null>, spelled: ReadonlySet<string>): Set<string> {
    const { automata, budget } = this;
    const spelledOnly = new Set<string>();
    const met = new Map<string, number>();
    let waiting = [{ name: '', at: automata.map(() => 0) }];
    while (waiting.length > 0) {
      const longer: typeof waiting = [];
      for (const { name: start, at } of waiting) {
        for (const { sign, to } of this.signs) {
          budget.spend(at.length + STEPS_PER_NAME);
          const [name, reached] = [start + sign, at.map((state, i) => to[i]?.[state] ?? DEAD)];
          const key = reached.join();
          const times = met.get(key) ?? 0;
          if (times === visits) continue;
          met.set(key, times + 1);
          longer.push({ name, at: reached });
          const combination = combinationText(reached.map((state, i) => automata[i]?.states[state]?.isFinal ?? false));
          if (found.has(combination)) continue;
          if (spelled.has(name)) spelledOnly.add(combination);
          else {
            found.set(combination, name);
            spelledOnly.delete(combination);
          }
        }
      }
      waiting = longer;
    }
    return spelledOnly;
  }
}

const STEPS_PER_TRANSITION = 10;

/** Readable characters, then one of each range that an automaton tells apart. */
function* charactersToTry(automata: readonly Automaton[], isAllowed: (code: number) => boolean): Iterable<number> {
  for (const sign of READABLE) yield sign.charCodeAt(0);
  const bounds = new Set([0]);
  for (const { states } of automata)
    for (const { ranges } of states) for (const { min, max } of ranges) bounds.add(min).add(max + 1);
  const sorted = [...bounds].sort((a, b) => a - b);
  for (const [i, bound] of sorted.entries()) {
    const end = sorted[i + 1] ?? LAST_CODE_POINT + 1;
    let code = bound;
    while (code < end && !isAllowed(code)) code++;
    if (code < end) yield code;
  }
}

const READABLE = 'abcdefghijklmnopqrstuvwxyz0123456789_-$.@ ';

/** Names have no line breaks. */
function isPrintable(code: number): boolean {
  return /[^\p{C}\p{Z}]| /u.test(String.fromCodePoint(code));
}

function isLowerCase(code: number): boolean {
  const sign = String.fromCodePoint(code);
  return isPrintable(code) && sign === sign.toLowerCase();
}

/** Names in lower case first, because most are. */
const CHARACTERS: Record<NameKind, ((code: number) => boolean)[]> = {
  object: [isLowerCase],
  any: [isLowerCase, isPrintable],
};
