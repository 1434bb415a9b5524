import { READERS_FILTER, TABLE_PRIVILEGES, type TablePrivilege } from '../document/rules-document.js';
import type { AccessFact } from './access-fact.js';
import type { EngineSets } from './engine-sets.js';
import { INFORMATION_SCHEMA, type SchemaName, type TableName } from './evaluator.js';
import { addWord, type Bitset, BitsetPool, wordAt, WordMarks } from './sparse-bitset.js';
import { getOrInsert } from '../../kernel/collections.js';
import type { WorkBudget } from '../document/work-budget.js';

/** Access at one table on one side of a comparison. Returned sets are valid until the next question. */
export interface TableAccess {
  /** Users who may use a privilege. Only the active words are computed. */
  holders(privilege: TablePrivilege, active: Uint32Array): Bitset;
  readonly sets: Pick<AccessSets, 'filters' | 'hidden' | 'masks'>;
}

/** Access in one schema on one side of a comparison. */
export interface SchemaAccess {
  readonly owners: Bitset;
  /** Access at tables without an entry of their own. */
  readonly everywhere: TableAccess;
  /** Tables with an entry. */
  tables(): Iterable<string>;
  /** Marks the words of users with an entry at a table. All other users have the access of `everywhere`. */
  mark(table: string, marks: WordMarks): void;
  /** Access at one table, in the active words only. These include all marked ones. */
  at(table: string, active: Uint32Array): TableAccess;
}

/** Receives the differences: for findings of the proof, or changes between two documents. */
export interface ComparisonSink {
  /** Compares the active words of two sets of users, restricted to `among`. Null means no user; for `among`, all users. */
  compare(
    fact: () => AccessFact,
    active: Uint32Array,
    left: Bitset | null,
    right: Bitset | null,
    among?: Bitset | null,
  ): void;
  /** Users of one word whose restrictions are compared, given the users with access on the left and on the right. */
  restrictedAmong(left: number, right: number): number;
  /** Users of one word whose masks are compared for a column, given the users with restrictions and those from whom it is hidden. */
  maskedAmong(restricted: number, hidden: number): number;
  /** Called after tables without entries have been compared. @param reaching users with access on any side */
  comparedEverywhere?(reaching: Bitset): void;
  /** Called after one table has been compared. */
  comparedTable?(active: Uint32Array, reaching: Bitset): void;
}

/** Compares two sides in the schemas of a catalog, down to the table, the column and the filter. */
export class SchemaComparison {
  private readonly marks: WordMarks;
  /** Users with access to the table: on the left, on the right, on any side. */
  private readonly left: Bitset;
  private readonly right: Bitset;
  private readonly either: Bitset;
  private readonly restricted: Bitset;
  /** Users who read the table on both sides. */
  private readonly reading: Bitset;
  private readonly writing: Bitset;
  private readonly filtered: readonly [Bitset, Bitset];
  private readonly maskable: Bitset;

  constructor(
    private readonly engine: EngineSets,
    private readonly sink: ComparisonSink,
  ) {
    const { width } = engine;
    this.marks = new WordMarks(width);
    this.left = new Uint32Array(width);
    this.right = new Uint32Array(width);
    this.either = new Uint32Array(width);
    this.restricted = new Uint32Array(width);
    this.reading = new Uint32Array(width);
    this.writing = new Uint32Array(width);
    this.filtered = [new Uint32Array(width), new Uint32Array(width)];
    this.maskable = new Uint32Array(width);
  }

  /** @param unnamed further tables; with them all users are compared at every table, not only those with an entry there */
  compare(
    resource: SchemaName,
    left: SchemaAccess,
    right: SchemaAccess,
    unnamed: readonly string[] | null = null,
  ): void {
    const { engine, sink } = this;
    const { everyWord, fresh, width } = engine;
    engine.spend(STEPS_PER_SCHEMA + SETS_PER_SCHEMA * width);
    sink.compare(() => ({ about: 'schema-ownership', resource }), everyWord, left.owners, right.owners);
    // Readable with any mode of the catalog.
    const isAsked = resource.schema !== INFORMATION_SCHEMA;
    if (isAsked && unnamed === null) {
      this.compareTable({ ...resource, table: fresh }, left.everywhere, right.everywhere, everyWord);
      sink.comparedEverywhere?.(this.either);
    }
    for (const table of new Set([...left.tables(), ...right.tables(), ...(unnamed ?? [])])) {
      engine.spend(STEPS_PER_TABLE + width);
      left.mark(table, this.marks);
      right.mark(table, this.marks);
      const marked = this.marks.take();
      const active = unnamed === null ? marked : everyWord;
      const [onLeft, onRight] = [left.at(table, active), right.at(table, active)];
      if (!isAsked) continue;
      if (active.length > 0) this.compareTable({ ...resource, table }, onLeft, onRight, active);
      sink.comparedTable?.(active, this.either);
    }
  }

  private compareTable(resource: TableName, left: TableAccess, right: TableAccess, active: Uint32Array): void {
    this.engine.spend((TABLE_PRIVILEGES.length + setsOf(left) + setsOf(right)) * (active.length + STEPS_PER_SET));
    for (const index of active) this.left[index] = this.right[index] = 0;
    for (const privilege of TABLE_PRIVILEGES) {
      const [onLeft, onRight] = [left.holders(privilege, active), right.holders(privilege, active)];
      this.sink.compare(() => ({ about: 'privilege', resource, privilege }), active, onLeft, onRight);
      for (const index of active) {
        if (privilege === 'SELECT') this.reading[index] = wordAt(onLeft, index) & wordAt(onRight, index);
        this.left[index] = wordAt(this.left, index) | wordAt(onLeft, index);
        this.right[index] = wordAt(this.right, index) | wordAt(onRight, index);
      }
    }
    for (const index of active) {
      const [onLeft, onRight] = [wordAt(this.left, index), wordAt(this.right, index)];
      this.either[index] = onLeft | onRight;
      this.restricted[index] = this.sink.restrictedAmong(onLeft, onRight);
      this.reading[index] = wordAt(this.reading, index) & wordAt(this.restricted, index);
      this.writing[index] = wordAt(this.restricted, index) & ~wordAt(this.reading, index);
    }
    this.compareRestrictions(resource, left, right, active);
    this.compareProcedures(resource, left, right, active);
  }

  /** Users who read without any filter have table procedures. */
  private compareProcedures(resource: TableName, left: TableAccess, right: TableAccess, active: Uint32Array): void {
    const sides = [left.sets.filters, right.sets.filters];
    if (sides.every(({ size }) => size === 0)) return;
    const [onLeft, onRight] = this.filtered;
    for (const [i, filtered] of this.filtered.entries()) {
      for (const index of active) filtered[index] = 0;
      for (const words of sides[i]?.values() ?? [])
        for (const index of active) filtered[index] = wordAt(filtered, index) | wordAt(words, index);
    }
    const fact = () => ({ about: 'table-procedures', resource }) as const;
    // A filter on one side only means that the other side has table procedures.
    this.sink.compare(fact, active, onRight, onLeft, this.reading);
  }

  /** Compares filters by conjunct, so that an additional conjunct is only a loss. */
  private compareRestrictions(
    resource: TableName,
    { sets: left }: TableAccess,
    { sets: right }: TableAccess,
    active: Uint32Array,
  ): void {
    const compare = (fact: () => AccessFact, onLeft?: Bitset, onRight?: Bitset, among = this.restricted): void =>
      this.sink.compare(fact, active, onLeft ?? null, onRight ?? null, among);
    for (const expression of keysOf(left.filters, right.filters)) {
      const isOfReaders = expression === READERS_FILTER;
      const fact = () => ({ about: 'row-filter', resource, expression }) as const;
      // For users who read on both sides, `compareProcedures` compares the filter of readers.
      const among = isOfReaders ? this.writing : this.restricted;
      compare(fact, left.filters.get(expression), right.filters.get(expression), among);
    }
    for (const column of keysOf(left.hidden, right.hidden)) {
      const fact = () => ({ about: 'hidden-column', resource, column }) as const;
      compare(fact, left.hidden.get(column), right.hidden.get(column));
    }
    for (const column of keysOf(left.masks, right.masks)) {
      const [onLeft, onRight] = [left.masks.get(column), right.masks.get(column)];
      const among = this.masked(active, left.hidden.get(column), right.hidden.get(column));
      for (const expression of keysOf(onLeft, onRight)) {
        const fact = () => ({ about: 'column-mask', resource, column, expression }) as const;
        compare(fact, onLeft?.get(expression), onRight?.get(expression), among);
      }
    }
  }

  private masked(active: Uint32Array, onLeft: Bitset | undefined, onRight: Bitset | undefined): Bitset {
    for (const index of active) {
      const hidden = (onLeft?.[index] ?? 0) | (onRight?.[index] ?? 0);
      this.maskable[index] = this.sink.maskedAmong(wordAt(this.restricted, index), hidden);
    }
    return this.maskable;
  }
}

const STEPS_PER_SCHEMA = 500;
const SETS_PER_SCHEMA = 40;
const STEPS_PER_TABLE = 200;
const STEPS_PER_SET = 100;

function setsOf({ sets: { filters, hidden, masks } }: TableAccess): number {
  return [...masks.values()].reduce((sum, { size }) => sum + size, filters.size + hidden.size);
}

function keysOf(a: ReadonlyMap<string, unknown> = NONE, b: ReadonlyMap<string, unknown> = NONE): Iterable<string> {
  if (a.size === 0 || b.size === 0) return (a.size === 0 ? b : a).keys();
  return new Set([...a.keys(), ...b.keys()]);
}

const NONE: ReadonlyMap<string, unknown> = new Map();

/** Access at one table as sets of users, by the rules or by the grants. */
export class AccessSets {
  readonly given: Readonly<Record<TablePrivilege, Bitset>>;
  /** Users by conjunct of their filters, an expression in parentheses. The order of conjuncts does not matter. */
  readonly filters = new Map<string, Bitset>();
  readonly hidden = new Map<string, Bitset>();
  readonly masks = new Map<string, Map<string, Bitset>>();
  private readonly empty: BitsetPool;

  /** @param budget is charged for each new set */
  constructor(
    private readonly width: number,
    private readonly budget: WorkBudget | null,
  ) {
    this.empty = new BitsetPool(width);
    const set = (): Bitset => new Uint32Array(width);
    this.given = { SELECT: set(), INSERT: set(), DELETE: set(), UPDATE: set(), OWNERSHIP: set(), GRANT_SELECT: set() };
  }

  filteredBy(conjunct: string): Bitset {
    return getOrInsert(this.filters, conjunct, () => this.newSet());
  }

  hiddenFrom(column: string): Bitset {
    return getOrInsert(this.hidden, column, () => this.newSet());
  }

  maskedBy(column: string, expression: string): Bitset {
    const masks = getOrInsert(this.masks, column, () => new Map<string, Bitset>());
    return getOrInsert(masks, expression, () => this.newSet());
  }

  /** Copies the active words of the access in `wider`, for all users except `but`. */
  inherit(wider: AccessSets, active: Uint32Array, but: Bitset): void {
    const takeOver = (into: Bitset, from: Bitset): void => {
      for (const index of active) addWord(into, index, wordAt(from, index) & ~wordAt(but, index));
    };
    for (const privilege of TABLE_PRIVILEGES) takeOver(this.given[privilege], wider.given[privilege]);
    for (const [conjunct, words] of wider.filters) takeOver(this.filteredBy(conjunct), words);
    for (const [column, words] of wider.hidden) takeOver(this.hiddenFrom(column), words);
    for (const [column, byText] of wider.masks)
      for (const [expression, words] of byText) takeOver(this.maskedBy(column, expression), words);
  }

  /** Empties the sets, of which only the active words have been written. */
  clear(active: Uint32Array): void {
    for (const words of Object.values(this.given)) for (const index of active) words[index] = 0;
    this.filters.clear();
    this.hidden.clear();
    this.masks.clear();
  }

  private newSet(): Bitset {
    this.budget?.spend(STEPS_PER_NEW_SET + this.width);
    return this.empty.take();
  }
}

const STEPS_PER_NEW_SET = 100;
