import { getOrInsert } from '../../kernel/collections.js';
import { FRESH_PREFIX } from '../../trino-rules/document/open-names.js';
import { PatternCache } from '../../trino-rules/document/pattern-cache.js';
import { matches } from '../../trino-rules/document/pattern-meaning.js';
import type { WorkBudget } from '../../trino-rules/document/work-budget.js';
import { displayName } from '../../trino-rules/engine/access-fact.js';
import { INFORMATION_SCHEMA } from '../../trino-rules/engine/evaluator.js';
import { RuleTrie } from '../../trino-rules/engine/rule-trie.js';
import { SYSTEM } from '../../trino-rules/model/node.js';
import { catalogMode, type ForeignRule } from './foreign-rules.js';
import { selectivePattern, isRegular, maxListedNames, parseRegular } from './foreign-language.js';
import type { PlacedFinding } from './checks.js';

/** The path of an object, such as a table. The name of a session property is in the second place. */
export type Path = readonly [catalog: string, schema: string, table?: string];

export interface Person {
  name: string;
  groups: readonly string[];
}

export type Probe<Found> = (path: Path, person: Person) => Found | null;

export interface Opening<Found> {
  probeResult: Found;
  path: Path;
  person: Person;
  /** Number of people for whom the `Probe` returns a result. Only the first MAX_COUNTED people that the rule names are tried. */
  peopleCount: number;
  /** Number of tables for which the `Probe` returns a result. Only the first MAX_COUNTED tables are tried. */
  tableCount: number;
}

/** A kind of loophole, which is a way around a rule's restrictions, or a kind of right that has no effect. */
export interface Loophole {
  code: PlacedFinding['code'];
  /** The least catalog mode with which a person can use the loophole. Default: `read-only`. */
  mode?: 'all' | 'none';
  isReportedOnce?: true;
  /** Whether the loophole is possible, judged by the rule alone. If true, `example` is called for each table and person. */
  mayApplyTo(rule: ForeignRule): boolean;
  /** Only for a loophole that needs a second rule: the candidates for the second rule. Both rules must match the same person. */
  otherRules?(rule: ForeignRule, path: Path): Iterable<ForeignRule>;
  example(rule: ForeignRule, path: Path, person: Person): Example | null;
}

export interface Example {
  problem: string;
  statement: string;
  otherRule?: ForeignRule;
}

/** Rules that must admit a person before rules of other sections have any effect. The first matching rule decides. */
export interface Gate {
  /** The rules of the section. Undefined: the file lacks the section, so that everybody is admitted. */
  rules: readonly ForeignRule[] | undefined;
  isAboutCatalogs: boolean;
  admits: (rule: ForeignRule) => boolean;
}

const MAX_PATHS = 60;
const MAX_COUNTED = 20;
const MAX_TRIED_NAMES = [20, 8, 12] as const;
const MAX_LISTED_NAMES = 200;
const COST_PER_MATCH = 20;
const COST_PER_CHARACTER = 20;
const UNNAMED_USER = `${FRESH_PREFIX}0`;
const TABLE_LEVELS = ['catalog', 'schema', 'table'];

/**
 * Evaluates rules for the tables and people that patterns name, and for one invented table and one invented person. Members of groups are
 * unknown, so every user may be a member. A rule with a pattern that cannot be evaluated counts as a denial for every name.
 */
export class LoopholeSearch {
  readonly rules: readonly ForeignRule[];
  private readonly textsByRule = new Map<ForeignRule, ReadonlyMap<string, string | undefined | null>>();
  private readonly trie: RuleTrie;
  private readonly patterns: PatternCache;
  private readonly userPatterns: PatternCache;
  private readonly rulesByPath = new Map<string, ForeignRule[]>();
  private readonly namesShutOutByGate = new Map<Gate, Map<ForeignRule, readonly string[] | null>>();
  private readonly catalogModeByPerson = new Map<string, string>();
  private readonly userTries = new Map<readonly ForeignRule[], RuleTrie>();

  /**
   * @param catalogRules rules of the section `catalogs`; undefined: everybody may enter all catalogs
   * @param catalogsToTry catalogs to try besides those that rules name
   * @param objectFields the fields of a rule that name its object: `catalog`, `schema` and so on
   */
  constructor(
    private readonly allRules: readonly ForeignRule[],
    private readonly catalogRules: readonly ForeignRule[] | undefined,
    private readonly catalogsToTry: readonly string[],
    private readonly budget: WorkBudget,
    private readonly objectFields: readonly string[] = TABLE_LEVELS,
    queryRules: readonly ForeignRule[] = [],
  ) {
    this.patterns = new PatternCache(budget, parseRegular, maxListedNames);
    this.userPatterns = new PatternCache(budget, parseRegular, maxListedNames);
    const usedRules = [...allRules, ...(catalogRules ?? []), ...queryRules];
    const texts = usedRules.flatMap(({ patterns }) => [...patterns.values()].map(({ text }) => text));
    budget.spend(COST_PER_CHARACTER * texts.reduce((sum, { length }) => sum + length, 0));
    // Each pattern is read once, because reading a long one takes longer than matching it.
    for (const rule of usedRules) this.textsByRule.set(rule, judgedTexts(rule));
    this.rules = allRules.filter((rule) => this.canBeJudged(rule));
    this.trie = new RuleTrie(budget);
    // Reads every pattern before a name is invented, because an invented name must differ from all names in patterns.
    for (const rule of catalogRules ?? []) this.patterns.language(this.textOf(rule, 'catalog'));
    const rulePaths = allRules.map((rule) =>
      objectFields.map((level) => this.patterns.language(this.textOf(rule, level))),
    );
    rulePaths.forEach((path, index) => this.trie.add(index, path));
  }

  /**
   * Finds a path and a person for which `rule` decides and `probe` returns a result; null: none.
   * @param mode the catalog mode that the person needs @param otherRules rules of which one must match the person, too
   */
  findOpening<Found>(
    rule: ForeignRule,
    mode: 'all' | 'read-only' | 'none',
    otherRules: (path: Path) => Iterable<ForeignRule>,
    probe: Probe<Found>,
  ): Opening<Found> | null {
    this.rulesByPath.clear();
    const probeIfDeciding: Probe<Found> = (path, person) =>
      this.decidingRule(path, person) === rule && this.mayEnter(path[0], person, mode) ? probe(path, person) : null;
    const paths = this.pathsToTry(rule);
    for (const path of paths) {
      const pathRules = this.rulesMatching(path);
      if (pathRules.slice(0, pathRules.indexOf(rule)).some((each) => this.includesPeople(each, rule))) continue;
      for (const otherRule of new Set(otherRules(path)))
        for (const person of this.peopleOf(path[0], rule, otherRule)) {
          const probeResult = probeIfDeciding(path, person);
          if (probeResult === null) continue;
          const affectedPeople = this.spelledNames(rule, 'user')
            .slice(0, MAX_COUNTED)
            .filter((name) => probeIfDeciding(path, { ...person, name }) !== null);
          const affectedPaths = paths.slice(0, MAX_COUNTED).filter((each) => probeIfDeciding(each, person) !== null);
          return { probeResult, path, person, peopleCount: affectedPeople.length, tableCount: affectedPaths.length };
        }
    }
    return null;
  }

  rulesMatching(path: Path): ForeignRule[] {
    return getOrInsert(this.rulesByPath, path.join('\0'), () =>
      this.trie.rulesMatching(path.filter((name) => name !== undefined)).flatMap((index) => this.allRules[index] ?? []),
    );
  }

  /** The rule that decides for a person on a path; undefined: no rule decides, or that rule cannot be judged. */
  decidingRule(path: Path, person: Person): ForeignRule | undefined {
    const rule = this.rulesMatching(path).find((each) => this.matchesPerson(each, person));
    return rule !== undefined && this.canBeJudged(rule) ? rule : undefined;
  }

  matchesPerson(rule: ForeignRule, { name, groups }: Person): boolean {
    this.budget.spend(COST_PER_MATCH);
    if (rule.patterns.has('role') || !this.matchesName(this.textOf(rule, 'user'), name)) return false;
    return !rule.patterns.has('group') || groups.some((group) => this.matchesName(this.textOf(rule, 'group'), group));
  }

  /** Whether `wideRule` matches all people whom `narrowRule` matches; false if that is not known. */
  includesPeople(wideRule: ForeignRule, narrowRule: ForeignRule): boolean {
    const [wideUser, narrowUser] = [this.textOf(wideRule, 'user'), this.textOf(narrowRule, 'user')];
    const group = wideRule.patterns.get('group')?.text;
    if (wideRule.patterns.has('role') || (group !== undefined && group !== narrowRule.patterns.get('group')?.text))
      return false;
    if (wideUser === undefined || wideUser === narrowUser) return true;
    const narrowLanguage = this.userPatterns.language(narrowUser);
    if (narrowLanguage.kind !== 'names') return false;
    this.budget.spend(narrowLanguage.names.size);
    return [...narrowLanguage.names].every((name) => this.matchesName(wideUser, name));
  }

  /** Listed users of the rule who are shut out by a gate (rules that must admit users first). Null: all users of the rule are shut out. */
  peopleShutOut(rule: ForeignRule, gate: Gate): readonly string[] | null {
    const namesByRule = getOrInsert(this.namesShutOutByGate, gate, () => new Map());
    return getOrInsert(namesByRule, rule, () => {
      if (this.userPatterns.language(this.textOf(rule, 'user')).kind !== 'names')
        return this.passesGate(rule, gate) ? [] : null;
      const names = this.spelledNames(rule, 'user');
      const namesShutOut = names.filter((name) => !this.passesGate(rule, gate, name));
      return namesShutOut.length === names.length ? null : namesShutOut;
    });
  }

  /** Whether a gate (rules of catalogs or queries) may admit the user `name`; without `name`, somebody whom `rule` matches. */
  private passesGate(rule: ForeignRule, { rules, isAboutCatalogs, admits }: Gate, name?: string): boolean {
    // Without rules, the gate admits everybody. Everybody counts as admitted to `system`, which the engine opens without a rule.
    if (rules === undefined || (isAboutCatalogs && this.spelledNames(rule, 'catalog').includes(SYSTEM))) return true;
    const mayAdmit = (each: ForeignRule | undefined) => each !== undefined && (!this.canBeJudged(each) || admits(each));
    return (name === undefined ? rules : this.rulesForUser(rules, name)).some((gate) => {
      this.budget.spend(COST_PER_MATCH);
      if (gate.patterns.has('role') || !mayAdmit(gate)) return false;
      const userNames = name === undefined ? this.commonNames('user', rule, gate) : [name];
      const catalogs = isAboutCatalogs ? this.commonNames('catalog', rule, gate) : [SYSTEM];
      if (userNames === null || catalogs === null) return userNames === null || userNames.length > 0;
      const groups = [...groupSets([rule, gate].map((each) => this.spelledNames(each, 'group')))];
      const persons = userNames.flatMap((each) => groups.map((personGroups) => ({ name: each, groups: personGroups })));
      const matchesPerson = (each: ForeignRule, catalog: string, person: Person) =>
        (!isAboutCatalogs || this.isAboutCatalog(each, catalog)) && this.matchesPerson(each, person);
      return catalogs.some((catalog) =>
        persons.some((person) =>
          mayAdmit(this.rulesForUser(rules, person.name).find((each) => matchesPerson(each, catalog, person))),
        ),
      );
    });
  }

  private rulesForUser(rules: readonly ForeignRule[], name: string): ForeignRule[] {
    const trie = getOrInsert(this.userTries, rules, () => {
      const newTrie = new RuleTrie(this.budget);
      rules.forEach((rule, index) => newTrie.add(index, [this.userPatterns.language(this.textOf(rule, 'user'))]));
      return newTrie;
    });
    return trie.rulesMatching([name]).flatMap((index) => rules[index] ?? []);
  }

  /** Names that both rules match. Null: the names are not known. One made-up name stands for all names if both rules match any name. */
  private commonNames(key: 'user' | 'catalog', rule: ForeignRule, otherRule: ForeignRule): string[] | null {
    const patterns = key === 'user' ? this.userPatterns : this.patterns;
    const [text, otherText] = [this.textOf(rule, key), this.textOf(otherRule, key)];
    if (text === undefined && otherText === undefined)
      return [key === 'user' ? UNNAMED_USER : this.patterns.freshName()];
    const isList = (each: string | undefined) => patterns.language(each).kind === 'names';
    const isFirstNarrower = text !== undefined && (otherText === undefined || isList(text) || !isList(otherText));
    const [narrow, wide] = isFirstNarrower ? [text, otherText] : [otherText, text];
    if (wide !== undefined && wide !== narrow && !isList(narrow)) return null;
    const names = [...patterns.spelledNames(narrow)].filter((name) => this.matchesName(wide, name));
    this.budget.spend(names.length);
    // A pattern of catalogs such as `.*` is probably not meant for `system`. A list such as `a|system` is.
    return key === 'user' || isList(text) ? names : names.filter((name) => name !== SYSTEM);
  }

  isAboutCatalog(rule: ForeignRule, catalog: string): boolean {
    return this.patterns.matches(this.textOf(rule, 'catalog'), catalog);
  }

  /** Whether the rule names all its tables, or the tables of its companions: `orders`, `orders([$].*)?`. */
  spellsTables(rule: ForeignRule): boolean {
    const language = this.patterns.language(this.textOf(rule, 'table'));
    return language.kind === 'names' || (language.kind === 'open' && (language.companions?.baseNames ?? null) !== null);
  }

  pathsToTry(rule: ForeignRule): Path[] {
    const paths: Path[] = [];
    for (const catalog of this.namesToTry(rule, 0, []).filter((name) => name !== SYSTEM))
      for (const schema of this.namesToTry(rule, 1, [catalog]).filter((name) => name !== INFORMATION_SCHEMA))
        for (const table of this.objectFields.length === 2 ? [null] : this.namesToTry(rule, 2, [catalog, schema]))
          if (paths.push(table === null ? [catalog, schema] : [catalog, schema, table]) === MAX_PATHS) return paths;
    return paths;
  }

  private namesToTry(rule: ForeignRule, level: 0 | 1 | 2, parentNames: readonly string[]): string[] {
    const key = this.objectFields[level] ?? '';
    const [text, spelledNames] = [this.textOf(rule, key), this.spelledNames(rule, key)];
    if (this.patterns.language(text).kind === 'names') return spelledNames;
    const knownNames = [...spelledNames, ...this.trie.branch(parentNames).names()];
    const baseNames = knownNames.flatMap((name) => name.split('$', 1));
    const enteredCatalogs = () => [
      ...this.catalogsToTry,
      ...(this.catalogRules ?? []).flatMap((each) => this.spelledNames(each, 'catalog')),
    ];
    const catalogsToTry = level === 0 ? enteredCatalogs() : [];
    const names = new Set([...catalogsToTry, this.patterns.freshName(), ...baseNames, ...knownNames]);
    return [...names]
      .filter((name) => name !== '' && this.patterns.matches(text, name))
      .slice(0, MAX_TRIED_NAMES[level]);
  }

  private *peopleOf(catalog: string, rule: ForeignRule, otherRule: ForeignRule): Iterable<Person> {
    const entryRules = (this.catalogRules ?? []).filter((each) => this.isAboutCatalog(each, catalog));
    const userTexts = [rule, otherRule].map((each) => this.textOf(each, 'user'));
    const [listedUsers] = [rule, otherRule]
      .filter((each) => this.userPatterns.language(this.textOf(each, 'user')).kind === 'names')
      .map((each) => this.spelledNames(each, 'user'))
      .sort((a, b) => a.length - b.length);
    const possibleUsers = () => [
      ...[rule, otherRule, ...entryRules].flatMap((each) => this.spelledNames(each, 'user')),
      UNNAMED_USER,
    ];
    const names = [...new Set(listedUsers ?? possibleUsers())]
      .filter((name) => userTexts.every((userText) => this.matchesName(userText, name)))
      .slice(0, MAX_LISTED_NAMES);
    const neededGroups = [rule, otherRule]
      .map((each) => this.spelledNames(each, 'group'))
      .sort((a, b) => a.length - b.length);
    for (const entryGroups of [
      [],
      ...entryRules.map((each) => this.spelledNames(each, 'group')).filter(({ length }) => length > 0),
    ])
      for (const groups of groupSets([...neededGroups, entryGroups])) for (const name of names) yield { name, groups };
  }

  private mayEnter(catalog: string, person: Person, mode: 'all' | 'read-only' | 'none'): boolean {
    const { catalogRules } = this;
    if (mode === 'none' || catalogRules === undefined) return true;
    const modeOfPerson = getOrInsert(this.catalogModeByPerson, JSON.stringify([catalog, person]), () => {
      const appliesTo = (rule: ForeignRule): boolean =>
        this.isAboutCatalog(rule, catalog) && this.matchesPerson(rule, person);
      const rule = this.rulesForUser(catalogRules, person.name).find(appliesTo);
      return rule === undefined || !this.canBeJudged(rule) ? 'none' : catalogMode(rule);
    });
    return modeOfPerson === 'all' || modeOfPerson === mode;
  }

  /** Whether a pattern matches a name. Does not list the names of the pattern, which may be thousands. */
  private matchesName(text: string | undefined, name: string): boolean {
    return text === undefined || matches(this.userPatterns.pattern(text), name, this.budget);
  }

  /** The pattern of a field; undefined: it matches any name, or cannot be judged. */
  private textOf(rule: ForeignRule, key: string): string | undefined {
    return this.textsByRule.get(rule)?.get(key) ?? undefined;
  }

  private canBeJudged(rule: ForeignRule): boolean {
    return !rule.patterns.has('role') && ![...(this.textsByRule.get(rule)?.values() ?? [])].includes(null);
  }

  private spelledNames(rule: ForeignRule, key: string): string[] {
    const patterns = key === 'user' || key === 'group' ? this.userPatterns : this.patterns;
    const names = [...patterns.spelledNames(this.textOf(rule, key))].slice(0, MAX_LISTED_NAMES);
    this.budget.spend(names.length);
    return names;
  }
}

function* groupSets(
  neededGroups: readonly (readonly string[])[],
  chosenGroups: readonly string[] = [],
): Iterable<readonly string[]> {
  const lacksChosenGroup = (groups: readonly string[]) =>
    groups.length > 0 && !groups.some((each) => chosenGroups.includes(each));
  const groupsToChooseFrom = neededGroups.find(lacksChosenGroup);
  if (groupsToChooseFrom === undefined) yield chosenGroups;
  else for (const group of groupsToChooseFrom) yield* groupSets(neededGroups, [...chosenGroups, group]);
}

/** A rule's patterns by field. Undefined matches any name. Null stands for a pattern that cannot be evaluated. */
function judgedTexts({ patterns }: ForeignRule): ReadonlyMap<string, string | undefined | null> {
  return new Map(
    [...patterns].map(([key, { text: patternText }]) => {
      const text = selectivePattern(key, patternText);
      return [key, isRegular(text) ? text : null];
    }),
  );
}

export function sqlPath(path: Path): string {
  const names = path.map((name = '', level) => {
    const placeholder = ['any_catalog', 'any_schema', 'any_table'][level] ?? '';
    return displayName(name, placeholder).replace(/^…(?=[$])/, placeholder);
  });
  return names.map((name) => (/^[a-z_][a-z0-9_]*$/.test(name) ? name : `"${name}"`)).join('.');
}

/** An example of a statement that needs a privilege on a table; SELECT for any other right. */
export function sqlFor(right: string, path: Path): string {
  const tableSql = sqlPath(path);
  switch (right) {
    case 'INSERT':
      return `INSERT INTO ${tableSql} …`;
    case 'UPDATE':
      return `UPDATE ${tableSql} SET …`;
    case 'DELETE':
      return `DELETE FROM ${tableSql}`;
    case 'OWNERSHIP':
      return `CREATE TABLE ${tableSql} (…)`;
    default:
      return `SELECT * FROM ${tableSql}`;
  }
}
