import { BudgetExceeded, WorkBudget } from '../../trino-rules/document/work-budget.js';
import { formatOf, SECTION_NAMES, type SectionName } from './engine-format.js';
import { type ForeignRule, type ForeignRules, rolePattern } from './foreign-rules.js';
import type { PlacedFinding } from './checks.js';
import { PatternCache } from '../../trino-rules/document/pattern-cache.js';
import { FRESH_PREFIX } from '../../trino-rules/document/open-names.js';
import { newUserPattern } from '../java/replacement.js';
import { coverage } from '../../trino-rules/document/rule-language.js';
import { NO_RULES } from '../../trino-rules/document/rules-document.js';
import { displayName } from '../../trino-rules/engine/access-fact.js';
import { RuleTrie } from '../../trino-rules/engine/rule-trie.js';
import { UserUniverse } from '../../trino-rules/engine/user-universe.js';
import { type Reach, reachableRules } from '../../trino-rules/lint/unreachable-rules.js';
import { anyName, languageOf, maxListedNames, regularPattern } from './foreign-language.js';

/** The fields for each kind of question. Where a section has two kinds, a rule answers those whose last field it has. */
function questionsOf(section: SectionName): string[][] {
  const matched = Object.entries(formatOf(section).fields).flatMap(([key, field]) =>
    field.reads === 'new-user' || (field.reads === 'pattern' && field.matches !== 'role') ? [key] : [],
  );
  if (section !== 'authorization') return [matched];
  return ['new_role', 'new_user'].map((other) => matched.filter((key) => key !== other));
}

/**
 * Rules that never decide, because earlier ones match whatever they match, each with the rule that decides instead. Users match by
 * any of their groups, so a rule for a group counts as a rule for each of its members.
 */
export function deadRules(rules: ForeignRules): PlacedFinding[] {
  const budget = new WorkBudget(STEPS);
  return SECTION_NAMES.filter((section) => section !== 'principals').flatMap((section) => {
    const questions = questionsOf(section);
    // Rules for roles never match, and patterns that Java refuses have findings of their own.
    const judged = (rules.get(section) ?? []).filter((rule) => !rule.isRefused && rolePattern(rule) === undefined);
    const asked = questions.map((fields) => {
      const isAsked = ({ patterns }: ForeignRule): boolean =>
        questions.length === 1 || patterns.has(fields.at(-1) ?? '');
      return { isAsked, ...answered(section, judged.filter(isAsked), fields, budget) };
    });
    const dead = judged.flatMap((rule) => {
      const verdicts = asked.filter(({ isAsked }) => isAsked(rule)).map(({ found }) => found.get(rule));
      const isDead = verdicts.every((verdict) => verdict !== undefined);
      return isDead ? (verdicts.find(({ code }) => code === 'dead-rule-undecided') ?? verdicts[0] ?? []) : [];
    });
    return [...dead, ...asked.flatMap(({ unfinished }) => unfinished ?? []).slice(0, 1)];
  });
}

interface Answered {
  found: ReadonlyMap<ForeignRule, PlacedFinding>;
  /** Null: every rule was judged. */
  unfinished: PlacedFinding | null;
}

function answered(
  section: SectionName,
  rules: readonly ForeignRule[],
  fields: readonly string[],
  budget: WorkBudget,
): Answered {
  const found = new Map<ForeignRule, PlacedFinding>();
  // A rule with a pattern that cannot be judged is never dead, and makes no other rule dead.
  const texts = new Map(rules.map((rule) => [rule, fields.map((field) => anyName(field, matchedText(rule, field)))]));
  const regular = rules.filter((rule) => texts.get(rule)?.every((text) => languageOf(text).kind !== 'opaque') === true);
  if (regular.length < 2) return { found, unfinished: null };
  try {
    new SectionJudge(
      regular,
      regular.map((rule) => texts.get(rule) ?? []),
      budget,
    ).report(found);
    return { found, unfinished: null };
  } catch (error) {
    if (!(error instanceof BudgetExceeded)) throw error;
    const message = `which rules of "${section}" never decide could not be found out: they are too intricate`;
    return { found, unfinished: undecided(rules[0], message) };
  }
}

/** The pattern that the engine matches a field with; a `new_user` that depends on the user cannot be judged. */
function matchedText({ section, patterns }: ForeignRule, field: string): string | undefined {
  const text = patterns.get(field)?.text;
  if (text === undefined || section !== 'impersonation' || field !== 'new_user') return text;
  return newUserPattern(text, patterns.has('original_user')) ?? NOT_JUDGED;
}

/** A pattern that cannot be judged: it has a look-behind. */
const NOT_JUDGED = '(?<=)';

/** Budget for a file, in steps of about ten nanoseconds. */
const STEPS = 60_000_000;

/** Limits of one question about languages. */
const QUESTION = { characters: 20_000, nodes: 10_000, stepsPerCharacter: 1_000, leastSteps: 100_000 };

/** The texts of a rule's patterns by field; undefined matches any name. */
type Texts = readonly (string | undefined)[];

/** Judges the rules of a section for one kind of question, by the pattern texts of its fields. */
class SectionJudge {
  private readonly patterns: PatternCache;
  /** A cache of its own, because a user may be spelled like the fresh name of an object. */
  private readonly userPatterns: PatternCache;
  private readonly trie: RuleTrie;

  constructor(
    private readonly rules: readonly ForeignRule[],
    private readonly texts: readonly Texts[],
    private readonly budget: WorkBudget,
  ) {
    this.patterns = new PatternCache(budget, regularPattern, maxListedNames);
    this.userPatterns = new PatternCache(budget, regularPattern, maxListedNames);
    this.trie = new RuleTrie(budget);
    const open = [...new Set(this.texts.flat())].filter((text) => text !== undefined && /[.*+{?[\\]/.test(text));
    const characters = open.reduce((sum, text) => sum + (text?.length ?? 0), 0);
    if (open.length * characters * STEPS_PER_OPEN_PAIR > STEPS * 2) throw new BudgetExceeded();
  }

  /** @throws BudgetExceeded when only some of the rules are judged */
  report(found: Map<ForeignRule, PlacedFinding>): void {
    // Every pattern of an object is read before a fresh name is asked for.
    for (const [, ...objects] of this.texts) for (const text of objects) this.patterns.language(text);
    const queries = this.texts.flatMap(([user]) => (user === undefined ? [] : [{ user, allow: [] }]));
    const people = new UserUniverse([], [{ ...NO_RULES, queries }], this.patterns);
    const reaches = this.texts.map((texts) => this.reachOf(texts, people));
    reaches.forEach(({ path }, index) => this.trie.add(index, path));
    const lives = reachableRules(reaches, (people.count + 31) >>> 5, this.patterns, this.trie);
    let isCertain = true;
    this.rules.forEach((rule, index) => {
      const [user, ...objects] = this.texts[index] ?? [];
      isCertain &&= people.isComplete(user) && objects.every((text) => this.patterns.language(text).kind !== 'open');
      const finding = lives[index] === true ? null : this.judgeRule(rule, index, isCertain);
      if (finding !== null) found.set(rule, finding);
    });
  }

  /** The finding that a rule is dead or undecided; null: some names reach the rule. */
  private judgeRule(rule: ForeignRule, index: number, isCertain: boolean): PlacedFinding | null {
    const sample = this.sampleNames(index);
    const deciders = this.deciders(index, sample);
    const dead = (by: number, message: string): PlacedFinding => {
      const decider = this.rules[by];
      const witness = decider === undefined ? '' : `${decider.place} ${decider.text}`;
      const { place, at } = rule;
      return { code: 'dead-rule', message: `${place} never decides: ${message}`, at, rule: place, witness };
    };
    const single = deciders.find((earlier) => this.covers(earlier, index));
    if (single !== undefined) return dead(single, `${this.rules[single]?.place ?? ''} matches whatever it matches`);
    const verdict = isCertain ? 'covered' : this.coverageOf(index);
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

  /** Earlier rules that match these sample names. */
  private deciders(index: number, [user = '', ...objects]: readonly string[]): number[] {
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
    if (narrow === undefined) return false;
    const names = patterns.language(narrow);
    if (names.kind === 'names') {
      this.budget.spend(names.names.size * STEPS_PER_LOOKUP);
      return [...names.names].every((name) => patterns.matches(wide, name));
    }
    return patterns.language(wide).kind === 'open' && this.asked([narrow], [[wide]]) === 'covered';
  }

  private coverageOf(index: number): 'covered' | 'uncovered' | 'undecided' {
    const own = this.texts[index] ?? [];
    return this.asked(
      own,
      this.texts.slice(0, index).filter((texts) => this.mayMeet(texts, own)),
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

  /** False only if two rules cannot match the same names. */
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

  /** The users and the path of a rule, with one level in sections without objects. */
  private reachOf([user, ...objects]: Texts, people: UserUniverse): Reach {
    const texts = objects.length === 0 ? [undefined] : objects;
    return { people: people.matching(user), path: texts.map((text) => this.patterns.language(text)) };
  }

  private sampleNames(index: number): string[] {
    const names = (this.texts[index] ?? []).map((text, field) => this.cacheOf(field).someName(text));
    return names.length > 1 ? names : [...names, FRESH_PREFIX];
  }
}

const STEPS_PER_LOOKUP = 20;
const STEPS_PER_OPEN_PAIR = 200;

function undecided(rule: ForeignRule | undefined, message: string): PlacedFinding {
  const where = rule === undefined ? {} : { rule: rule.place, witness: rule.text };
  return { code: 'dead-rule-undecided', message, at: rule?.at ?? 0, ...where };
}
