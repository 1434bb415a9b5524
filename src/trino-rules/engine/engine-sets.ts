import { getOrInsert } from '../../kernel/collections.js';
import type { PatternCache, PatternLanguage } from '../document/pattern-cache.js';
import { patternOf, type RulesDocument } from '../document/rules-document.js';
import { RuleTrie, type Branch } from './rule-trie.js';
import { addNew, everyWord, sparseMembers, wordAt, type Bitset } from './sparse-bitset.js';
import type { UserUniverse } from './user-universe.js';

/** Users who may enter a catalog, by mode. */
export interface CatalogModes {
  all: Bitset;
  readOnly: Bitset;
}

/** The engine's answers for all users at once; `Evaluator` has the same for one user. */
export class EngineSets {
  readonly width: number;
  readonly everyWord: Uint32Array;
  readonly catalogs: RuleTrie;
  readonly schemas: RuleTrie;
  readonly tables: RuleTrie;
  readonly functions: RuleTrie;
  readonly procedures: RuleTrie;
  private readonly byUser = new Map<readonly object[], ReadonlyMap<number, number[]>>();

  /** All questions spend from the budget of `patterns`. */
  constructor(
    readonly rules: RulesDocument,
    readonly patterns: PatternCache,
    readonly people: UserUniverse,
  ) {
    this.width = (people.count + 31) >>> 5;
    this.everyWord = everyWord(this.width);
    this.catalogs = this.trie(rules.catalogs, ({ catalog }) => [catalog]);
    this.schemas = this.trie(rules.schemas, ({ catalog, schema }) => [catalog, schema]);
    this.tables = this.trie(rules.tables, ({ catalog, schema, table }) => [catalog, schema, table]);
    this.functions = this.trie(rules.functions, (rule) => [rule.catalog, rule.schema, rule.function]);
    this.procedures = this.trie(rules.procedures, (rule) => [rule.catalog, rule.schema, rule.procedure]);
    // Every pattern is read before a fresh name is asked for.
    for (const { property } of rules.system_session_properties) this.languages([property]);
    for (const { catalog, property } of rules.catalog_session_properties) this.languages([catalog, property]);
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
    return this.catalogBranches().flatMap((branch) => [...branch.names()]);
  }

  catalogBranches(): Branch[] {
    return [this.catalogs, this.schemas, this.tables].map((trie) => trie.branch([]));
  }

  /** Schemas of a catalog that rules spell out. */
  schemaNames(catalog: string): string[] {
    return this.schemaBranches(catalog).flatMap((branch) => [...branch.names()]);
  }

  schemaBranches(catalog: string): Branch[] {
    return [this.schemas, this.tables].map((trie) => trie.branch([catalog]));
  }

  modes(catalog: string): CatalogModes {
    const about = pick(this.rules.catalogs, this.catalogs.at([catalog]));
    // The engine adds a last rule to the section: all users, `system`, all.
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
      const users = this.people.matching(rule.user);
      this.spend(users.at.length + STEPS_PER_RULE);
      addNew(users, decided, null, gives(rule) ? given : null);
    }
    return given;
  }

  /** Indexes of rules by the users whom their pattern under `key` matches; those without one under `ANY_USER`. */
  rulesByUser<Rule extends object>(rules: readonly Rule[], key: keyof Rule & string): ReadonlyMap<number, number[]> {
    return getOrInsert(this.byUser, rules, () => {
      const byUser = new Map<number, number[]>();
      rules.forEach((rule, index) => {
        const pattern = patternOf(rule, key);
        const positions = pattern === undefined ? [ANY_USER] : sparseMembers(this.people.matching(pattern));
        this.spend(positions.length * STEPS_PER_NAMED);
        for (const position of positions) getOrInsert(byUser, position, () => []).push(index);
      });
      return byUser;
    });
  }

  private trie<Rule>(rules: readonly Rule[], path: (rule: Rule) => (string | undefined)[]): RuleTrie {
    const trie = new RuleTrie(this.patterns.budget);
    const paths = rules.map((rule) => this.languages(path(rule)));
    paths.forEach((languages, rule) => trie.add(rule, languages));
    return trie;
  }

  private languages(patterns: readonly (string | undefined)[]): PatternLanguage[] {
    return patterns.map((pattern) => this.patterns.language(pattern));
  }
}

export const STEPS_PER_RULE = 10;
const STEPS_PER_NAMED = 50;
/** Key of rules for all users. */
export const ANY_USER = -1;

export function pick<Rule>(rules: readonly Rule[], indexes: readonly number[]): Rule[] {
  return indexes.flatMap((index) => rules[index] ?? []);
}
