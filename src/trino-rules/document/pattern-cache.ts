import { matches } from './pattern-meaning.js';
import {
  companionNames,
  type Companions,
  companionsOf,
  FRESH_PREFIX,
  unusedFreshName,
  namesOfOpenPattern,
  type RepresentativeNames,
  spellOut,
} from './open-names.js';
import { readPattern, type Pattern } from './pattern.js';
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

  /** Whether a pattern is a list of names that all pass a test. */
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

  /** Marks names as spelled out, so that `freshName` does not return them. */
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
