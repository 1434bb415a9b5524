import type { TablePrivilege, TableRule } from '../document/rules-document.js';
import { type CatalogModes, type EngineSets, STEPS_PER_RULE } from './engine-sets.js';
import type { Branch } from './rule-trie.js';
import { AccessSets, type SchemaAccess, type TableAccess } from './schema-comparison.js';
import { addSparse, addWord, type Bitset, type SparseBitset, wordAt, type WordMarks } from './sparse-bitset.js';
import type { WorkBudget } from '../document/work-budget.js';

/**
 * The tables of one schema. Rules for any table are evaluated once, for all users. At one table only users with a rule or a grant there
 * are evaluated; all others have the access of any table.
 */
export class SchemaTables implements SchemaAccess {
  readonly owners: Bitset;
  readonly everywhere: ActualAccess;
  readonly branch: Branch;
  private readonly before = new Map<number, Bitset>();
  private readonly here: ActualAccess;
  private dirty: Uint32Array = NONE;

  /** @param entering the modes for privileges on tables */
  constructor(
    private readonly engine: EngineSets,
    catalog: string,
    schema: string,
    modes: CatalogModes,
    entering = modes,
  ) {
    this.owners = engine.schemaOwners(catalog, schema, modes);
    this.branch = engine.tables.branch([catalog, schema]);
    const { budget } = engine.patterns;
    this.everywhere = new ActualAccess(engine.width, budget, entering);
    for (const { rule, people } of this.rules(this.branch.everywhere)) this.everywhere.decide(rule, people, null);
    this.here = new ActualAccess(engine.width, budget, entering);
  }

  tables(): Set<string> {
    return this.branch.names();
  }

  mark(table: string, marks: WordMarks): void {
    for (const { people } of this.rules(this.branch.only(table))) marks.add(people);
  }

  /** Access at one table, in the active words only. These include all marked ones. Valid until the next call. */
  at(table: string, active: Uint32Array): ActualAccess {
    this.here.clear(this.dirty);
    this.dirty = active;
    for (const { index, rule, people } of this.rules(this.branch.only(table))) {
      this.here.decide(rule, people, this.decidedBefore(index));
    }
    this.here.sets.inherit(this.everywhere.sets, active, this.here.decided);
    return this.here;
  }

  private rules(indexes: readonly number[]): { index: number; rule: TableRule; people: SparseBitset }[] {
    return indexes.flatMap((index) => {
      const rule = this.engine.rules.tables[index];
      if (rule === undefined) return [];
      const people = this.engine.people.matching(rule.user);
      const sets = rule.privileges.length + (rule.columns?.length ?? 0) + (rule.filter === undefined ? 0 : 1);
      this.engine.spend(STEPS_PER_RULE + (sets + 1) * people.at.length);
      return [{ index, rule, people }];
    });
  }

  /** Users whom rules about any table match before the rule at `index`. */
  private decidedBefore(index: number): Bitset {
    const earlier = this.branch.everywhere.filter((each) => each < index);
    const known = this.before.get(earlier.length);
    if (known) return known;
    const decided = new Uint32Array(this.engine.width);
    for (const { people } of this.rules(earlier)) addSparse(decided, people);
    this.before.set(earlier.length, decided);
    return decided;
  }
}

const NONE = new Uint32Array(0);

/** Access at one table by the first rule that matches each user. Sets are written only at the active words. */
export class ActualAccess implements TableAccess {
  /** Users that a rule has matched so far. */
  readonly decided: Bitset;
  readonly sets: AccessSets;
  private readonly hitAt: Uint32Array;
  private readonly hitWords: Bitset;
  private readonly effective: Bitset;

  constructor(
    width: number,
    budget: WorkBudget,
    private readonly modes: CatalogModes,
  ) {
    this.sets = new AccessSets(width, budget);
    const set = (): Bitset => new Uint32Array(width);
    this.decided = set();
    this.hitAt = set();
    this.hitWords = set();
    this.effective = set();
  }

  /** Applies a rule to its users, except those whom an earlier rule here has matched, or who are in `before`. */
  decide(rule: TableRule, people: SparseBitset, before: Bitset | null): void {
    const hits = this.hit(people, before);
    if (hits === 0) return;
    for (const privilege of rule.privileges) this.record(this.sets.given[privilege], hits);
    for (const conjunct of rule.filter === undefined ? [] : conjuncts(rule.filter))
      this.record(this.sets.filteredBy(conjunct), hits);
    for (const { name, allow, mask } of rule.columns ?? []) {
      if (allow === false) this.record(this.sets.hiddenFrom(name), hits);
      // The engine also applies the mask of a hidden column.
      if (mask !== undefined) this.record(this.sets.maskedBy(name, mask), hits);
    }
  }

  /** Reading needs any mode of the catalog, all else the mode `all`; GRANT_SELECT contains SELECT. Valid until the next call. */
  holders(privilege: TablePrivilege, active: Uint32Array): Bitset {
    const { given } = this.sets;
    const { all, readOnly } = this.modes;
    for (const index of active) {
      this.effective[index] =
        privilege === 'SELECT'
          ? (wordAt(given.SELECT, index) | wordAt(given.GRANT_SELECT, index)) &
            (wordAt(all, index) | wordAt(readOnly, index))
          : wordAt(given[privilege], index) & wordAt(all, index);
    }
    return this.effective;
  }

  /** Empties the sets, of which only the active words have been written. */
  clear(active: Uint32Array): void {
    for (const index of active) this.decided[index] = 0;
    this.sets.clear(active);
  }

  private hit({ at, words }: SparseBitset, before: Bitset | null): number {
    let hits = 0;
    for (let i = 0; i < at.length; i++) {
      const index = wordAt(at, i);
      const hit = wordAt(words, i) & ~(wordAt(this.decided, index) | (before?.[index] ?? 0));
      if (hit === 0) continue;
      addWord(this.decided, index, hit);
      this.hitAt[hits] = index;
      this.hitWords[hits++] = hit;
    }
    return hits;
  }

  private record(into: Bitset, hits: number): void {
    for (let i = 0; i < hits; i++) addWord(into, wordAt(this.hitAt, i), wordAt(this.hitWords, i));
  }
}

/** The conjuncts of a row filter as the compiler joins them, `(a) AND (b)`, with parentheses; any other text is one conjunct. */
export function conjuncts(filter: string): string[] {
  const parts: string[] = [];
  let begin = 0;
  let depth = 0;
  let quote = '';
  for (let at = 0; at < filter.length; at++) {
    const sign = filter.charAt(at);
    if (quote !== '') {
      if (sign === quote) quote = '';
      continue;
    }
    if (sign === "'" || sign === '"') quote = sign;
    if (sign === '(') depth++;
    if (sign === ')') depth--;
    if (depth > 0) continue;
    // At depth 0 only the end of a conjunct is valid, followed by the operator.
    if (sign !== ')') return [filter];
    parts.push(filter.slice(begin, at + 1));
    if (at + 1 === filter.length) return parts;
    if (!filter.startsWith(JOINT, at + 1)) return [filter];
    begin = at + 1 + JOINT.length;
    at = begin - 1;
  }
  return [filter];
}

const JOINT = ' AND ';
