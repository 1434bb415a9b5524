import { getOrInsert } from '../../kernel/collections.js';
import type { PatternCache, PatternLanguage } from '../document/pattern-cache.js';
import { patternOf, type RulesDocument } from '../document/rules-document.js';
import { RuleTrie, type Branch } from './rule-trie.js';
import { addNewMembers, addSparseSet, allWordIndexes, sparseMembers, wordAt, type Bitset } from './sparse-bitset.js';
import type { UserUniverse } from './user-universe.js';

/** Users with access to a catalog, by the `allow` of the catalog rule. */
export interface UsersByCatalogMode {
  all: Bitset;
  readOnly: Bitset;
}

/** The engine's answers for all users at once. `Evaluator` gives the same answers for one user. */
export class EngineSets {
  readonly wordCount: number;
  readonly everyWordIndex: Uint32Array;
  readonly catalogs: RuleTrie;
  readonly schemas: RuleTrie;
  readonly tables: RuleTrie;
  readonly functions: RuleTrie;
  readonly procedures: RuleTrie;
  private readonly rulesByUserCache = new Map<readonly object[], ReadonlyMap<number, number[]>>();

  /** @param patterns the cache of patterns. Its budget limits the work for all questions to the engine. */
  constructor(
    readonly rules: RulesDocument,
    readonly patterns: PatternCache,
    readonly universe: UserUniverse,
  ) {
    this.wordCount = (universe.count + 31) >>> 5;
    this.everyWordIndex = allWordIndexes(this.wordCount);
    this.catalogs = this.buildTrie(rules.catalogs, ({ catalog }) => [catalog]);
    this.schemas = this.buildTrie(rules.schemas, ({ catalog, schema }) => [catalog, schema]);
    this.tables = this.buildTrie(rules.tables, ({ catalog, schema, table }) => [catalog, schema, table]);
    this.functions = this.buildTrie(rules.functions, (rule) => [rule.catalog, rule.schema, rule.function]);
    this.procedures = this.buildTrie(rules.procedures, (rule) => [rule.catalog, rule.schema, rule.procedure]);
    // All patterns must be read before `freshName` is called, so that it returns a name that no pattern spells out.
    for (const { property } of rules.system_session_properties) this.languages([property]);
    for (const { catalog, property } of rules.catalog_session_properties) this.languages([catalog, property]);
  }

  /** An invented name, different from all names in the rules and in the snapshot. */
  get freshName(): string {
    return this.patterns.freshName();
  }

  spend(steps: number): void {
    this.patterns.budget.spend(steps);
  }

  catalogNames(): string[] {
    return this.catalogBranches().flatMap((branch) => [...branch.names()]);
  }

  catalogBranches(): Branch[] {
    return [this.catalogs, this.schemas, this.tables].map((trie) => trie.branch([]));
  }

  schemaNames(catalog: string): string[] {
    return this.schemaBranches(catalog).flatMap((branch) => [...branch.names()]);
  }

  schemaBranches(catalog: string): Branch[] {
    return [this.schemas, this.tables].map((trie) => trie.branch([catalog]));
  }

  usersByMode(catalog: string): UsersByCatalogMode {
    const catalogRules = rulesAt(this.rules.catalogs, this.catalogs.rulesMatching([catalog]));
    // The engine adds a last catalog rule that gives all users the mode `all` in `system`.
    if (catalog === 'system') catalogRules.push({ allow: 'all' });
    return {
      all: this.usersAllowedByFirstMatch(catalogRules, ({ allow }) => allow === 'all'),
      readOnly: this.usersAllowedByFirstMatch(catalogRules, ({ allow }) => allow === 'read-only'),
    };
  }

  schemaOwners(catalog: string, schema: string, modes: UsersByCatalogMode): Bitset {
    const owners = this.usersAllowedByFirstMatch(
      rulesAt(this.rules.schemas, this.schemas.rulesMatching([catalog, schema])),
      ({ owner }) => owner,
    );
    for (const index of this.everyWordIndex) owners[index] = wordAt(owners, index) & wordAt(modes.all, index);
    return owners;
  }

  /** Users whose first matching rule allows access, according to `isAllowing`. */
  usersAllowedByFirstMatch<Rule extends { user?: string | undefined }>(
    rules: readonly Rule[],
    isAllowing: (rule: Rule) => boolean,
  ): Bitset {
    const decidedUsers = new Uint32Array(this.wordCount);
    const allowedUsers = new Uint32Array(this.wordCount);
    this.spend(this.wordCount);
    for (const rule of rules) {
      const users = this.universe.usersMatching(rule.user);
      this.spend(users.wordIndexes.length + COST_PER_RULE);
      const newUsers = addNewMembers(users, decidedUsers);
      if (newUsers !== null && isAllowing(rule)) addSparseSet(allowedUsers, newUsers);
    }
    return allowedUsers;
  }

  /** For each user, indexes of the rules whose pattern under `key` matches the user. Rules without that pattern are under `ANY_USER`. */
  rulesByUser<Rule extends object>(rules: readonly Rule[], key: keyof Rule & string): ReadonlyMap<number, number[]> {
    return getOrInsert(this.rulesByUserCache, rules, () => {
      const indexesByUser = new Map<number, number[]>();
      rules.forEach((rule, index) => {
        const pattern = patternOf(rule, key);
        const userPositions = pattern === undefined ? [ANY_USER] : sparseMembers(this.universe.usersMatching(pattern));
        this.spend(userPositions.length * COST_PER_NAMED_USER);
        for (const position of userPositions) getOrInsert(indexesByUser, position, () => []).push(index);
      });
      return indexesByUser;
    });
  }

  private buildTrie<Rule>(rules: readonly Rule[], patternPathOf: (rule: Rule) => (string | undefined)[]): RuleTrie {
    const trie = new RuleTrie(this.patterns.budget);
    const paths = rules.map((rule) => this.languages(patternPathOf(rule)));
    paths.forEach((languages, ruleIndex) => trie.add(ruleIndex, languages));
    return trie;
  }

  private languages(patterns: readonly (string | undefined)[]): PatternLanguage[] {
    return patterns.map((pattern) => this.patterns.language(pattern));
  }
}

export const COST_PER_RULE = 10;
const COST_PER_NAMED_USER = 50;
/** The key in `rulesByUser` under which rules for all users are. */
export const ANY_USER = -1;

export function rulesAt<Rule>(rules: readonly Rule[], indexes: readonly number[]): Rule[] {
  return indexes.flatMap((index) => rules[index] ?? []);
}
