import { getOrInsert } from '../../kernel/collections.js';
import { PatternCache } from '../../trino-rules/document/pattern-cache.js';
import { FRESH_PREFIX } from '../../trino-rules/document/open-names.js';
import { matches } from '../../trino-rules/document/pattern-meaning.js';
import type { WorkBudget } from '../../trino-rules/document/work-budget.js';
import { displayName } from '../../trino-rules/engine/access-fact.js';
import { INFORMATION_SCHEMA } from '../../trino-rules/engine/evaluator.js';
import { RuleTrie } from '../../trino-rules/engine/rule-trie.js';
import { SYSTEM } from '../../trino-rules/model/node.js';
import { catalogMode, type ForeignRule } from './foreign-rules.js';
import { anyName, isRegular, maxListedNames, regularPattern } from './foreign-language.js';
import type { PlacedFinding } from './checks.js';

/** An object of a rule: a table, a schema, a routine or a session property. */
export type Path = readonly [catalog: string, schema: string, table?: string];

export interface Person {
  name: string;
  groups: readonly string[];
}

export type Ask<Found> = (path: Path, person: Person) => Found | null;

export interface Opening<Found> {
  found: Found;
  path: Path;
  person: Person;
  /** How many of the first people that the rule spells out have the same opening; `tables`: how many tables. */
  people: number;
  tables: number;
}

/** A way around restrictions that a rule leaves open, or a right that a rule gives without effect. */
export interface Door {
  code: PlacedFinding['code'];
  /** Catalog mode that a person needs for it; `none`: needs no entry to the catalog. Default: `read-only`. */
  mode?: 'all' | 'none';
  /** Reported at most once for a file. */
  isOnce?: true;
  /** Whether a rule can have this door. */
  isIn(rule: ForeignRule): boolean;
  /** Rules that must match the same person. Default: the rule itself. */
  otherRules?(rule: ForeignRule, path: Path): Iterable<ForeignRule>;
  through(rule: ForeignRule, path: Path, person: Person): Through | null;
}

export interface Through {
  problem: string;
  statement: string;
  /** Another rule that takes part. */
  by?: ForeignRule;
}

/** Rules that a person must pass before rules of other sections have any effect; the first that matches decides. */
export interface Gate {
  /** Undefined: the section is absent, so everybody passes. */
  rules: readonly ForeignRule[] | undefined;
  /** Whether the rules are about catalogs. */
  isOfCatalogs: boolean;
  isOpen: (rule: ForeignRule) => boolean;
}

/** Limits: tables that are tried for a rule, and names for each level of an open pattern. */
const MOST_PATHS = 60;
const MOST_COUNTED = 20;
const MOST_OPEN_NAMES = [20, 8, 12] as const;
const MOST_NAMES = 200;
const STEPS_PER_MATCH = 20;
const STEPS_PER_CHARACTER = 20;
/** A user whom no rule spells out. */
const ANYBODY = `${FRESH_PREFIX}0`;
const OF_TABLES = ['catalog', 'schema', 'table'];

/**
 * Evaluates rules for the tables and people that they spell out, and for one of any other name. Members of groups are unknown, so anybody
 * may be in them. Rules with patterns that cannot be judged match, and give nothing.
 */
export class DoorSearch {
  readonly rules: readonly ForeignRule[];
  private readonly texts = new Map<ForeignRule, ReadonlyMap<string, string | undefined | null>>();
  private readonly trie: RuleTrie;
  private readonly objects: PatternCache;
  private readonly names: PatternCache;
  private readonly rulesAbout = new Map<string, ForeignRule[]>();
  private readonly shut = new Map<Gate, Map<ForeignRule, readonly string[] | null>>();
  private readonly modes = new Map<string, string>();
  private readonly byUser = new Map<readonly ForeignRule[], RuleTrie>();

  /**
   * @param catalogs rules of the section `catalogs`; undefined: everybody may enter all catalogs
   * @param listed further catalogs that are tried
   * @param levels fields of the rules that match an object
   * @param others further rules of gates
   */
  constructor(
    private readonly all: readonly ForeignRule[],
    private readonly catalogs: readonly ForeignRule[] | undefined,
    private readonly listed: readonly string[],
    private readonly budget: WorkBudget,
    private readonly levels: readonly string[] = OF_TABLES,
    others: readonly ForeignRule[] = [],
  ) {
    this.objects = new PatternCache(budget, regularPattern, maxListedNames);
    this.names = new PatternCache(budget, regularPattern, maxListedNames);
    const asked = [...all, ...(catalogs ?? []), ...others];
    const texts = asked.flatMap(({ patterns }) => [...patterns.values()].map(({ text }) => text));
    budget.spend(STEPS_PER_CHARACTER * texts.reduce((sum, { length }) => sum + length, 0));
    // Patterns are read once, because reading a long one takes longer than matching it.
    for (const rule of asked) this.texts.set(rule, judgedTexts(rule));
    this.rules = all.filter((rule) => this.canBeJudged(rule));
    this.trie = new RuleTrie(budget);
    // Every pattern is read before a fresh name is asked for.
    for (const rule of catalogs ?? []) this.objects.language(this.textOf(rule, 'catalog'));
    const paths = all.map((rule) => levels.map((level) => this.objects.language(this.textOf(rule, level))));
    paths.forEach((path, index) => this.trie.add(index, path));
  }

  /**
   * A person and a table for which the rule decides and `ask` finds a way; null: none of those that are tried.
   * @param otherRules rules that must match the same person
   */
  findOpening<Found>(
    rule: ForeignRule,
    mode: 'all' | 'read-only' | 'none',
    otherRules: (path: Path) => Iterable<ForeignRule>,
    ask: Ask<Found>,
  ): Opening<Found> | null {
    this.rulesAbout.clear();
    const asked: Ask<Found> = (path, person) =>
      this.decider(path, person) === rule && this.mayEnter(path[0], person, mode) ? ask(path, person) : null;
    const paths = this.paths(rule);
    for (const path of paths) {
      const earlier = this.rulesOn(path);
      if (earlier.slice(0, earlier.indexOf(rule)).some((other) => this.includesPeople(other, rule))) continue;
      for (const other of new Set(otherRules(path)))
        for (const person of this.peopleOf(path[0], rule, other)) {
          const found = asked(path, person);
          if (found === null) continue;
          const alike = this.spelledNames(rule, 'user')
            .slice(0, MOST_COUNTED)
            .filter((name) => asked(path, { ...person, name }) !== null);
          const tables = paths.slice(0, MOST_COUNTED).filter((each) => asked(each, person) !== null);
          return { found, path, person, people: alike.length, tables: tables.length };
        }
    }
    return null;
  }

  rulesOn(path: Path): ForeignRule[] {
    return getOrInsert(this.rulesAbout, path.join('\0'), () =>
      this.trie.at(path.filter((name) => name !== undefined)).flatMap((index) => this.all[index] ?? []),
    );
  }

  /** The rule that decides; undefined: none, or one that cannot be judged. */
  decider(path: Path, person: Person): ForeignRule | undefined {
    const rule = this.rulesOn(path).find((each) => this.isAbout(each, person));
    return rule !== undefined && this.canBeJudged(rule) ? rule : undefined;
  }

  isAbout(rule: ForeignRule, { name, groups }: Person): boolean {
    this.budget.spend(STEPS_PER_MATCH);
    if (rule.patterns.has('role') || !this.matchesName(this.textOf(rule, 'user'), name)) return false;
    return !rule.patterns.has('group') || groups.some((group) => this.matchesName(this.textOf(rule, 'group'), group));
  }

  /** Whether `wide` matches all people whom `narrow` matches; false if it is not known. */
  includesPeople(wide: ForeignRule, narrow: ForeignRule): boolean {
    const [all, some, group] = [
      this.textOf(wide, 'user'),
      this.textOf(narrow, 'user'),
      wide.patterns.get('group')?.text,
    ];
    if (wide.patterns.has('role') || (group !== undefined && group !== narrow.patterns.get('group')?.text))
      return false;
    if (all === undefined || all === some) return true;
    const names = this.names.language(some);
    if (names.kind !== 'names') return false;
    this.budget.spend(names.names.size);
    return [...names.names].every((name) => this.matchesName(all, name));
  }

  /** Names of people of a rule who do not pass a gate; null: nobody of the rule passes. */
  peopleShutOut(rule: ForeignRule, gate: Gate): readonly string[] | null {
    return getOrInsert(
      getOrInsert(this.shut, gate, () => new Map()),
      rule,
      () => {
        if (this.names.language(this.textOf(rule, 'user')).kind !== 'names')
          return this.passesGate(rule, gate) ? [] : null;
        const names = this.spelledNames(rule, 'user');
        const shut = names.filter((name) => !this.passesGate(rule, gate, name));
        return shut.length === names.length ? null : shut;
      },
    );
  }

  /** Whether somebody of a rule, or the person of this name, passes a gate; true if it is not known. */
  private passesGate(rule: ForeignRule, { rules, isOfCatalogs, isOpen }: Gate, name?: string): boolean {
    // Everybody may enter `system`, unless a rule forbids it.
    if (rules === undefined || (isOfCatalogs && this.spelledNames(rule, 'catalog').includes(SYSTEM))) return true;
    const mayOpen = (each: ForeignRule | undefined) => each !== undefined && (!this.canBeJudged(each) || isOpen(each));
    return (name === undefined ? rules : this.rulesForUser(rules, name)).some((gate) => {
      this.budget.spend(STEPS_PER_MATCH);
      if (gate.patterns.has('role') || !mayOpen(gate)) return false;
      const people = name === undefined ? this.commonNames('user', rule, gate) : [name];
      const catalogs = isOfCatalogs ? this.commonNames('catalog', rule, gate) : [SYSTEM];
      if (people === null || catalogs === null) return people === null || people.length > 0;
      const groups = [...groupsFor([rule, gate].map((each) => this.spelledNames(each, 'group')))];
      const persons = people.flatMap((each) => groups.map((some) => ({ name: each, groups: some })));
      const isAbout = (each: ForeignRule, catalog: string, person: Person) =>
        (!isOfCatalogs || this.isAboutCatalog(each, catalog)) && this.isAbout(each, person);
      return catalogs.some((catalog) =>
        persons.some((person) =>
          mayOpen(this.rulesForUser(rules, person.name).find((each) => isAbout(each, catalog, person))),
        ),
      );
    });
  }

  /** The rules of a gate whose pattern of users matches a name, in their order. */
  private rulesForUser(rules: readonly ForeignRule[], name: string): ForeignRule[] {
    const trie = getOrInsert(this.byUser, rules, () => {
      const made = new RuleTrie(this.budget);
      rules.forEach((rule, index) => made.add(index, [this.names.language(this.textOf(rule, 'user'))]));
      return made;
    });
    return trie.at([name]).flatMap((index) => rules[index] ?? []);
  }

  /** Names that the patterns of both rules match, only one if both match any name; null: not known. */
  private commonNames(key: 'user' | 'catalog', rule: ForeignRule, other: ForeignRule): string[] | null {
    const patterns = key === 'user' ? this.names : this.objects;
    const [own, others] = [this.textOf(rule, key), this.textOf(other, key)];
    if (own === undefined && others === undefined) return [key === 'user' ? ANYBODY : this.objects.fresh()];
    const isListed = (text: string | undefined) => patterns.language(text).kind === 'names';
    const isFirst = own !== undefined && (others === undefined || isListed(own) || !isListed(others));
    const [narrow, wide] = isFirst ? [own, others] : [others, own];
    if (wide !== undefined && wide !== narrow && !isListed(narrow)) return null;
    const names = [...patterns.spelled(narrow)].filter((name) => this.matchesName(wide, name));
    this.budget.spend(names.length);
    // A pattern that matches many catalogs hardly intends to include `system`.
    return key === 'user' || isListed(own) ? names : names.filter((name) => name !== SYSTEM);
  }

  isAboutCatalog(rule: ForeignRule, catalog: string): boolean {
    return this.objects.matches(this.textOf(rule, 'catalog'), catalog);
  }

  paths(rule: ForeignRule): Path[] {
    const all: Path[] = [];
    for (const catalog of this.namesAt(rule, 0, []).filter((name) => name !== SYSTEM))
      for (const schema of this.namesAt(rule, 1, [catalog]).filter((name) => name !== INFORMATION_SCHEMA))
        for (const table of this.levels.length === 2 ? [null] : this.namesAt(rule, 2, [catalog, schema]))
          if (all.push(table === null ? [catalog, schema] : [catalog, schema, table]) === MOST_PATHS) return all;
    return all;
  }

  private namesAt(rule: ForeignRule, level: 0 | 1 | 2, above: readonly string[]): string[] {
    const key = this.levels[level] ?? '';
    const [text, spelled] = [this.textOf(rule, key), this.spelledNames(rule, key)];
    if (this.objects.language(text).kind === 'names') return spelled;
    const below = [...spelled, ...this.trie.branch(above).names()];
    const bases = below.flatMap((name) => name.split('$', 1));
    const entered = () => [
      ...this.listed,
      ...(this.catalogs ?? []).flatMap((each) => this.spelledNames(each, 'catalog')),
    ];
    const others = level === 0 ? entered() : [];
    const all = new Set([...others, this.objects.fresh(), ...bases, ...below]);
    return [...all].filter((name) => name !== '' && this.objects.matches(text, name)).slice(0, MOST_OPEN_NAMES[level]);
  }

  /** People whom both rules match, in as few groups as possible, with those that let them into the catalog. */
  private *peopleOf(catalog: string, rule: ForeignRule, other: ForeignRule): Iterable<Person> {
    const entries = (this.catalogs ?? []).filter((each) => this.isAboutCatalog(each, catalog));
    const users = [rule, other].map((each) => this.textOf(each, 'user'));
    const [listed] = [rule, other]
      .filter((each) => this.names.language(this.textOf(each, 'user')).kind === 'names')
      .map((each) => this.spelledNames(each, 'user'))
      .sort((a, b) => a.length - b.length);
    const open = () => [...[rule, other, ...entries].flatMap((each) => this.spelledNames(each, 'user')), ANYBODY];
    const names = [...new Set(listed ?? open())]
      .filter((name) => users.every((user) => this.matchesName(user, name)))
      .slice(0, MOST_NAMES);
    const needed = [rule, other].map((each) => this.spelledNames(each, 'group')).sort((a, b) => a.length - b.length);
    for (const entry of [
      [],
      ...entries.map((each) => this.spelledNames(each, 'group')).filter(({ length }) => length > 0),
    ])
      for (const groups of groupsFor([...needed, entry])) for (const name of names) yield { name, groups };
  }

  private mayEnter(catalog: string, person: Person, mode: 'all' | 'read-only' | 'none'): boolean {
    const { catalogs } = this;
    if (mode === 'none' || catalogs === undefined) return true;
    const given = getOrInsert(this.modes, JSON.stringify([catalog, person]), () => {
      const isIn = (rule: ForeignRule): boolean => this.isAboutCatalog(rule, catalog) && this.isAbout(rule, person);
      const rule = this.rulesForUser(catalogs, person.name).find(isIn);
      return rule === undefined || !this.canBeJudged(rule) ? 'none' : catalogMode(rule);
    });
    return given === 'all' || given === mode;
  }

  /** Matches without listing the names of the pattern, which may be thousands. */
  private matchesName(text: string | undefined, name: string): boolean {
    return text === undefined || matches(this.names.pattern(text), name, this.budget);
  }

  /** Undefined: any name, also for a pattern that cannot be judged. */
  private textOf(rule: ForeignRule, key: string): string | undefined {
    return this.texts.get(rule)?.get(key) ?? undefined;
  }

  private canBeJudged(rule: ForeignRule): boolean {
    return !rule.patterns.has('role') && ![...(this.texts.get(rule)?.values() ?? [])].includes(null);
  }

  private spelledNames(rule: ForeignRule, key: string): string[] {
    const patterns = key === 'user' || key === 'group' ? this.names : this.objects;
    const names = [...patterns.spelled(this.textOf(rule, key))].slice(0, MOST_NAMES);
    this.budget.spend(names.length);
    return names;
  }
}

function* groupsFor(
  needed: readonly (readonly string[])[],
  chosen: readonly string[] = [],
): Iterable<readonly string[]> {
  const next = needed.find((groups) => groups.length > 0 && !groups.some((group) => chosen.includes(group)));
  if (next === undefined) yield chosen;
  else for (const group of next) yield* groupsFor(needed, [...chosen, group]);
}

/** The texts of a rule's patterns by field; undefined: any name, null: cannot be judged. */
function judgedTexts({ patterns }: ForeignRule): ReadonlyMap<string, string | undefined | null> {
  return new Map(
    [...patterns].map(([key, { text: written }]) => {
      const text = anyName(key, written);
      return [key, isRegular(text) ? text : null];
    }),
  );
}

export function sqlPath(path: Path): string {
  const shown = path.map((name = '', level) => {
    const any = ['any_catalog', 'any_schema', 'any_table'][level] ?? '';
    return displayName(name, any).replace(/^…(?=[$])/, any);
  });
  return shown.map((name) => (/^[a-z_][a-z0-9_]*$/.test(name) ? name : `"${name}"`)).join('.');
}

/** An example of a statement that needs a privilege on a table; SELECT for any other right. */
export function sqlFor(right: string, path: Path): string {
  const object = sqlPath(path);
  switch (right) {
    case 'INSERT':
      return `INSERT INTO ${object} …`;
    case 'UPDATE':
      return `UPDATE ${object} SET …`;
    case 'DELETE':
      return `DELETE FROM ${object}`;
    case 'OWNERSHIP':
      return `CREATE TABLE ${object} (…)`;
    default:
      return `SELECT * FROM ${object}`;
  }
}
