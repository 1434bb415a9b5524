import { getOrInsert } from '../../kernel/collections.js';
import { freshCompanion, isLineOfText } from '../document/open-names.js';
import type { PatternCache, PatternLanguage } from '../document/pattern-cache.js';
import { matches } from '../document/pattern-meaning.js';
import type { Pattern } from '../document/pattern.js';
import type { WorkBudget } from '../document/work-budget.js';
import { NameClasses, type NameKind } from '../document/name-classes.js';

/** Rules by the object names in their patterns, level by level. */
export class RuleTrie {
  private readonly root = new Level();

  constructor(private readonly budget: WorkBudget) {}

  /** Rules must be added in their order. */
  add(rule: number, path: readonly PatternLanguage[]): void {
    this.root.add(rule, path, this.budget);
  }

  /** The rules that match this path, in their order. */
  at(path: readonly string[]): number[] {
    return ordered(this.below(path));
  }

  branch(path: readonly string[]): Branch {
    return new Branch(this.below(path), this.budget);
  }

  private below(path: readonly string[]): Level[] {
    let levels: Level[] = [this.root];
    for (const name of path)
      levels = levels.flatMap((level) => [...level.wildcard(), ...level.levelsOnlyFor(name, this.budget)]);
    this.budget.spend(STEPS_PER_LOOKUP + levels.reduce((sum, level) => sum + level.size, 0));
    return levels;
  }
}

/** The rules below one path: those that match any name, and those that match some. */
export class Branch {
  /** Rules that match any name here, in their order. */
  readonly everywhere: readonly number[];

  constructor(
    private readonly levels: readonly Level[],
    private readonly budget: WorkBudget,
  ) {
    this.everywhere = ordered(levels.flatMap((level) => level.wildcard()));
  }

  /** Rules that match this name but not every name, in their order. */
  only(name: string): number[] {
    return ordered(this.levels.flatMap((level) => level.levelsOnlyFor(name, this.budget)));
  }

  /** Names that rules spell out here, and witnesses of open patterns. */
  names(): Set<string> {
    const names = this.levels.flatMap((level) => level.names());
    this.budget.spend(names.length * STEPS_PER_NAME);
    return new Set(names);
  }

  openPatterns(): Pattern[] {
    return this.levels.flatMap((level) => [...level.open.keys()]);
  }

  /** Patterns of companions. Without other open patterns, `names` includes a name of each kind that these tell apart. */
  companionPatterns(): Pattern[] {
    return this.levels.flatMap((level) => [...level.companionPatterns]);
  }
}

const STEPS_PER_LEVEL = 1_000;
const STEPS_PER_VISIT = 60;
const STEPS_PER_LOOKUP = 50;
const STEPS_PER_NAME = 60;

class Level {
  readonly rules: number[] = [];
  private any: Level | null = null;
  private readonly named = new Map<string, Level>();
  /** Open patterns. The key is the pattern, because two patterns may have the same witnesses. */
  readonly open = new Map<Pattern, { names: readonly string[]; level: Level }>();
  /** Rules about companions, by the name of the table; null: of any table. */
  private readonly companions = new Map<string | null, Level>();
  readonly companionPatterns = new Set<Pattern>();

  get size(): number {
    return this.rules.length + this.named.size + this.open.size + this.companions.size;
  }

  add(rule: number, [language, ...path]: readonly PatternLanguage[], budget: WorkBudget): void {
    budget.spend(STEPS_PER_VISIT);
    if (language === undefined) this.rules.push(rule);
    else for (const level of this.matched(language, budget)) level.add(rule, path, budget);
  }

  wildcard(): Level[] {
    return this.any ? [this.any] : [];
  }

  levelsOnlyFor(name: string, budget: WorkBudget): Level[] {
    const exact = this.named.get(name);
    const levels = exact ? [exact] : [];
    for (const [pattern, { level }] of this.open) if (matches(pattern, name, budget)) levels.push(level);
    if (this.companions.size > 0 && name.includes('$')) levels.push(...this.ofCompanion(name, budget));
    return levels;
  }

  names(): string[] {
    const companions = [...this.companions.keys()].map(freshCompanion);
    return [...this.named.keys(), ...companions, ...[...this.open.values()].flatMap(({ names }) => names)];
  }

  private *ofCompanion(name: string, budget: WorkBudget): Iterable<Level> {
    const any = this.companions.get(null);
    if (any !== undefined && isLineOfText(name)) yield any;
    for (let at = name.indexOf('$'); at >= 0; at = name.indexOf('$', at + 1)) {
      budget.spend(at);
      const level = this.companions.get(name.slice(0, at));
      if (level !== undefined && isLineOfText(name.slice(at))) yield level;
    }
  }

  private *matched(language: PatternLanguage, budget: WorkBudget): Iterable<Level> {
    const made = (): Level => {
      budget.spend(STEPS_PER_LEVEL);
      return new Level();
    };
    switch (language.kind) {
      case 'any':
        yield (this.any ??= made());
        return;
      case 'names':
        for (const name of language.names) yield getOrInsert(this.named, name, made);
        return;
      case 'open': {
        const { pattern, witnesses, spelled, companions } = language;
        if (companions === null) {
          yield getOrInsert(this.open, pattern, () => ({ names: [...spelled, ...witnesses], level: made() })).level;
          return;
        }
        this.companionPatterns.add(pattern);
        for (const base of companions.bases ?? [null]) {
          yield getOrInsert(this.companions, base, made);
          if (companions.isWithBases && base !== null) yield getOrInsert(this.named, base, made);
        }
      }
    }
  }
}

function ordered(levels: readonly Level[]): number[] {
  return levels.flatMap(({ rules }) => rules).sort((a, b) => a - b);
}

/** A level of names, and the patterns that tell names apart there. */
export interface Place {
  kind: NameKind;
  openPatterns: Iterable<Pattern>;
  /** Names that the rules spell out, and witnesses of open patterns. */
  names: Iterable<string>;
}

/** Further names to ask about at a place, which represent names that no rule spells. */
export type Unnamed = (place: Place) => string[];

export function placeBelow(branches: readonly Branch[]): Place {
  const open = branches.flatMap((branch) => branch.openPatterns());
  return {
    kind: 'object',
    // Without other open patterns, `names` is enough for companions.
    openPatterns: open.length === 0 ? [] : [...open, ...branches.flatMap((branch) => branch.companionPatterns())],
    names: branches.flatMap((branch) => [...branch.names()]),
  };
}

export function namesAt(place: Place, unnamed: Unnamed): Set<string> {
  return new Set([...place.names, ...unnamed(place)]);
}

/** Asks about one fresh name, which is complete if no pattern is open. */
export function onlyFreshName(patterns: PatternCache): Unnamed {
  return () => [patterns.fresh()];
}

/** Asks about one name of each kind that open patterns tell apart. All patterns must have been read before. */
export function everyKindOfName(patterns: PatternCache): Unnamed {
  const classes = new NameClasses(patterns.budget);
  const known = new Map<string, string[]>();
  const numbers = new Map<Pattern, number>();
  let spelled: ReadonlySet<string> | null = null;
  return ({ kind, openPatterns, names }) => {
    const fresh = patterns.fresh();
    const open = [...new Set(openPatterns)];
    if (open.length === 0) return [fresh];
    const key = open.map((pattern) => getOrInsert(numbers, pattern, () => numbers.size)).sort((a, b) => a - b);
    return getOrInsert(known, `${kind} ${key.join()}`, () => {
      const spelledNames = (spelled ??= patterns.allSpelled());
      const present = [fresh, ...[...names].filter((name) => !spelledNames.has(name))];
      return [fresh, ...classes.missing({ patterns: open, kind, present, spelled: spelledNames })];
    });
  };
}
