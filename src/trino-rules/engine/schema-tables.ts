import type { TableRule } from '../document/rules-document.js';
import { ActualAccess } from './actual-access.js';
import { STEPS_PER_RULE, type CatalogModes, type EngineSets } from './engine-sets.js';
import type { Branch } from './rule-trie.js';
import type { SchemaAccess } from './schema-comparison.js';
import { addSparse, type SparseBitset, type WordMarks, type Bitset } from './sparse-bitset.js';

/**
 * The tables of one schema. Rules for any table are evaluated once, for all users; at one table only those
 * people are looked at of whom something is said there, by a rule or by a grant: all others get what any table gives.
 */
export class SchemaTables implements SchemaAccess {
  readonly owners: Bitset;
  readonly everywhere: ActualAccess;
  readonly branch: Branch;
  private readonly before = new Map<number, Bitset>();
  private readonly here: ActualAccess;
  private dirty: Uint32Array = NONE;

  /** @param entering the modes by which privileges on tables count */
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

  /** What one table gives at these words, all marked ones among them. It is written over by the next call. */
  at(table: string, active: Uint32Array): ActualAccess {
    this.here.clear(this.dirty);
    this.dirty = active;
    for (const { index, rule, people } of this.rules(this.branch.only(table))) {
      this.here.decide(rule, people, this.decidedBefore(index));
    }
    this.here.inherit(this.everywhere, active);
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

  /** Users that rules about any table match before the rule at `index`. */
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
