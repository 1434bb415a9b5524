import { matches } from './pattern-meaning.js';
import { type Companions, companionNames, companionsOf } from './companions.js';
import { FRESH_PREFIX, freshAmong, openNames, type OpenNames, spelledOut } from './open-names.js';
import { readPattern, type Pattern } from './pattern.js';
import { WorkBudget } from './work-budget.js';

/**
 * The names that a pattern matches: an absent one any name; a complete list; or, where it has `.*` or names too many, whatever
 * `matches` says. `.*` is not any name: Java's dot stops at the end of a line.
 */
export type PatternLanguage =
  | { kind: 'any' }
  | { kind: 'names'; names: ReadonlySet<string> }
  | ({ kind: 'open'; pattern: Pattern; companions: Companions | null } & OpenNames);

/** Without any of these a pattern is a list of names. */
const SYNTAX = /[\\^$.?*+()[\]{}]/;
const MAX_NAMES = 1_000_000;
/** Of the patterns that are kept, in UTF-16 units: read, they take some thirty times the room. */
const MAX_KEPT_UNITS = 2 * 1_048_576;
/** To make a string of a name, and to keep it. */
const STEPS_PER_NAME = 400;
const STEPS_PER_KEPT = 10;

/** The patterns of one or more documents and their languages, each distinct text read and spelled out once. */
export class PatternCache {
  private readonly patterns = new Map<string, Pattern>();
  private readonly languages = new Map<string, PatternLanguage>();
  private readonly taken = new Set<string>();
  private keptUnits = 0;
  private freshName: string | null = null;
  private spellsCompanion = false;

  /**
   * @param read for patterns of files that are not Grantline's own
   * @param maxNames how many names a pattern may list; one with more is open
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

  /** As `pattern`, but never kept: every pattern of users is read once, and they are most of a document. */
  parse(text: string): Pattern {
    return parsed(text, this.read);
  }

  language(text: string | undefined): PatternLanguage {
    if (text === undefined) return ANY;
    const known = this.languages.get(text);
    if (known) return known;
    const language = languageOf(this.pattern(text), this.budget, this.maxNames(text));
    this.languages.set(text, language);
    if (language.kind === 'names') this.take(language.names);
    // The base of a companion stands for others as a suffix does.
    if (language.kind === 'open') for (const base of language.companions?.bases ?? []) this.take([`$${base}`]);
    return language;
  }

  matches(text: string | undefined, name: string): boolean {
    return isIn(this.language(text), name, this.budget);
  }

  /** The names that a pattern brings up itself: those that it spells out, and witnesses of an open one. */
  spelled(text: string | undefined): Iterable<string> {
    const language = this.language(text);
    if (language.kind === 'open') return [...language.spelled, ...language.witnesses];
    return language.kind === 'names' ? language.names : [];
  }

  /** A name that a pattern lets in; a fresh one where it brings up none. */
  someName(text: string | undefined): string {
    for (const name of this.spelled(text)) return name;
    return FRESH_PREFIX;
  }

  /** Every name that a pattern read so far spells out. */
  allSpelled(): ReadonlySet<string> {
    const all = new Set<string>();
    for (const language of this.languages.values()) {
      const names = language.kind === 'open' ? language.spelled : language.kind === 'names' ? language.names : [];
      for (const name of names) all.add(name);
    }
    this.budget.spend(all.size * STEPS_PER_KEPT);
    return all;
  }

  /** Names from other sources: none of them is fresh. */
  take(names: Iterable<string>): void {
    for (const name of names) {
      if (name.includes(`$${FRESH_PREFIX}`)) this.spellsCompanion = true;
      if (!name.startsWith(FRESH_PREFIX)) continue;
      if (name === this.freshName)
        throw new Error('a name was spelled out after it had been asked about as a fresh one');
      this.taken.add(name);
    }
  }

  /** Whether a name is spelled out that should stand for all other companions, of a table or of any table. */
  get spellsFreshCompanion(): boolean {
    return this.spellsCompanion;
  }

  /** A name that no pattern read so far spells out: it represents all unused names. */
  fresh(): string {
    return (this.freshName ??= freshAmong(this.taken));
  }
}

const ANY: PatternLanguage = { kind: 'any' };

function parsed(text: string, read: (text: string) => Pattern): Pattern {
  if (!SYNTAX.test(text)) {
    return { options: text.split('|').map((name) => [{ kind: 'literal', text: name }]), isFinite: true };
  }
  return read(text);
}

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

function isIn(language: PatternLanguage, name: string, budget: WorkBudget): boolean {
  switch (language.kind) {
    case 'any':
      return true;
    case 'names':
      return language.names.has(name);
    case 'open':
      return matches(language.pattern, name, budget);
  }
}
