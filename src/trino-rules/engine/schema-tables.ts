import { READERS_FILTER, type RulesDocument, type TablePrivilege, type TableRule } from '../document/rules-document.js';
import { type UsersByCatalogMode, type EngineSets, COST_PER_RULE } from './engine-sets.js';
import type { Branch } from './rule-trie.js';
import { AccessSets, type SchemaAccess, type TableAccess } from './schema-comparison.js';
import {
  addNewMembers,
  addSparseSet,
  type Bitset,
  type SparseBitset,
  wordAt,
  type WordMarks,
} from './sparse-bitset.js';
import { getOrInsert } from '../../kernel/collections.js';
import type { WorkBudget } from '../document/work-budget.js';
import { expressionProblem } from '../model/sql-expression.js';

/**
 * The access that rules give at the tables of one schema. `unnamedTables` is the access by the rules for all tables, computed once. At a named
 * table, access is computed only for users with a rule or a grant for this table; all other users have the access of `unnamedTables`.
 */
export class SchemaTables implements SchemaAccess {
  readonly owners: Bitset;
  readonly unnamedTables: ActualAccess;
  readonly schemaBranch: Branch;
  private readonly decidedByRuleCount = new Map<number, Bitset>();
  private readonly tableAccess: ActualAccess;
  private wordsToClear: Uint32Array = NO_WORDS;

  /** @param modes users who may enter the catalog @param tableModes users who may use the catalog's tables */
  constructor(
    private readonly engine: EngineSets,
    catalog: string,
    schema: string,
    modes: UsersByCatalogMode,
    tableModes = modes,
  ) {
    this.owners = engine.schemaOwners(catalog, schema, modes);
    this.schemaBranch = engine.tables.branch([catalog, schema]);
    const { budget } = engine.patterns;
    this.unnamedTables = new ActualAccess(engine.wordCount, budget, tableModes);
    for (const { rule, people } of this.rulesAtIndexes(this.schemaBranch.rulesForAnyName))
      this.unnamedTables.applyRule(rule, people, null);
    this.tableAccess = new ActualAccess(engine.wordCount, budget, tableModes);
  }

  namedTables(): Set<string> {
    return this.schemaBranch.names();
  }

  markWords(table: string, marks: WordMarks): void {
    for (const { people } of this.rulesAtIndexes(this.schemaBranch.rulesOnlyFor(table))) marks.add(people);
  }

  /** Access at one table, only for the users of the bit set words that `activeWords` lists. The next call overwrites the result. */
  accessAt(table: string, activeWords: Uint32Array): ActualAccess {
    this.tableAccess.clear(this.wordsToClear);
    this.wordsToClear = activeWords;
    for (const { index, rule, people } of this.rulesAtIndexes(this.schemaBranch.rulesOnlyFor(table))) {
      this.tableAccess.applyRule(rule, people, this.usersDecidedBefore(index));
    }
    this.tableAccess.userSets.inherit(this.unnamedTables.userSets, activeWords, this.tableAccess.decidedUsers);
    return this.tableAccess;
  }

  private rulesAtIndexes(ruleIndexes: readonly number[]): { index: number; rule: TableRule; people: SparseBitset }[] {
    return ruleIndexes.flatMap((index) => {
      const rule = this.engine.rules.tables[index];
      if (rule === undefined) return [];
      const people = this.engine.universe.usersMatching(rule.user);
      const userSetCount = rule.privileges.length + (rule.columns?.length ?? 0) + (rule.filter === undefined ? 0 : 1);
      this.engine.spend(COST_PER_RULE + (userSetCount + 1) * people.wordIndexes.length);
      return [{ index, rule, people }];
    });
  }

  /** Users matched by a rule that is for all tables of the schema and comes before the rule at `index`. */
  private usersDecidedBefore(index: number): Bitset {
    const earlierRules = this.schemaBranch.rulesForAnyName.filter((each) => each < index);
    return getOrInsert(this.decidedByRuleCount, earlierRules.length, () => {
      const decidedUsers = new Uint32Array(this.engine.wordCount);
      for (const { people } of this.rulesAtIndexes(earlierRules)) addSparseSet(decidedUsers, people);
      return decidedUsers;
    });
  }
}

const NO_WORDS = new Uint32Array(0);

/** Access at one table by the first rule that matches each user. */
export class ActualAccess implements TableAccess {
  readonly decidedUsers: Bitset;
  readonly userSets: AccessSets;
  private readonly effectiveHolders: Bitset;

  constructor(
    wordCount: number,
    budget: WorkBudget,
    private readonly modes: UsersByCatalogMode,
  ) {
    this.userSets = new AccessSets(wordCount, budget);
    this.decidedUsers = new Uint32Array(wordCount);
    this.effectiveHolders = new Uint32Array(wordCount);
  }

  /** Applies a rule to its users, except those whom an earlier rule has matched and those in `excludedUsers`. */
  applyRule(rule: TableRule, people: SparseBitset, excludedUsers: Bitset | null): void {
    const newUsers = addNewMembers(people, this.decidedUsers, excludedUsers);
    if (newUsers === null) return;
    for (const privilege of rule.privileges) addSparseSet(this.userSets.usersByPrivilege[privilege], newUsers);
    for (const conjunct of rule.filter === undefined ? [] : conjuncts(rule.filter))
      addSparseSet(this.userSets.usersWithFilter(conjunct), newUsers);
    for (const { name, allow, mask } of rule.columns ?? []) {
      if (allow === false) addSparseSet(this.userSets.usersWithHiddenColumn(name), newUsers);
      // The engine applies the mask of a column even if the column is hidden.
      if (mask !== undefined) addSparseSet(this.userSets.usersWithMask(name, mask), newUsers);
    }
  }

  /** Users with a privilege (GRANT_SELECT includes SELECT) and the catalog mode `all`. For SELECT, `read-only` is enough. The next call overwrites the result. */
  holders(privilege: TablePrivilege, activeWords: Uint32Array): Bitset {
    const { usersByPrivilege } = this.userSets;
    const { all, readOnly } = this.modes;
    for (const index of activeWords) {
      this.effectiveHolders[index] =
        privilege === 'SELECT'
          ? (wordAt(usersByPrivilege.SELECT, index) | wordAt(usersByPrivilege.GRANT_SELECT, index)) &
            (wordAt(all, index) | wordAt(readOnly, index))
          : wordAt(usersByPrivilege[privilege], index) & wordAt(all, index);
    }
    return this.effectiveHolders;
  }

  /** Empties the sets. @param activeWords indexes of all words (of 32 users each) that were written */
  clear(activeWords: Uint32Array): void {
    for (const index of activeWords) this.decidedUsers[index] = 0;
    this.userSets.clear(activeWords);
  }
}

/** Splits a row filter that the compiler joined, `(a) AND (b)`, into `(a)` and `(b)`. Any other text is one part. */
export function conjuncts(filter: string): string[] {
  const conjunctTexts: string[] = [];
  let conjunctStart = 0;
  let depth = 0;
  let quote = '';
  for (let index = 0; index < filter.length; index++) {
    const character = filter.charAt(index);
    if (quote !== '') {
      if (character === quote) quote = '';
      continue;
    }
    if (character === "'" || character === '"') quote = character;
    if (character === '(') depth++;
    if (character === ')') depth--;
    if (depth > 0) continue;
    // Outside of parentheses only the operator between two conjuncts is valid. A filter with any other text is not split.
    if (character !== ')') return [filter];
    conjunctTexts.push(filter.slice(conjunctStart, index + 1));
    if (index + 1 === filter.length) return conjunctTexts;
    if (!filter.startsWith(AND_OPERATOR, index + 1)) return [filter];
    conjunctStart = index + 1 + AND_OPERATOR.length;
    index = conjunctStart - 1;
  }
  return [filter];
}

const AND_OPERATOR = ' AND ';

/** Removes the parentheses that the compiler writes around each filter: `(a)` becomes `a`. */
export function withoutParentheses(conjunct: string): string {
  const innerText = conjunct.slice(1, -1);
  const isWrapped = conjunct.startsWith('(') && conjunct.endsWith(')') && expressionProblem(innerText) === null;
  return isWrapped ? innerText : conjunct;
}

/** Writes parentheses around each conjunct of the row filters, so that equal conjuncts of two documents are equal texts. */
export function withComparableFilters(document: RulesDocument): RulesDocument {
  const tables = document.tables.map((rule) => {
    // READERS_FILTER, which the compiler adds for users who only read, restricts no rows.
    if (rule.filter === undefined || rule.filter === READERS_FILTER) return rule;
    const conditions = conjuncts(rule.filter).map((conjunct) => `(${withoutParentheses(conjunct)})`);
    return { ...rule, filter: conditions.join(AND_OPERATOR) };
  });
  return { ...document, tables };
}
