import { BudgetExceeded, WorkBudget } from '../../trino-rules/document/work-budget.js';
import { formatOf, SECTION_NAMES, type SectionName } from './engine-format.js';
import { type ForeignRule, type ForeignRules, rolePattern } from './foreign-rules.js';
import type { PlacedFinding } from './checks.js';
import { FRESH_PREFIX } from '../../trino-rules/document/open-names.js';
import { PatternCache } from '../../trino-rules/document/pattern-cache.js';
import { newUserPattern } from '../java/replacement.js';
import { type Coverage, judgeCoverage } from '../../trino-rules/document/rule-language.js';
import { NO_RULES } from '../../trino-rules/document/rules-document.js';
import { displayName } from '../../trino-rules/engine/access-fact.js';
import { RuleTrie } from '../../trino-rules/engine/rule-trie.js';
import { UserUniverse } from '../../trino-rules/engine/user-universe.js';
import { type RuleReach, ruleReachability } from '../../trino-rules/lint/unreachable-rules.js';
import { selectivePattern, languageOf, maxListedNames, parseRegular } from './foreign-language.js';

/** The fields whose patterns decide whether a rule matches: one list, or for `authorization` two (the new owner is a user, or a role). */
function decidingFieldLists(section: SectionName): string[][] {
  const patternFields = Object.entries(formatOf(section).fields).flatMap(([key, field]) =>
    field.kind === 'new-user' || (field.kind === 'pattern' && field.nameKind !== 'role') ? [key] : [],
  );
  if (section !== 'authorization') return [patternFields];
  return ['new_role', 'new_user'].map((excludedField) => patternFields.filter((field) => field !== excludedField));
}

/** Findings about dead rules: earlier rules match every name that a dead rule matches, so the dead rule never decides. */
export function deadRuleFindings(rules: ForeignRules): PlacedFinding[] {
  const budget = new WorkBudget(MAX_WORK_STEPS);
  return SECTION_NAMES.filter((section) => section !== 'principals').flatMap((section) => {
    const fieldLists = decidingFieldLists(section);
    // Leaves out rules for roles, which never match, and rules that the engine refuses, which have other findings.
    const usableRules = (rules.get(section) ?? []).filter((rule) => !rule.isRefused && rolePattern(rule) === undefined);
    const questionResults = fieldLists.map((fields) => {
      const answersQuestion = ({ patterns }: ForeignRule): boolean =>
        fieldLists.length === 1 || patterns.has(fields.at(-1) ?? '');
      return { answersQuestion, ...judgeSection(section, usableRules.filter(answersQuestion), fields, budget) };
    });
    const deadFindings = usableRules.flatMap((rule) => {
      const ruleFindings = questionResults
        .filter(({ answersQuestion }) => answersQuestion(rule))
        .map(({ deadFindingByRule }) => deadFindingByRule.get(rule));
      const isDead = ruleFindings.every((verdict) => verdict !== undefined);
      return isDead ? (ruleFindings.find(({ code }) => code === 'dead-rule-undecided') ?? ruleFindings[0] ?? []) : [];
    });
    return [...deadFindings, ...questionResults.flatMap(({ budgetFinding }) => budgetFinding ?? []).slice(0, 1)];
  });
}

/** Finds rules that never decide, by the patterns of `fields`. @returns budgetFinding null: the work budget sufficed for all rules */
function judgeSection(
  section: SectionName,
  rules: readonly ForeignRule[],
  fields: readonly string[],
  budget: WorkBudget,
): { deadFindingByRule: ReadonlyMap<ForeignRule, PlacedFinding>; budgetFinding: PlacedFinding | null } {
  const deadFindingByRule = new Map<ForeignRule, PlacedFinding>();
  // Rules with a pattern that this check cannot evaluate are left out.
  const textOf = (rule: ForeignRule, field: string) => selectivePattern(field, matchedText(rule, field));
  const textsByRule = new Map(rules.map((rule) => [rule, fields.map((field) => textOf(rule, field))]));
  const evaluableRules = rules.filter((rule) =>
    textsByRule.get(rule)?.every((text) => languageOf(text).kind !== 'opaque'),
  );
  if (evaluableRules.length < 2) return { deadFindingByRule, budgetFinding: null };
  try {
    const evaluableTexts = evaluableRules.map((rule) => textsByRule.get(rule) ?? []);
    new SectionJudge(evaluableRules, evaluableTexts, budget).addFindings(deadFindingByRule);
    return { deadFindingByRule, budgetFinding: null };
  } catch (error) {
    if (!(error instanceof BudgetExceeded)) throw error;
    const message = `which rules of "${section}" never decide could not be found out: they are too intricate`;
    return { deadFindingByRule, budgetFinding: undecidedFinding(rules[0], message) };
  }
}

/** The pattern with which the engine matches a field; undefined: the rule has none. UNJUDGED_PATTERN: `new_user` has no fixed pattern. */
function matchedText({ section, patterns }: ForeignRule, field: string): string | undefined {
  const text = patterns.get(field)?.text;
  if (text === undefined || section !== 'impersonation' || field !== 'new_user') return text;
  return newUserPattern(text, patterns.has('original_user')) ?? UNJUDGED_PATTERN;
}

/** Stands for any pattern whose matches cannot be determined. A look-behind is such a pattern. */
const UNJUDGED_PATTERN = '(?<=)';

/** Work budget for a file, in steps of about ten nanoseconds. */
const MAX_WORK_STEPS = 60_000_000;

const COVERAGE_LIMITS = { characters: 20_000, nodes: 10_000, stepsPerCharacter: 1_000, leastSteps: 100_000 };

/** The texts of a rule's patterns by field; undefined matches any name. */
type PatternTexts = readonly (string | undefined)[];

class SectionJudge {
  private readonly patterns: PatternCache;
  /** Patterns of users, separate from `patterns`, because a user may have the name that is invented for an object. */
  private readonly userPatterns: PatternCache;
  private readonly trie: RuleTrie;

  constructor(
    private readonly rules: readonly ForeignRule[],
    private readonly texts: readonly PatternTexts[],
    private readonly budget: WorkBudget,
  ) {
    this.patterns = new PatternCache(budget, parseRegular, maxListedNames);
    this.userPatterns = new PatternCache(budget, parseRegular, maxListedNames);
    this.trie = new RuleTrie(budget);
    const openTexts = [...new Set(this.texts.flat())].filter((text) => text !== undefined && /[.*+{?[\\]/.test(text));
    const characterCount = openTexts.reduce((sum, text) => sum + (text?.length ?? 0), 0);
    if (openTexts.length * characterCount * COST_PER_OPEN_PAIR > MAX_WORK_STEPS * 2) throw new BudgetExceeded();
  }

  /** Adds a finding for each rule that never decides. @throws BudgetExceeded, possibly after it has judged some of the rules */
  addFindings(deadFindingByRule: Map<ForeignRule, PlacedFinding>): void {
    // Invented names must differ from all names in these patterns, so the patterns are read first.
    for (const [, ...objects] of this.texts) for (const text of objects) this.patterns.language(text);
    const queries = this.texts.flatMap(([user]) => (user === undefined ? [] : [{ user, allow: [] }]));
    const universe = new UserUniverse([], [{ ...NO_RULES, queries }], this.patterns);
    const ruleReaches = this.texts.map((texts) => this.reachOf(texts, universe));
    ruleReaches.forEach(({ objectPatterns }, index) => this.trie.add(index, objectPatterns));
    const reachableFlags = ruleReachability(ruleReaches, (universe.count + 31) >>> 5, this.patterns, this.trie);
    let isExact = true;
    this.rules.forEach((rule, index) => {
      const [user, ...objects] = this.texts[index] ?? [];
      isExact &&= universe.isCompleteFor(user) && objects.every((text) => this.patterns.language(text).kind !== 'open');
      const finding = reachableFlags[index] === true ? null : this.judgeRule(rule, index, isExact);
      if (finding !== null) deadFindingByRule.set(rule, finding);
    });
  }

  /** The finding that a rule is dead, or that the budget did not suffice to tell; null: the rule decides for some names. */
  private judgeRule(rule: ForeignRule, index: number, isExact: boolean): PlacedFinding | null {
    const sampledNames = this.sampleNames(index);
    const deciderIndexes = this.deciderIndexesOf(index, sampledNames);
    const deadFinding = (deciderIndex: number, message: string): PlacedFinding => {
      const decidingRule = this.rules[deciderIndex];
      const witness = decidingRule === undefined ? '' : `${decidingRule.place} ${decidingRule.text}`;
      const { place, at } = rule;
      return { code: 'dead-rule', message: `${place} never decides: ${message}`, at, rule: place, witness };
    };
    const coveringIndex = deciderIndexes.find((earlierIndex) => this.coversRule(earlierIndex, index));
    if (coveringIndex !== undefined)
      return deadFinding(coveringIndex, `${this.rules[coveringIndex]?.place ?? ''} matches whatever it matches`);
    const verdict = isExact ? 'covered' : this.coverageOf(index);
    if (verdict === 'uncovered') return null;
    const undecidedMessage = `whether ${rule.place} ever decides could not be found out: the patterns are too intricate`;
    if (verdict === 'undecided') return undecidedFinding(rule, undecidedMessage);
    const [firstIndex = 0] = deciderIndexes;
    const namesText = sampledNames.map((name) => displayName(name, 'any other name')).join(', ');
    const example = `${this.rules[firstIndex]?.place ?? ''} ${namesText}`;
    return deadFinding(firstIndex, `earlier rules together match whatever it matches, for example ${example}`);
  }

  private deciderIndexesOf(index: number, [user = '', ...objects]: readonly string[]): number[] {
    return this.trie.rulesMatching(objects).filter((earlierIndex) => {
      this.budget.spend(COST_PER_LOOKUP);
      return earlierIndex < index && this.userPatterns.matches(this.texts[earlierIndex]?.[0], user);
    });
  }

  private coversRule(earlierIndex: number, laterIndex: number): boolean {
    const [wideTexts = [], narrowTexts = []] = [this.texts[earlierIndex], this.texts[laterIndex]];
    return narrowTexts.every((text, field) => this.includes(this.cacheOf(field), wideTexts[field], text));
  }

  private cacheOf(field: number): PatternCache {
    return field === 0 ? this.userPatterns : this.patterns;
  }

  private includes(patterns: PatternCache, wideText: string | undefined, narrowText: string | undefined): boolean {
    if (wideText === undefined || wideText === narrowText) return true;
    if (narrowText === undefined) return false;
    const narrowLanguage = patterns.language(narrowText);
    if (narrowLanguage.kind === 'names') {
      this.budget.spend(narrowLanguage.names.size * COST_PER_LOOKUP);
      return patterns.listsOnly(narrowText, (name) => patterns.matches(wideText, name));
    }
    return patterns.language(wideText).kind === 'open' && this.coverageBy([narrowText], [[wideText]]) === 'covered';
  }

  private coverageOf(index: number): Coverage {
    const ownTexts = this.texts[index] ?? [];
    const earlierRuleTexts = this.texts.slice(0, index).filter((texts) => this.mayOverlap(texts, ownTexts));
    return this.coverageBy(ownTexts, earlierRuleTexts);
  }

  private coverageBy(ownTexts: PatternTexts, earlierTexts: readonly PatternTexts[]): Coverage {
    const characterCount = [ownTexts, ...earlierTexts].flat().reduce((sum, text) => sum + (text?.length ?? 0), 0);
    if (characterCount > COVERAGE_LIMITS.characters) return 'undecided';
    this.budget.spend(COVERAGE_LIMITS.leastSteps + characterCount * COVERAGE_LIMITS.stepsPerCharacter);
    const [ownPatterns = [], ...earlierPatterns] = [ownTexts, ...earlierTexts].map((texts) =>
      texts.map((text) => (text === undefined ? null : this.patterns.pattern(text))),
    );
    return judgeCoverage(ownPatterns, earlierPatterns, COVERAGE_LIMITS.nodes, this.budget);
  }

  /** Whether two rules may match the same names. False only if they certainly cannot. */
  private mayOverlap(a: PatternTexts, b: PatternTexts): boolean {
    return a.every((text, field) => {
      const otherText = b[field];
      const patterns = this.cacheOf(field);
      const [language, otherLanguage] = [patterns.language(text), patterns.language(otherText)];
      const [listedLanguage, otherPattern] = language.kind === 'names' ? [language, otherText] : [otherLanguage, text];
      if (listedLanguage.kind !== 'names') return true;
      this.budget.spend(listedLanguage.names.size * COST_PER_LOOKUP);
      return [...listedLanguage.names].some((name) => patterns.matches(otherPattern, name));
    });
  }

  /** The users and the object path of a rule. In a section without objects the path has one level that matches any name. */
  private reachOf([user, ...objects]: PatternTexts, universe: UserUniverse): RuleReach {
    const texts = objects.length === 0 ? [undefined] : objects;
    return { users: universe.usersMatching(user), objectPatterns: texts.map((text) => this.patterns.language(text)) };
  }

  private sampleNames(index: number): string[] {
    const names = (this.texts[index] ?? []).map((text, field) => this.cacheOf(field).anyMatchingName(text));
    return names.length > 1 ? names : [...names, FRESH_PREFIX];
  }
}

const COST_PER_LOOKUP = 20;
const COST_PER_OPEN_PAIR = 200;

function undecidedFinding(rule: ForeignRule | undefined, message: string): PlacedFinding {
  const ruleFields = rule === undefined ? {} : { rule: rule.place, witness: rule.text };
  return { code: 'dead-rule-undecided', message, at: rule?.at ?? 0, ...ruleFields };
}
