import { getOrInsert } from '../../kernel/collections.js';
import { PatternCache } from '../../trino-rules/document/pattern-cache.js';
import { FRESH_PREFIX } from '../../trino-rules/document/open-names.js';
import { newUserPattern } from '../java/replacement.js';
import { coverage } from '../../trino-rules/document/rule-language.js';
import { NO_RULES } from '../../trino-rules/document/rules-document.js';
import { BudgetExceeded, type WorkBudget } from '../../trino-rules/document/work-budget.js';
import { displayName } from '../../trino-rules/engine/access-fact.js';
import { RuleTrie } from '../../trino-rules/engine/rule-trie.js';
import { UserUniverse } from '../../trino-rules/engine/user-universe.js';
import { type Reach, reachableRules } from '../../trino-rules/lint/unreachable-rules.js';
import type { ForeignRule } from './foreign-rules.js';
import { anyName, languageOf, maxListedNames, regularPattern } from './foreign-language.js';
import type { PlacedFinding } from './placed-finding.js';

/** About ten nanoseconds each. */
export const STEPS = 60_000_000;
/** For one question about languages: characters of the patterns, and nodes of the automata. */
const QUESTION = { characters: 20_000, nodes: 10_000, stepsPerCharacter: 1_000, leastSteps: 100_000 };

/** The texts of a rule's patterns, by the fields of its section; undefined matches any name. */
type Texts = readonly (string | undefined)[];

/** Judges the rules of a section, by what one question of the engine matches them with. */
export class SectionJudge {
  private readonly patterns: PatternCache;
  /** Users have names of their own, which may be spelled like the fresh name of an object. */
  private readonly userPatterns: PatternCache;
  private readonly texts: readonly Texts[];
  /** False: a look-around or the like; such a rule covers only what is written alike. */
  private readonly isRegular: readonly boolean[];
  private readonly trie: RuleTrie;
  /** The first rule of each wording, of those that are not regular. */
  private readonly written = new Map<string, number>();

  constructor(
    private readonly rules: readonly ForeignRule[],
    private readonly fields: readonly string[],
    private readonly budget: WorkBudget,
  ) {
    this.patterns = new PatternCache(budget, regularPattern, maxListedNames);
    this.userPatterns = new PatternCache(budget, regularPattern, maxListedNames);
    this.texts = rules.map((rule) => fields.map((field) => anyName(field, matchedText(rule, field))));
    this.isRegular = this.texts.map((texts) => texts.every((text) => languageOf(text).kind !== 'opaque'));
    this.trie = new RuleTrie(budget);
    this.texts.forEach((texts, index) => {
      if (this.isRegular[index] !== true) getOrInsert(this.written, JSON.stringify(texts), () => index);
    });
    const open = [...new Set(this.texts.flat())].filter((text) => text !== undefined && /[.*+{?[\\]/.test(text));
    const characters = open.reduce((sum, text) => sum + (text?.length ?? 0), 0);
    if (open.length * characters * STEPS_PER_OPEN_PAIR > STEPS * 2) throw new BudgetExceeded();
  }

  /** @throws BudgetExceeded when only some of the rules are judged */
  report(found: Map<ForeignRule, PlacedFinding>): void {
    // Every pattern of an object is read before a fresh name is asked for.
    for (const [, ...objects] of this.texts)
      for (const text of objects) if (languageOf(text).kind === 'regular') this.patterns.language(text);
    const regulars = this.rules.flatMap((_, index) => (this.isRegular[index] === true ? [index] : []));
    const queries = regulars.flatMap((index) => {
      const [user] = this.texts[index] ?? [];
      return user === undefined ? [] : [{ user, allow: [] }];
    });
    const people = new UserUniverse([], [{ ...NO_RULES, queries }], this.patterns);
    const reaches = this.rules.map((_, index) => this.reach(index, people));
    for (const index of regulars) this.trie.add(index, reaches[index]?.path ?? []);
    const lives = reachableRules(reaches, (people.count + 31) >>> 5, this.patterns, this.trie);
    const isOpen = this.texts.map(([user, ...objects], index) =>
      this.isRegular[index] === true
        ? !people.isComplete(user) || objects.some((text) => this.patterns.language(text).kind === 'open')
        : true,
    );
    let isCertain = true;
    this.rules.forEach((rule, index) => {
      isCertain &&= isOpen[index] === false;
      const finding = lives[index] === true ? null : this.judged(rule, index, isCertain);
      if (finding !== null) found.set(rule, finding);
    });
  }

  /** Dead, or undecided; null where some name may still reach it. */
  private judged(rule: ForeignRule, index: number, isCertain: boolean): PlacedFinding | null {
    const sample = this.sample(index);
    const deciders = this.deciders(index, sample);
    const single = deciders.find((earlier) => this.covers(earlier, index));
    const dead = (by: number, message: string): PlacedFinding => {
      const decider = this.rules[by];
      const witness = decider === undefined ? '' : `${decider.place} ${decider.text}`;
      const { place, at } = rule;
      return { code: 'dead-rule', message: `${place} never decides: ${message}`, at, rule: place, witness };
    };
    if (single !== undefined) return dead(single, `${this.rules[single]?.place ?? ''} matches whatever it matches`);
    if (this.isRegular[index] !== true) return null;
    const verdict = isCertain ? 'covered' : this.together(index);
    if (verdict === 'uncovered') return null;
    if (verdict === 'undecided')
      return undecided(
        rule,
        `whether ${rule.place} ever decides could not be found out: the patterns are too intricate`,
      );
    const [first = 0] = deciders;
    const names = sample.map((name) => displayName(name, 'any other name')).join(', ');
    return dead(
      first,
      `earlier rules together match whatever it matches, for example ${this.rules[first]?.place ?? ''} ${names}`,
    );
  }

  /** Earlier rules that match a name of each field. */
  private deciders(index: number, sample: readonly string[]): number[] {
    // Of languages that are not judged only this is known: any name covers them, and so does what is written alike.
    if (this.isRegular[index] !== true) {
      const same = this.written.get(JSON.stringify(this.texts[index])) ?? index;
      if (same < index) return [same];
      this.budget.spend(index);
      return this.rules.flatMap((_, earlier) => (earlier < index && this.covers(earlier, index) ? [earlier] : []));
    }
    const [user = '', ...objects] = sample;
    return this.trie.at(objects).filter((earlier) => {
      this.budget.spend(STEPS_PER_LOOKUP);
      return earlier < index && this.userPatterns.matches(this.texts[earlier]?.[0], user);
    });
  }

  private covers(earlier: number, later: number): boolean {
    const [wide = [], narrow = []] = [this.texts[earlier], this.texts[later]];
    return narrow.every((text, field) => this.includes(this.cacheOf(field), wide[field], text));
  }

  private cacheOf(field: number): PatternCache {
    return field === 0 ? this.userPatterns : this.patterns;
  }

  private includes(patterns: PatternCache, wide: string | undefined, narrow: string | undefined): boolean {
    if (wide === undefined || wide === narrow) return true;
    if (narrow === undefined || [wide, narrow].some((text) => languageOf(text).kind === 'opaque')) return false;
    const names = patterns.language(narrow);
    if (names.kind === 'names') {
      this.budget.spend(names.names.size * STEPS_PER_LOOKUP);
      return [...names.names].every((name) => patterns.matches(wide, name));
    }
    return patterns.language(wide).kind === 'open' && this.asked([narrow], [[wide]]) === 'covered';
  }

  private together(index: number): 'covered' | 'uncovered' | 'undecided' {
    const own = this.texts[index] ?? [];
    const earlier = this.texts.slice(0, index).filter((_, other) => this.isRegular[other] === true);
    return this.asked(
      own,
      earlier.filter((texts) => this.mayMeet(texts, own)),
    );
  }

  private asked(own: Texts, earlier: readonly Texts[]): 'covered' | 'uncovered' | 'undecided' {
    const characters = [own, ...earlier].flat().reduce((sum, text) => sum + (text?.length ?? 0), 0);
    if (characters > QUESTION.characters) return 'undecided';
    this.budget.spend(QUESTION.leastSteps + characters * QUESTION.stepsPerCharacter);
    const [asked = [], ...others] = [own, ...earlier].map((texts) =>
      texts.map((text) => (text === undefined ? null : this.patterns.pattern(text))),
    );
    return coverage(asked, others, QUESTION.nodes, this.budget);
  }

  /** False only if two rules can match nothing alike. */
  private mayMeet(a: Texts, b: Texts): boolean {
    return a.every((text, field) => {
      const other = b[field];
      const patterns = this.cacheOf(field);
      const [mine, theirs] = [patterns.language(text), patterns.language(other)];
      const [listed, matching] = mine.kind === 'names' ? [mine, other] : [theirs, text];
      if (listed.kind !== 'names') return true;
      this.budget.spend(listed.names.size * STEPS_PER_LOOKUP);
      return [...listed.names].some((name) => patterns.matches(matching, name));
    });
  }

  /** At least one level, so that every section has a path; of a rule that is not regular any. */
  private reach(index: number, people: UserUniverse): Reach {
    const [user, ...objects] =
      this.isRegular[index] === true ? (this.texts[index] ?? []) : this.fields.map(() => undefined);
    const texts = objects.length === 0 ? [undefined] : objects;
    return { people: people.matching(user), path: texts.map((text) => this.patterns.language(text)) };
  }

  private sample(index: number): string[] {
    if (this.isRegular[index] !== true) return [];
    const names = (this.texts[index] ?? []).map((text, field) => this.cacheOf(field).someName(text));
    return this.fields.length > 1 ? names : [...names, FRESH_PREFIX];
  }
}

/** A field as the engine matches it; of a `new_user` that is not the same for every user, one that covers only what is written alike. */
function matchedText({ section, patterns }: ForeignRule, field: string): string | undefined {
  const text = patterns.get(field)?.text;
  if (text === undefined || section !== 'impersonation' || field !== 'new_user') return text;
  return newUserPattern(text, patterns.has('original_user')) ?? `${NOT_JUDGED}${text}`;
}

/** A look-behind that changes nothing. */
const NOT_JUDGED = '(?<=)';
const STEPS_PER_LOOKUP = 20;
/** Names of each open pattern are tried on each other one, which costs by its length. */
const STEPS_PER_OPEN_PAIR = 200;

export function undecided(rule: ForeignRule | undefined, message: string): PlacedFinding {
  const where = rule === undefined ? {} : { rule: rule.place, witness: rule.text };
  return { code: 'dead-rule-undecided', message, at: rule?.at ?? 0, ...where };
}
