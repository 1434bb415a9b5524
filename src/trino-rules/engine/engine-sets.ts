import type { PatternCache, PatternLanguage } from '../document/pattern-cache.js';
import type { RulesDocument } from '../document/rules-document.js';
import { RuleTrie } from './rule-trie.js';
import { addWord, everyWord, wordAt, type SparseBitset, type Bitset } from './sparse-bitset.js';
import type { UserUniverse } from './user-universe.js';

/** Users that may enter a catalog, by mode. */
export interface CatalogModes {
  all: Bitset;
  readOnly: Bitset;
}

/** The engine's answers for all users at once; `Evaluator` gives the same, one user at a time. */
export class EngineSets {
  readonly width: number;
  readonly everyWord: Uint32Array;
  readonly catalogs: RuleTrie;
  readonly schemas: RuleTrie;
  readonly tables: RuleTrie;
  readonly functions: RuleTrie;
  readonly procedures: RuleTrie;

  /** Whatever is asked of it is paid out of the budget of `patterns`. */
  constructor(
    readonly rules: RulesDocument,
    readonly patterns: PatternCache,
    readonly people: UserUniverse,
  ) {
    this.width = (people.count + 31) >>> 5;
    this.everyWord = everyWord(this.width);
    const language = (pattern: string | undefined) => patterns.language(pattern);
    this.catalogs = this.trie(rules.catalogs.map((rule) => [language(rule.catalog)]));
    this.schemas = this.trie(rules.schemas.map((rule) => [language(rule.catalog), language(rule.schema)]));
    this.tables = this.trie(
      rules.tables.map((rule) => [language(rule.catalog), language(rule.schema), language(rule.table)]),
    );
    this.functions = this.trie(
      rules.functions.map((rule) => [language(rule.catalog), language(rule.schema), language(rule.function)]),
    );
    this.procedures = this.trie(
      rules.procedures.map((rule) => [language(rule.catalog), language(rule.schema), language(rule.procedure)]),
    );
    // Every pattern is read before a fresh name is asked for.
    rules.system_session_properties.forEach(({ property }) => language(property));
    rules.catalog_session_properties.forEach(({ catalog, property }) => [catalog, property].map(language));
  }

  /** A name that neither a rule nor the snapshot spells out. */
  get fresh(): string {
    return this.patterns.fresh();
  }

  spend(steps: number): void {
    this.patterns.budget.spend(steps);
  }

  /** Catalogs that rules spell out. */
  catalogNames(): string[] {
    return [this.catalogs, this.schemas, this.tables].flatMap((trie) => [...trie.branch([]).names()]);
  }

  /** Schemas of a catalog that rules spell out. */
  schemaNames(catalog: string): string[] {
    return [this.schemas, this.tables].flatMap((trie) => [...trie.branch([catalog]).names()]);
  }

  modes(catalog: string): CatalogModes {
    const about = pick(this.rules.catalogs, this.catalogs.at([catalog]));
    // The engine's own last rule of a catalogs section: everybody, `system`, all.
    if (catalog === 'system') about.push({ allow: 'all' });
    return {
      all: this.first(about, ({ allow }) => allow === 'all'),
      readOnly: this.first(about, ({ allow }) => allow === 'read-only'),
    };
  }

  schemaOwners(catalog: string, schema: string, modes: CatalogModes): Bitset {
    const owners = this.first(pick(this.rules.schemas, this.schemas.at([catalog, schema])), ({ owner }) => owner);
    for (const index of this.everyWord) owners[index] = wordAt(owners, index) & wordAt(modes.all, index);
    return owners;
  }

  /** Users for whom the first matching rule gives something. */
  first<Rule extends { user?: string | undefined }>(about: readonly Rule[], gives: (rule: Rule) => boolean): Bitset {
    const decided = new Uint32Array(this.width);
    const given = new Uint32Array(this.width);
    this.spend(this.width);
    for (const rule of about) {
      const { at, words } = this.usersOf(rule.user);
      this.spend(at.length + STEPS_PER_RULE);
      const giving = gives(rule);
      for (let i = 0; i < at.length; i++) {
        const index = wordAt(at, i);
        const hit = wordAt(words, i) & ~wordAt(decided, index);
        addWord(decided, index, hit);
        if (giving) addWord(given, index, hit);
      }
    }
    return given;
  }

  usersOf(pattern: string | undefined): SparseBitset {
    return this.people.matching(pattern);
  }

  private trie(paths: readonly (readonly PatternLanguage[])[]): RuleTrie {
    const trie = new RuleTrie(this.patterns.budget);
    paths.forEach((path, rule) => trie.add(rule, path));
    return trie;
  }
}

/** To look a rule up. */
export const STEPS_PER_RULE = 10;

function pick<Rule>(rules: readonly Rule[], indexes: readonly number[]): Rule[] {
  return indexes.flatMap((index) => rules[index] ?? []);
}
