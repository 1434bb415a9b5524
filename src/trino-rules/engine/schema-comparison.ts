import { READERS_FILTER, TABLE_PRIVILEGES, type TablePrivilege } from '../document/rules-document.js';
import type { AccessFact } from './access-fact.js';
import type { AccessSets } from './access-sets.js';
import type { EngineSets } from './engine-sets.js';
import { INFORMATION_SCHEMA, type SchemaName, type TableName } from './evaluator.js';
import { wordAt, WordMarks, type Bitset } from './sparse-bitset.js';

/** Access at one table on one side of a comparison. Its sets are valid until the next question. */
export interface TableAccess {
  /** Users who may use the privilege, at the active words. */
  holders(privilege: TablePrivilege, active: Uint32Array): Bitset;
  readonly sets: Pick<AccessSets, 'filters' | 'hidden' | 'masks'>;
}

/** One schema as one side of a comparison sees it. */
export interface SchemaAccess {
  readonly owners: Bitset;
  /** At every table that has no entry of its own. */
  readonly everywhere: TableAccess;
  /** Tables that have one. */
  tables(): Iterable<string>;
  /** Marks the words of users with an entry of their own at a table; all others have what every table gives. */
  mark(table: string, marks: WordMarks): void;
  /** At one table, at these words, all marked ones among them. */
  at(table: string, active: Uint32Array): TableAccess;
}

/** Where the differences go: findings of the proof, or the changes between two documents. */
export interface ComparisonSink {
  /** Two sets of users at some of their words, restricted to `among`; null: no user, or all users. */
  compare(
    fact: () => AccessFact,
    active: Uint32Array,
    left: Bitset | null,
    right: Bitset | null,
    among?: Bitset | null,
  ): void;
  /** The users of one word whose restrictions are compared, given the users that reach the table on either side. */
  restrictedAmong(left: number, right: number): number;
  /** Of these, the users whose masks of a column are compared that is hidden from `hidden` on either side. */
  maskedAmong(restricted: number, hidden: number): number;
  /** Tables without entries of their own have been compared. @param reaching users that reach them on either side */
  comparedEverywhere(reaching: Bitset): void;
  /** The same of one table. */
  comparedTable(active: Uint32Array, reaching: Bitset): void;
}

/** Compares two sides in the schemas of a catalog, down to the table, the column and the filter. */
export class SchemaComparison {
  private readonly marks: WordMarks;
  /** Users that reach the table: on the left, on the right, on either side. */
  private readonly left: Bitset;
  private readonly right: Bitset;
  private readonly either: Bitset;
  private readonly restricted: Bitset;
  /** Of these, the users who read the table on both sides. */
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

  /**
   * @param unnamed tables to ask about besides. With them all users are compared at every table: those with an entry there, and all
   * others; without, an unnamed table has no entries.
   */
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
    // Whatever the table rules: a user with access to a catalog may read its names.
    const isAsked = resource.schema !== INFORMATION_SCHEMA;
    if (isAsked && unnamed === null) {
      this.table({ ...resource, table: fresh }, left.everywhere, right.everywhere, everyWord);
      sink.comparedEverywhere(this.either);
    }
    for (const table of new Set([...left.tables(), ...right.tables(), ...(unnamed ?? [])])) {
      engine.spend(STEPS_PER_TABLE + width);
      left.mark(table, this.marks);
      right.mark(table, this.marks);
      const marked = this.marks.take();
      const active = unnamed === null ? marked : everyWord;
      const [onLeft, onRight] = [left.at(table, active), right.at(table, active)];
      if (!isAsked) continue;
      if (active.length > 0) this.table({ ...resource, table }, onLeft, onRight, active);
      sink.comparedTable(active, this.either);
    }
  }

  private table(resource: TableName, left: TableAccess, right: TableAccess, active: Uint32Array): void {
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
    this.restrictions(resource, left, right, active);
    this.procedures(resource, left, right, active);
  }

  /** Whoever reads without any filter has table procedures. */
  private procedures(resource: TableName, left: TableAccess, right: TableAccess, active: Uint32Array): void {
    const sides = [left.sets.filters, right.sets.filters];
    if (sides.every(({ size }) => size === 0)) return;
    const [onLeft, onRight] = this.filtered;
    for (const [i, filtered] of this.filtered.entries()) {
      for (const index of active) filtered[index] = 0;
      for (const words of sides[i]?.values() ?? [])
        for (const index of active) filtered[index] = wordAt(filtered, index) | wordAt(words, index);
    }
    const fact = () => ({ about: 'table-procedures', resource }) as const;
    // Who is filtered on one side alone has them on the other.
    this.sink.compare(fact, active, onRight, onLeft, this.reading);
  }

  /** Filters conjunct by conjunct, because one more is a loss and nothing else. */
  private restrictions(
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
      // Beside reading, it says nothing of rows: see `procedures`.
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
    if (onLeft === undefined && onRight === undefined) return this.restricted;
    for (const index of active) {
      const hidden = (onLeft ? wordAt(onLeft, index) : 0) | (onRight ? wordAt(onRight, index) : 0);
      this.maskable[index] = this.sink.maskedAmong(wordAt(this.restricted, index), hidden);
    }
    return this.maskable;
  }
}

/** To set up what is asked of a schema; each of its sets is as wide as there are words of users. */
const STEPS_PER_SCHEMA = 500;
const SETS_PER_SCHEMA = 40;
const STEPS_PER_TABLE = 200;
const STEPS_PER_SET = 100;

function setsOf({ sets: { filters, hidden, masks } }: TableAccess): number {
  return [...masks.values()].reduce((sum, { size }) => sum + size, filters.size + hidden.size);
}

function keysOf(
  a: ReadonlyMap<string, unknown> | undefined,
  b: ReadonlyMap<string, unknown> | undefined,
): Iterable<string> {
  if (a === undefined || a.size === 0) return b?.keys() ?? [];
  if (b === undefined || b.size === 0) return a.keys();
  return new Set([...a.keys(), ...b.keys()]);
}
