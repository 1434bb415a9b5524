import { getOrInsert } from '../../kernel/collections.js';
import { type Companions, companionNames, isLineOfText } from '../document/companions.js';
import type { PatternLanguage } from '../document/pattern-cache.js';
import { matches } from '../document/pattern-meaning.js';
import type { Pattern } from '../document/pattern.js';
import type { WorkBudget } from '../document/work-budget.js';

/** Rules by the object names in their patterns, level by level; at each level a rule may match any name. */
export class RuleTrie {
  private readonly root = new Level();

  constructor(private readonly budget: WorkBudget) {}

  /** Rules must be added in their order. Each combination of the names on the path costs. */
  add(rule: number, path: readonly PatternLanguage[]): void {
    this.root.add(rule, path, this.budget);
  }

  /** The rules that match this path, in their order. */
  at(path: readonly string[]): number[] {
    return ordered(this.below(path));
  }

  /** What is one level below a path. */
  branch(path: readonly string[]): Branch {
    return new Branch(this.below(path), this.budget);
  }

  private below(path: readonly string[]): Level[] {
    let levels: Level[] = [this.root];
    for (const name of path)
      levels = levels.flatMap((level) => [...level.everywhere(), ...level.only(name, this.budget)]);
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
    this.everywhere = ordered(levels.flatMap((level) => level.everywhere()));
  }

  /** Rules that match this name and not any name, in their order. */
  only(name: string): number[] {
    return ordered(this.levels.flatMap((level) => level.only(name, this.budget)));
  }

  /** The names that rules spell out here; for an open pattern, witnesses of what it lets in. */
  names(): Set<string> {
    const names = this.levels.flatMap((level) => level.names());
    this.budget.spend(names.length * STEPS_PER_NAME);
    return new Set(names);
  }

  openPatterns(): Pattern[] {
    return this.levels.flatMap((level) => [...level.openPatterns()]);
  }

  /** Patterns of companions: where no pattern is open otherwise, `names` has a name of each kind that they tell apart. */
  companionPatterns(): Pattern[] {
    return this.levels.flatMap((level) => [...level.companionPatterns]);
  }
}

/** A level is made once, and takes some hundred bytes; each rule that names it visits it. */
const STEPS_PER_LEVEL = 1_000;
const STEPS_PER_VISIT = 60;
const STEPS_PER_LOOKUP = 50;
const STEPS_PER_NAME = 60;

class Level {
  readonly rules: number[] = [];
  private any: Level | null = null;
  private readonly named = new Map<string, Level>();
  /** By the pattern itself: two of them may let in the same witnesses. */
  private readonly open = new Map<Pattern, { names: readonly string[]; level: Level }>();
  /** Rules about the companions of a table, by its name, and of any table: null. */
  private readonly companions = new Map<string | null, Level>();
  readonly companionPatterns = new Set<Pattern>();

  /** How many rules and names lie right below. */
  get size(): number {
    return this.rules.length + this.named.size + this.open.size + this.companions.size;
  }

  add(rule: number, [language, ...path]: readonly PatternLanguage[], budget: WorkBudget): void {
    budget.spend(STEPS_PER_VISIT);
    if (language === undefined) this.rules.push(rule);
    else for (const level of this.matched(language, budget)) level.add(rule, path, budget);
  }

  everywhere(): Level[] {
    return this.any ? [this.any] : [];
  }

  only(name: string, budget: WorkBudget): Level[] {
    const exact = this.named.get(name);
    const levels = exact ? [exact] : [];
    for (const [pattern, { level }] of this.open) if (matches(pattern, name, budget)) levels.push(level);
    if (this.companions.size > 0 && name.includes('$')) levels.push(...this.ofCompanion(name, budget));
    return levels;
  }

  names(): string[] {
    const companions = [...this.companions.keys()].flatMap(
      (base): readonly string[] =>
        companionNames({ bases: base === null ? null : new Set([base]), isWithBases: false }).witnesses,
    );
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

  openPatterns(): Iterable<Pattern> {
    return this.open.keys();
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
        if (companions !== null) {
          this.companionPatterns.add(pattern);
          yield* this.matchedCompanions(companions, made);
          return;
        }
        yield getOrInsert(this.open, pattern, () => ({ names: [...spelled, ...witnesses], level: made() })).level;
      }
    }
  }

  private *matchedCompanions({ bases, isWithBases }: Companions, made: () => Level): Iterable<Level> {
    for (const base of bases ?? [null]) {
      yield getOrInsert(this.companions, base, made);
      if (isWithBases && base !== null) yield getOrInsert(this.named, base, made);
    }
  }
}

function ordered(levels: readonly Level[]): number[] {
  return levels.flatMap(({ rules }) => rules).sort((a, b) => a - b);
}
