import { READERS_FILTER, TABLE_PRIVILEGES, type TablePrivilege } from '../document/rules-document.js';
import type { AccessFact } from './access-fact.js';
import type { EngineSets } from './engine-sets.js';
import { INFORMATION_SCHEMA, type SchemaName, type TableName } from './evaluator.js';
import { addWord, type Bitset, wordAt, WordMarks } from './sparse-bitset.js';
import { getOrInsert } from '../../kernel/collections.js';
import type { WorkBudget } from '../document/work-budget.js';

/** Access at one table on one side of a comparison. A set that `holders` returns is valid only until the next call of `holders`. */
export interface TableAccess {
  /** Users who may use a privilege. Only words of the bit set whose indexes are in `activeWords` are computed. */
  holders(privilege: TablePrivilege, activeWords: Uint32Array): Bitset;
  readonly userSets: Pick<AccessSets, 'filters' | 'hiddenColumns' | 'masks'>;
}

/** Access in one schema on one side of a comparison. */
export interface SchemaAccess {
  readonly owners: Bitset;
  /** Access at tables that no grant, policy or rule names. */
  readonly unnamedTables: TableAccess;
  namedTables(): Iterable<string>;
  /** Marks the bit-set words (32 users each) in which a user may have other access than at `unnamedTables`. */
  markWords(table: string, marks: WordMarks): void;
  /** Access at one table. @param activeWords indexes of the bit-set words to compute. They must include all marked words */
  accessAt(table: string, activeWords: Uint32Array): TableAccess;
}

/** Receives the sets to compare and reports their differences: as findings of the proof, or as changes between two documents. */
export interface ComparisonSink {
  /** Compares two sets of users; null is an empty set. @param activeWords indexes of the words (32 users each) to compare @param comparedUsers null: all users */
  compare(
    fact: () => AccessFact,
    activeWords: Uint32Array,
    leftUsers: Bitset | null,
    rightUsers: Bitset | null,
    comparedUsers?: Bitset | null,
  ): void;
  /** Chooses users whose restrictions are compared. @param left 32-bit word of the set of users with access on the left @param right the same on the right */
  usersToCompare(left: number, right: number): number;
  /** Chooses users whose masks on a column are compared. @param restrictedWord the result of `usersToCompare` @param hiddenWord users who do not see the column */
  maskUsersToCompare(restrictedWord: number, hiddenWord: number): number;
  /** Called after the unnamed tables (named in no grant, policy or rule) were compared. @param reachingUsers users with access on at least one side */
  endUnnamedTables?(reachingUsers: Bitset): void;
  /** Called when one named table has been compared. @param reachingUsers users with access on at least one side */
  endTable?(activeWords: Uint32Array, reachingUsers: Bitset): void;
}

/** Compares the access on two sides in the schemas of a catalog: tables, columns, filters and masks. */
export class SchemaComparison {
  private readonly marks: WordMarks;
  /** Users with access to the current table: on the left side, on the right side, and on either side. */
  private readonly leftUsers: Bitset;
  private readonly rightUsers: Bitset;
  private readonly allUsers: Bitset;
  private readonly comparedUsers: Bitset;
  /** Those of `comparedUsers` who can read the table on both sides. `otherUsers`: the rest of `comparedUsers`. */
  private readonly commonReaders: Bitset;
  private readonly otherUsers: Bitset;
  private readonly filteredUsers: readonly [Bitset, Bitset];
  private readonly maskUsers: Bitset;

  constructor(
    private readonly engine: Pick<EngineSets, 'wordCount' | 'everyWordIndex' | 'freshName' | 'spend'>,
    private readonly sink: ComparisonSink,
  ) {
    const { wordCount } = engine;
    this.marks = new WordMarks(wordCount);
    this.leftUsers = new Uint32Array(wordCount);
    this.rightUsers = new Uint32Array(wordCount);
    this.allUsers = new Uint32Array(wordCount);
    this.comparedUsers = new Uint32Array(wordCount);
    this.commonReaders = new Uint32Array(wordCount);
    this.otherUsers = new Uint32Array(wordCount);
    this.filteredUsers = [new Uint32Array(wordCount), new Uint32Array(wordCount)];
    this.maskUsers = new Uint32Array(wordCount);
  }

  /** Compares the named tables, and one made-up table for all others. @param extraTableNames further tables to compare; the made-up table is then left out */
  compare(
    resource: SchemaName,
    left: SchemaAccess,
    right: SchemaAccess,
    extraTableNames: readonly string[] | null = null,
  ): void {
    const { engine, sink } = this;
    const { everyWordIndex, freshName, wordCount } = engine;
    engine.spend(COST_PER_SCHEMA + SETS_PER_SCHEMA * wordCount);
    sink.compare(() => ({ about: 'schema-ownership', resource }), everyWordIndex, left.owners, right.owners);
    const hasTableRules = resource.schema !== INFORMATION_SCHEMA;
    if (hasTableRules && extraTableNames === null) {
      this.compareTable({ ...resource, table: freshName }, left.unnamedTables, right.unnamedTables, everyWordIndex);
      sink.endUnnamedTables?.(this.allUsers);
    }
    for (const table of new Set([...left.namedTables(), ...right.namedTables(), ...(extraTableNames ?? [])])) {
      engine.spend(COST_PER_TABLE + wordCount);
      left.markWords(table, this.marks);
      right.markWords(table, this.marks);
      const markedWords = this.marks.takeIndexes();
      const activeWords = extraTableNames === null ? markedWords : everyWordIndex;
      const [leftTable, rightTable] = [left.accessAt(table, activeWords), right.accessAt(table, activeWords)];
      if (!hasTableRules) continue;
      if (activeWords.length > 0) this.compareTable({ ...resource, table }, leftTable, rightTable, activeWords);
      sink.endTable?.(activeWords, this.allUsers);
    }
  }

  private compareTable(resource: TableName, left: TableAccess, right: TableAccess, activeWords: Uint32Array): void {
    const comparedSetCount = TABLE_PRIVILEGES.length + setCount(left) + setCount(right);
    this.engine.spend(comparedSetCount * (activeWords.length + COST_PER_SET));
    for (const index of activeWords) this.leftUsers[index] = this.rightUsers[index] = 0;
    for (const privilege of TABLE_PRIVILEGES) {
      const [leftHolders, rightHolders] = [left.holders(privilege, activeWords), right.holders(privilege, activeWords)];
      this.sink.compare(() => ({ about: 'privilege', resource, privilege }), activeWords, leftHolders, rightHolders);
      for (const index of activeWords) {
        const [leftWord, rightWord] = [wordAt(leftHolders, index), wordAt(rightHolders, index)];
        if (privilege === 'SELECT') this.commonReaders[index] = leftWord & rightWord;
        addWord(this.leftUsers, index, leftWord);
        addWord(this.rightUsers, index, rightWord);
      }
    }
    for (const index of activeWords) {
      const [leftWord, rightWord] = [wordAt(this.leftUsers, index), wordAt(this.rightUsers, index)];
      this.allUsers[index] = leftWord | rightWord;
      this.comparedUsers[index] = this.sink.usersToCompare(leftWord, rightWord);
      this.commonReaders[index] = wordAt(this.commonReaders, index) & wordAt(this.comparedUsers, index);
      this.otherUsers[index] = wordAt(this.comparedUsers, index) & ~wordAt(this.commonReaders, index);
    }
    this.compareRestrictions(resource, left, right, activeWords);
    this.compareProcedures(resource, [left.userSets.filters, right.userSets.filters], activeWords);
  }

  /** Compares table procedures: users who read without any filter may run them. */
  private compareProcedures(resource: TableName, sides: AccessSets['filters'][], activeWords: Uint32Array): void {
    if (sides.every(({ size }) => size === 0)) return;
    const [leftFiltered, rightFiltered] = this.filteredUsers;
    for (const [i, filteredSet] of this.filteredUsers.entries()) {
      for (const index of activeWords) filteredSet[index] = 0;
      for (const words of sides[i]?.values() ?? [])
        for (const index of activeWords) filteredSet[index] = wordAt(filteredSet, index) | wordAt(words, index);
    }
    const fact = () => ({ about: 'table-procedures', resource }) as const;
    // Filtered users may not run table procedures. So the sides are swapped.
    this.sink.compare(fact, activeWords, rightFiltered, leftFiltered, this.commonReaders);
  }

  /** Compares filters, hidden columns and masks. A filter is compared by its conditions, so that an added condition is the only difference. */
  private compareRestrictions(
    resource: TableName,
    { userSets: left }: TableAccess,
    { userSets: right }: TableAccess,
    activeWords: Uint32Array,
  ): void {
    const compare = (fact: () => AccessFact, leftSet?: Bitset, rightSet?: Bitset, users = this.comparedUsers): void =>
      this.sink.compare(fact, activeWords, leftSet ?? null, rightSet ?? null, users);
    for (const expression of keysOf(left.filters, right.filters)) {
      const isReadersFilter = expression === READERS_FILTER;
      const fact = () => ({ about: 'row-filter', resource, expression }) as const;
      // For users who read on both sides, `compareProcedures` compares what `READERS_FILTER` denies: table procedures.
      const comparedUsers = isReadersFilter ? this.otherUsers : this.comparedUsers;
      compare(fact, left.filters.get(expression), right.filters.get(expression), comparedUsers);
    }
    for (const column of keysOf(left.hiddenColumns, right.hiddenColumns)) {
      const fact = () => ({ about: 'hidden-column', resource, column }) as const;
      compare(fact, left.hiddenColumns.get(column), right.hiddenColumns.get(column));
    }
    for (const column of keysOf(left.masks, right.masks)) {
      const [leftMasks, rightMasks] = [left.masks.get(column), right.masks.get(column)];
      const hiddenSets = [left.hiddenColumns.get(column), right.hiddenColumns.get(column)];
      const comparedUsers = this.computeMaskUsers(activeWords, hiddenSets);
      for (const expression of keysOf(leftMasks, rightMasks)) {
        const fact = () => ({ about: 'column-mask', resource, column, expression }) as const;
        compare(fact, leftMasks?.get(expression), rightMasks?.get(expression), comparedUsers);
      }
    }
  }

  private computeMaskUsers(activeWords: Uint32Array, [leftSet, rightSet]: readonly (Bitset | undefined)[]): Bitset {
    for (const index of activeWords) {
      const hiddenWord = (leftSet?.[index] ?? 0) | (rightSet?.[index] ?? 0);
      this.maskUsers[index] = this.sink.maskUsersToCompare(wordAt(this.comparedUsers, index), hiddenWord);
    }
    return this.maskUsers;
  }
}

const COST_PER_SCHEMA = 500;
const SETS_PER_SCHEMA = 40;
const COST_PER_TABLE = 200;
const COST_PER_SET = 100;

function setCount({ userSets: { filters, hiddenColumns, masks } }: TableAccess): number {
  return [...masks.values()].reduce((sum, { size }) => sum + size, filters.size + hiddenColumns.size);
}

function keysOf(
  a: ReadonlyMap<string, unknown> = EMPTY_MAP,
  b: ReadonlyMap<string, unknown> = EMPTY_MAP,
): Iterable<string> {
  if (a.size === 0 || b.size === 0) return (a.size === 0 ? b : a).keys();
  return new Set([...a.keys(), ...b.keys()]);
}

const EMPTY_MAP: ReadonlyMap<string, unknown> = new Map();

/** Access at one table as sets of users, from rules or from grants. */
export class AccessSets {
  readonly usersByPrivilege: Readonly<Record<TablePrivilege, Bitset>>;
  /** Users by filter condition, such as `(region = 'eu')`. A user with several filters is in the set of each condition. */
  readonly filters = new Map<string, Bitset>();
  readonly hiddenColumns = new Map<string, Bitset>();
  readonly masks = new Map<string, Map<string, Bitset>>();

  /** @param budget is charged for each new set */
  constructor(
    private readonly wordCount: number,
    private readonly budget: WorkBudget | null,
  ) {
    const createSet = (): Bitset => new Uint32Array(wordCount);
    this.usersByPrivilege = {
      ...{ SELECT: createSet(), INSERT: createSet(), DELETE: createSet() },
      ...{ UPDATE: createSet(), OWNERSHIP: createSet(), GRANT_SELECT: createSet() },
    };
  }

  usersWithFilter(conjunct: string): Bitset {
    return getOrInsert(this.filters, conjunct, () => this.newUserSet());
  }

  usersWithHiddenColumn(column: string): Bitset {
    return getOrInsert(this.hiddenColumns, column, () => this.newUserSet());
  }

  usersWithMask(column: string, expression: string): Bitset {
    const masks = getOrInsert(this.masks, column, () => new Map<string, Bitset>());
    return getOrInsert(masks, expression, () => this.newUserSet());
  }

  /** Adds the access in `widerAccess`, except for `excludedUsers`. @param activeWords the indexes of the words to copy */
  inherit(widerAccess: AccessSets, activeWords: Uint32Array, excludedUsers: Bitset): void {
    const copyWords = (target: Bitset, source: Bitset): void => {
      for (const index of activeWords) addWord(target, index, wordAt(source, index) & ~wordAt(excludedUsers, index));
    };
    for (const privilege of TABLE_PRIVILEGES)
      copyWords(this.usersByPrivilege[privilege], widerAccess.usersByPrivilege[privilege]);
    for (const [conjunct, words] of widerAccess.filters) copyWords(this.usersWithFilter(conjunct), words);
    for (const [column, words] of widerAccess.hiddenColumns) copyWords(this.usersWithHiddenColumn(column), words);
    for (const [column, masksOfColumn] of widerAccess.masks)
      for (const [expression, words] of masksOfColumn) copyWords(this.usersWithMask(column, expression), words);
  }

  /** Empties the sets. @param activeWords indexes of the words (of 32 users each) in which the sets have users */
  clear(activeWords: Uint32Array): void {
    for (const words of Object.values(this.usersByPrivilege)) for (const index of activeWords) words[index] = 0;
    this.filters.clear();
    this.hiddenColumns.clear();
    this.masks.clear();
  }

  private newUserSet(): Bitset {
    this.budget?.spend(COST_PER_NEW_SET + this.wordCount);
    return new Uint32Array(this.wordCount);
  }
}

const COST_PER_NEW_SET = 100;
