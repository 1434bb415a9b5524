import { getOrInsert } from '../../kernel/collections.js';
import { freshCompanion, isLineOfText } from '../document/open-names.js';
import type { PatternCache, PatternLanguage } from '../document/pattern-cache.js';
import { matches } from '../document/pattern-meaning.js';
import type { Pattern } from '../document/pattern.js';
import type { WorkBudget } from '../document/work-budget.js';
import { NameClasses, type NameKind } from '../document/name-classes.js';

/** A trie of rules by the names in their patterns: catalog, schema, table. */
export class RuleTrie {
  private readonly root = new TrieLevel();

  constructor(private readonly budget: WorkBudget) {}

  add(ruleIndex: number, path: readonly PatternLanguage[]): void {
    this.root.add(ruleIndex, path, this.budget);
  }

  /** Indexes of the rules that match this path, ascending. */
  rulesMatching(path: readonly string[]): number[] {
    return rulesInOrder(this.levelsMatching(path));
  }

  branch(path: readonly string[]): Branch {
    return new Branch(this.levelsMatching(path), this.budget);
  }

  private levelsMatching(path: readonly string[]): TrieLevel[] {
    let levels: TrieLevel[] = [this.root];
    for (const name of path)
      levels = levels.flatMap((level) => [...level.anyNameLevels(), ...level.levelsOnlyFor(name, this.budget)]);
    this.budget.spend(COST_PER_LOOKUP + levels.reduce((sum, level) => sum + level.size, 0));
    return levels;
  }
}

/** The rules below a path (for example the table rules of a schema), by the names that they match at the next level. */
export class Branch {
  /** Ascending indexes of the rules that match every name at this level. */
  readonly rulesForAnyName: readonly number[];

  constructor(
    private readonly levels: readonly TrieLevel[],
    private readonly budget: WorkBudget,
  ) {
    this.rulesForAnyName = rulesInOrder(levels.flatMap((level) => level.anyNameLevels()));
  }

  /** Ascending indexes of the rules that match this name, without the rules that match every name. */
  rulesOnlyFor(name: string): number[] {
    return rulesInOrder(this.levels.flatMap((level) => level.levelsOnlyFor(name, this.budget)));
  }

  /** The names that rules spell out at this level, and a matching name for each pattern such as `a.*`. */
  names(): Set<string> {
    const names = this.levels.flatMap((level) => level.names());
    this.budget.spend(names.length * COST_PER_NAME);
    return new Set(names);
  }

  openPatterns(): Pattern[] {
    return this.levels.flatMap((level) => [...level.openPatterns.keys()]);
  }

  companionPatterns(): Pattern[] {
    return this.levels.flatMap((level) => [...level.companionPatterns]);
  }
}

const COST_PER_LEVEL = 1_000;
const COST_PER_VISIT = 60;
const COST_PER_LOOKUP = 50;
const COST_PER_NAME = 60;

class TrieLevel {
  readonly ruleIndexes: number[] = [];
  private levelForAnyName: TrieLevel | null = null;
  private readonly levelsByName = new Map<string, TrieLevel>();
  /** For each pattern such as `a.*`: examples of the names that it matches, and the rules with this pattern. */
  readonly openPatterns = new Map<Pattern, { names: readonly string[]; level: TrieLevel }>();
  /** Rules for companions (`table$suffix`) by the name of the table; null: any table. */
  private readonly companionLevelsByTable = new Map<string | null, TrieLevel>();
  readonly companionPatterns = new Set<Pattern>();

  get size(): number {
    return this.ruleIndexes.length + this.levelsByName.size + this.openPatterns.size + this.companionLevelsByTable.size;
  }

  add(ruleIndex: number, [language, ...path]: readonly PatternLanguage[], budget: WorkBudget): void {
    budget.spend(COST_PER_VISIT);
    if (language === undefined) this.ruleIndexes.push(ruleIndex);
    else for (const level of this.getOrAddLevels(language, budget)) level.add(ruleIndex, path, budget);
  }

  anyNameLevels(): TrieLevel[] {
    return this.levelForAnyName ? [this.levelForAnyName] : [];
  }

  levelsOnlyFor(name: string, budget: WorkBudget): TrieLevel[] {
    const exactLevel = this.levelsByName.get(name);
    const levels = exactLevel ? [exactLevel] : [];
    for (const [pattern, { level }] of this.openPatterns) if (matches(pattern, name, budget)) levels.push(level);
    if (this.companionLevelsByTable.size > 0 && name.includes('$')) levels.push(...this.companionLevels(name, budget));
    return levels;
  }

  names(): string[] {
    const companionNames = [...this.companionLevelsByTable.keys()].map(freshCompanion);
    const namesOfOpenPatterns = [...this.openPatterns.values()].flatMap(({ names }) => names);
    return [...this.levelsByName.keys(), ...companionNames, ...namesOfOpenPatterns];
  }

  private *companionLevels(name: string, budget: WorkBudget): Iterable<TrieLevel> {
    const anyTableLevel = this.companionLevelsByTable.get(null);
    if (anyTableLevel !== undefined && isLineOfText(name)) yield anyTableLevel;
    for (let dollarIndex = name.indexOf('$'); dollarIndex >= 0; dollarIndex = name.indexOf('$', dollarIndex + 1)) {
      budget.spend(dollarIndex);
      const level = this.companionLevelsByTable.get(name.slice(0, dollarIndex));
      if (level !== undefined && isLineOfText(name.slice(dollarIndex))) yield level;
    }
  }

  private *getOrAddLevels(language: PatternLanguage, budget: WorkBudget): Iterable<TrieLevel> {
    const createLevel = (): TrieLevel => {
      budget.spend(COST_PER_LEVEL);
      return new TrieLevel();
    };
    switch (language.kind) {
      case 'any':
        yield (this.levelForAnyName ??= createLevel());
        return;
      case 'names':
        for (const name of language.names) yield getOrInsert(this.levelsByName, name, createLevel);
        return;
      case 'open': {
        const { pattern, witnesses, spelledNames, companions } = language;
        if (companions === null) {
          const createEntry = () => ({ names: [...spelledNames, ...witnesses], level: createLevel() });
          yield getOrInsert(this.openPatterns, pattern, createEntry).level;
          return;
        }
        this.companionPatterns.add(pattern);
        for (const baseName of companions.baseNames ?? [null]) {
          yield getOrInsert(this.companionLevelsByTable, baseName, createLevel);
          if (companions.includesBases && baseName !== null)
            yield getOrInsert(this.levelsByName, baseName, createLevel);
        }
      }
    }
  }
}

function rulesInOrder(levels: readonly TrieLevel[]): number[] {
  return levels.flatMap(({ ruleIndexes: rules }) => rules).sort((a, b) => a - b);
}

/** The names in rules at one level (for example the schemas of a catalog), and the patterns such as `a.*` that match further names. */
export interface NameLevel {
  nameKind: NameKind;
  openPatterns: Iterable<Pattern>;
  /** All names that rules spell out, and a matching name for each pattern such as `a.*`. */
  names: Iterable<string>;
}

/** Makes up names that represent all names at a level (such as the schemas of a catalog) that are in no rule. */
export type NameChooser = (level: NameLevel) => string[];

export function nameLevelOf(branches: readonly Branch[]): NameLevel {
  const openPatterns = branches.flatMap((branch) => branch.openPatterns());
  // Without open patterns (`a.*`), companion patterns (`table$suffix`) make no difference here.
  if (openPatterns.length > 0) openPatterns.push(...branches.flatMap((branch) => branch.companionPatterns()));
  return { nameKind: 'object', openPatterns, names: branches.flatMap((branch) => [...branch.names()]) };
}

export function namesAt(level: NameLevel, chooseNames: NameChooser): Set<string> {
  return new Set([...level.names, ...chooseNames(level)]);
}

/** Chooses one made-up name. If no pattern contains `.*`, rules treat all names that they do not spell out alike, so one name represents them. */
export function freshNameChooser(patterns: PatternCache): NameChooser {
  return () => [patterns.freshName()];
}

/** Chooses a name for each set of patterns (such as `a.*`) that can match the same name. `patterns` must be complete before the first call. */
export function nameKindChooser(patterns: PatternCache): NameChooser {
  const classes = new NameClasses(patterns.budget);
  const namesByKey = new Map<string, string[]>();
  const patternNumbers = new Map<Pattern, number>();
  let cachedSpelledNames: ReadonlySet<string> | null = null;
  return ({ nameKind, openPatterns, names }) => {
    const freshName = patterns.freshName();
    const distinctPatterns = [...new Set(openPatterns)];
    if (distinctPatterns.length === 0) return [freshName];
    const key = distinctPatterns
      .map((pattern) => getOrInsert(patternNumbers, pattern, () => patternNumbers.size))
      .sort((a, b) => a - b);
    return getOrInsert(namesByKey, `${nameKind} ${key.join()}`, () => {
      const spelledNames = (cachedSpelledNames ??= patterns.allSpelledNames());
      const presentNames = [freshName, ...[...names].filter((name) => !spelledNames.has(name))];
      return [freshName, ...classes.missingNames({ patterns: distinctPatterns, nameKind, presentNames, spelledNames })];
    });
  };
}
