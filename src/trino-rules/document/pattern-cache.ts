import { matches } from './pattern-meaning.js';
import {
  companionNames,
  type Companions,
  companionsOf,
  FRESH_PREFIX,
  freshAmong,
  openNames,
  type OpenNames,
  spelledOut,
} from './open-names.js';
import { readPattern, type Pattern } from './pattern.js';
import { WorkBudget } from './work-budget.js';

/**
 * The names that a pattern matches: any name for an absent one; a complete list; or an open set, with `.*` or too many names. `.*` is
 * not any name: Java's dot does not match line ends.
 */
export type PatternLanguage =
  | { kind: 'any' }
  | { kind: 'names'; names: ReadonlySet<string> }
  | ({ kind: 'open'; pattern: Pattern; companions: Companions | null } & OpenNames);

/** Without any of these a pattern is a list of names. */
const SYNTAX = /[\\^$.?*+()[\]{}]/;
const MAX_NAMES = 1_000_000;
/** Limit of the kept patterns, in UTF-16 units. Parsed patterns take about thirty times the memory of their texts. */
const MAX_KEPT_UNITS = 2 * 1_048_576;
const STEPS_PER_NAME = 400;
const STEPS_PER_KEPT = 10;

/** Parsed patterns of documents and their languages, once for each text. */
export class PatternCache {
  private readonly patterns = new Map<string, Pattern>();
  private readonly languages = new Map<string, PatternLanguage>();
  private readonly taken = new Set<string>();
  private keptUnits = 0;
  private freshName: string | null = null;
  /** Whether a rule spells out the name that represents all other companions, so that the name cannot represent them. */
  spellsFreshCompanion = false;

  /**
   * @param read parser for patterns of files that are not Grantline's own
   * @param maxNames limit of the names of a pattern; one with more is open
   */
  constructor(
    readonly budget = new WorkBudget(),
    private readonly read: (text: string) => Pattern = commonSubset,
    readonly maxNames: (text: string) => number = () => MAX_NAMES,
  ) {}

  /** @throws RangeError for a text that `readRules` refuses */
  pattern(text: string): Pattern {
    const known = this.patterns.get(text);
    if (known) return known;
    const pattern = this.parse(text);
    if (this.keptUnits + text.length <= MAX_KEPT_UNITS) {
      this.keptUnits += text.length;
      this.patterns.set(text, pattern);
    }
    return pattern;
  }

  /** As `pattern`, without keeping it: patterns of users are read once, and are most of a document. */
  parse(text: string): Pattern {
    if (SYNTAX.test(text)) return this.read(text);
    return { options: text.split('|').map((name) => [{ kind: 'literal', text: name }]) };
  }

  language(text: string | undefined): PatternLanguage {
    if (text === undefined) return ANY;
    const known = this.languages.get(text);
    if (known) return known;
    const language = languageOf(this.pattern(text), this.budget, this.maxNames(text));
    this.languages.set(text, language);
    if (language.kind === 'names') this.markSpelled(language.names);
    // A base that begins with the fresh prefix also spells out a companion that represents others.
    if (language.kind === 'open') for (const base of language.companions?.bases ?? []) this.markSpelled([`$${base}`]);
    return language;
  }

  matches(text: string | undefined, name: string): boolean {
    const language = this.language(text);
    if (language.kind === 'open') return matches(language.pattern, name, this.budget);
    return language.kind === 'any' || language.names.has(name);
  }

  /** Names that a pattern spells out, and witnesses of an open one. */
  spelled(text: string | undefined): Iterable<string> {
    const language = this.language(text);
    if (language.kind === 'open') return [...language.spelled, ...language.witnesses];
    return language.kind === 'names' ? language.names : [];
  }

  /** A name that a pattern matches. */
  someName(text: string | undefined): string {
    for (const name of this.spelled(text)) return name;
    return FRESH_PREFIX;
  }

  /** All names that patterns read so far spell out. */
  allSpelled(): ReadonlySet<string> {
    const all = new Set<string>();
    for (const language of this.languages.values()) {
      const names = language.kind === 'open' ? language.spelled : language.kind === 'names' ? language.names : [];
      for (const name of names) all.add(name);
    }
    this.budget.spend(all.size * STEPS_PER_KEPT);
    return all;
  }

  /** Marks names as spelled out, so that `fresh` does not return them. */
  markSpelled(names: Iterable<string>): void {
    for (const name of names) {
      if (name.includes(`$${FRESH_PREFIX}`)) this.spellsFreshCompanion = true;
      if (!name.startsWith(FRESH_PREFIX)) continue;
      if (name === this.freshName)
        throw new Error('a name was spelled out after it had been asked about as a fresh one');
      this.taken.add(name);
    }
  }

  /** A name that no pattern read so far spells out. It represents all such names. */
  fresh(): string {
    return (this.freshName ??= freshAmong(this.taken));
  }
}

const ANY: PatternLanguage = { kind: 'any' };

function commonSubset(text: string): Pattern {
  const reading = readPattern(text);
  if (reading.kind === 'refused') throw new RangeError(`a pattern that readRules would refuse: ${reading.reason}`);
  return reading.pattern;
}

function languageOf(pattern: Pattern, budget: WorkBudget, maxNames: number): PatternLanguage {
  const spelling = { budget, mostNames: maxNames, stepsPerName: STEPS_PER_NAME };
  const names = spelledOut(pattern, spelling);
  if (names !== null) return { kind: 'names', names };
  const companions = companionsOf(pattern, spelling);
  const found = companions === null ? openNames(pattern, spelling) : companionNames(companions);
  return { kind: 'open', pattern, companions, ...found };
}
