import type { Bits } from '../../grants/domain/bits.js';
import type { EngineSets } from './engine-sets.js';
import { addWord, wordAt, type PeopleSet, type Words } from './people-set.js';
import type { Branch } from './rule-trie.js';
import type { TableRule } from './rules-document.js';
import { TableOutcome } from './table-outcome.js';

/**
 * The tables of one schema. Rules that speak of any table are evaluated once, for everybody; at one table only those
 * people are looked at of whom something is said there, by a rule or by a grant: all others get what any table gives.
 */
export class SchemaTables {
  /** What a table gives of which no rule speaks by name. */
  readonly everywhere: TableOutcome;
  private readonly branch: Branch;
  private readonly before = new Map<number, Words>();
  private readonly here: TableOutcome;
  private readonly marks: Uint8Array;

  constructor(
    private readonly engine: EngineSets,
    catalog: string,
    schema: string,
  ) {
    this.branch = engine.tables.branch([catalog, schema]);
    this.everywhere = new TableOutcome(engine.width);
    for (const { rule, people } of this.rules(this.branch.everywhere)) this.everywhere.decide(rule, people, null);
    this.here = new TableOutcome(engine.width);
    this.marks = new Uint8Array(engine.width);
  }

  names(): Set<string> {
    return this.branch.names();
  }

  /** Calls back with what one table gives at the words where `means`, or people of a rule that names it, have members. */
  at(table: string, means: Bits | null, use: (outcome: TableOutcome, active: Uint32Array) => void): void {
    const own = this.rules(this.branch.only(table));
    const active = this.active(own, means);
    if (active.length === 0) return;
    for (const { index, rule, people } of own) this.here.decide(rule, people, this.decidedBefore(index));
    this.here.inherit(this.everywhere, active);
    use(this.here, active);
    this.here.clear(active);
  }

  private rules(indexes: readonly number[]): { index: number; rule: TableRule; people: PeopleSet }[] {
    return indexes.flatMap((index) => {
      const rule = this.engine.rules.tables[index];
      return rule ? [{ index, rule, people: this.engine.usersOf(rule.user) }] : [];
    });
  }

  /** Those whom rules about any table have decided before the rule at `index` is reached. */
  private decidedBefore(index: number): Words {
    const earlier = this.branch.everywhere.filter((each) => each < index);
    const known = this.before.get(earlier.length);
    if (known) return known;
    const decided = new Uint32Array(this.engine.width);
    for (const { people } of this.rules(earlier)) {
      for (let i = 0; i < people.at.length; i++) addWord(decided, wordAt(people.at, i), wordAt(people.words, i));
    }
    this.before.set(earlier.length, decided);
    return decided;
  }

  private active(own: readonly { people: PeopleSet }[], means: Bits | null): Uint32Array {
    for (const { people } of own) for (const index of people.at) this.marks[index] = 1;
    const active: number[] = [];
    for (const index of this.engine.everyWord) {
      if (this.marks[index] === 1 || (means !== null && means.word(index) !== 0)) active.push(index);
    }
    this.marks.fill(0);
    return Uint32Array.from(active);
  }
}
