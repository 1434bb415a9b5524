import type { NameSpace } from '../rules/name-space.js';
import type { People } from './people.js';
import { addWord, everyWord, wordAt, type PeopleSet, type Words } from './people-set.js';
import { RuleTrie } from './rule-trie.js';
import type { RulesDocument } from '../rules/rules-document.js';

/** Who may enter a catalog, and how far. */
export interface CatalogModes {
  all: Words;
  readOnly: Words;
}

/** The engine's answers to everybody at once. `Evaluator` says the same, one person at a time. */
export class EngineSets {
  readonly width: number;
  readonly everyWord: Uint32Array;
  readonly catalogs = new RuleTrie();
  readonly schemas = new RuleTrie();
  readonly tables = new RuleTrie();
  readonly functions = new RuleTrie();
  readonly procedures = new RuleTrie();

  constructor(
    readonly rules: RulesDocument,
    readonly space: NameSpace,
    readonly people: People,
  ) {
    this.width = (people.count + 31) >>> 5;
    this.everyWord = everyWord(this.width);
    const meaning = (pattern: string | undefined) => space.meaning(pattern);
    rules.catalogs.forEach((rule, i) => this.catalogs.add(i, [meaning(rule.catalog)]));
    rules.schemas.forEach((rule, i) => this.schemas.add(i, [meaning(rule.catalog), meaning(rule.schema)]));
    rules.tables.forEach((rule, i) => {
      this.tables.add(i, [meaning(rule.catalog), meaning(rule.schema), meaning(rule.table)]);
    });
    rules.functions.forEach((rule, i) => {
      this.functions.add(i, [meaning(rule.catalog), meaning(rule.schema), meaning(rule.function)]);
    });
    rules.procedures.forEach((rule, i) => {
      this.procedures.add(i, [meaning(rule.catalog), meaning(rule.schema), meaning(rule.procedure)]);
    });
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

  schemaOwners(catalog: string, schema: string, modes: CatalogModes): Words {
    const owners = this.first(pick(this.rules.schemas, this.schemas.at([catalog, schema])), ({ owner }) => owner);
    for (const index of this.everyWord) owners[index] = wordAt(owners, index) & wordAt(modes.all, index);
    return owners;
  }

  /** Those for whom the first of these rules that matches gives something. */
  first<Rule extends { user?: string | undefined }>(about: readonly Rule[], gives: (rule: Rule) => boolean): Words {
    const decided = new Uint32Array(this.width);
    const given = new Uint32Array(this.width);
    for (const rule of about) {
      const { at, words } = this.usersOf(rule.user);
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

  usersOf(pattern: string | undefined): PeopleSet {
    return this.people.meantBy(pattern);
  }
}

function pick<Rule>(rules: readonly Rule[], indexes: readonly number[]): Rule[] {
  return indexes.flatMap((index) => rules[index] ?? []);
}
