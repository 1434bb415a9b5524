import { PatternCache } from '../document/pattern-cache.js';
import type { RulesDocument } from '../document/rules-document.js';
import {
  describePermission,
  describeRestriction,
  displayName,
  isRestriction,
  standingForOthers,
  type AccessFact,
} from '../engine/access-fact.js';
import { EngineSets } from '../engine/engine-sets.js';
import type { ComparisonSink } from '../engine/schema-comparison.js';
import { addMember, countMembers, differences, isMember, wordAt, type Bitset } from '../engine/sparse-bitset.js';
import { UserUniverse } from '../engine/user-universe.js';
import { openPatterns } from '../lint/open-patterns.js';
import { compareDocuments, type DocumentComparisonSink } from './document-comparison.js';

/** An access fact that these users gained or lost. */
export interface ChangedAccess {
  /** `SELECT from sales.eu.orders`; for a restriction `not:` and its description. */
  what: string;
  /** Names on the engine, sorted; `any other user` for those that no rule names. */
  people: string[];
  /** Number of further users. */
  others: number;
}

/** Access that users gain and lose between two documents, down to the table, the column and the filter. */
export interface AccessChange {
  /** A filter, a mask or a hidden column that is dropped is a gain. */
  gained: ChangedAccess[];
  lost: ChangedAccess[];
  /** Number of facts that are gained, and lost; the lists hold only the first of these. */
  gainedInAll: number;
  lostInAll: number;
  /**
   * Number of people who gain, and lose, anything; null: recorded by a version that did not count people. The right to act as
   * somebody who is counted counts nobody.
   */
  peopleGaining: number | null;
  peopleLosing: number | null;
  /** Number of (person, node) pairs with any change; `allPairs`: with any access before or after. */
  changedPairs: number;
  allPairs: number;
}

/** Limits of the lists: facts gained, as many facts lost, and people for each fact. The numbers count everything. */
interface Bounds {
  things: number;
  people: number;
}

/**
 * Compares the access that two documents give: for every user that either names and for strangers; on every node that either names, and
 * on one fresh node of each kind that open patterns tell apart; and for all other rights. A change of unnamed tables of a schema also
 * counts for named tables without a rule for the same users. The marker of the version is left out.
 */
export function compareAccess(
  before: RulesDocument,
  after: RulesDocument,
  bounds: Bounds = { things: 100, people: 10 },
  patterns = new PatternCache(),
): AccessChange {
  const people = new UserUniverse([], [before, after], patterns, true);
  const engines = [new EngineSets(before, patterns, people), new EngineSets(after, patterns, people)] as const;
  const counter = new ChangeCounter(engines[0], bounds);
  // A text found at the target may have open patterns, and then one fresh name does not represent all other names.
  const isOpen = [before, after].some((rules) => openPatterns(rules, patterns, people).length > 0);
  compareDocuments(...engines, counter, isOpen);
  return counter.change();
}

/** Counts all changes while two engines are compared, and lists the first of them. */
class ChangeCounter implements DocumentComparisonSink {
  private readonly gained: ChangedAccess[] = [];
  private readonly lost: ChangedAccess[] = [];
  private gainedInAll = 0;
  private lostInAll = 0;
  private changedPairs = 0;
  private allPairs = 0;
  /** Users with a change at the node that is being compared. */
  private readonly changed: Bitset;
  private readonly gaining: Bitset;
  private readonly losing: Bitset;
  /** Users for whom the unnamed tables of a schema change, and users with access to these tables. */
  private everywhere = { changed: NO_USERS, reaching: NO_USERS, changedCount: 0, reachingCount: 0 };

  constructor(
    private readonly engine: EngineSets,
    private readonly bounds: Bounds,
  ) {
    const set = (): Bitset => new Uint32Array(engine.width);
    this.changed = set();
    this.gaining = set();
    this.losing = set();
  }

  change(): AccessChange {
    const { gained, lost, gainedInAll, lostInAll, changedPairs, allPairs } = this;
    const [peopleGaining, peopleLosing] = [this.count(this.gaining), this.count(this.losing)];
    return { gained, lost, gainedInAll, lostInAll, peopleGaining, peopleLosing, changedPairs, allPairs };
  }

  /** A restriction that is dropped is gained access. */
  compare(...[fact, active, before, after, among = null]: Parameters<ComparisonSink['compare']>): void {
    const [less, more] = differences(active, before, after, among);
    if (more.length + less.length === 0) return;
    const changed = fact();
    const [gained, lost] = isRestriction(changed) ? [less, more] : [more, less];
    const what = isRestriction(changed) ? `not: ${describeRestriction(changed)}` : describePermission(changed);
    for (const position of [...gained, ...lost]) addMember(this.changed, position);
    // Whoever comes or goes is counted by then, by the right to execute queries.
    const actedAs = changed.about === 'impersonation' ? this.engine.people.named(changed.newUser) : [];
    for (const [people, positions] of [[this.gaining, gained] as const, [this.losing, lost] as const]) {
      if (actedAs.some((position) => isMember(people, position))) continue;
      for (const position of positions) addMember(people, position);
    }
    if (gained.length > 0 && this.gainedInAll++ < this.bounds.things)
      this.gained.push(this.changedAccess(what, gained));
    if (lost.length > 0 && this.lostInAll++ < this.bounds.things) this.lost.push(this.changedAccess(what, lost));
  }

  comparedEverywhere(reaching: Bitset): void {
    const [changedCount, reachingCount] = [this.count(this.changed), this.count(reaching)];
    this.everywhere = { changed: this.changed.slice(), reaching: reaching.slice(), changedCount, reachingCount };
    this.closeNode(this.engine.everyWord, reaching);
  }

  /** Users without a rule at this table have the access of unnamed tables. */
  comparedTable(active: Uint32Array, reaching: Bitset): void {
    const { changed, reaching: reachingAny, changedCount, reachingCount } = this.everywhere;
    this.closeNode(active, reaching);
    this.changedPairs += changedCount - this.count(changed, active);
    this.allPairs += reachingCount - this.count(reachingAny, active);
  }

  /** Counts a right as a node. The mode `all` of a catalog is not counted, because it shows in the privileges that it opens. */
  compareRight(fact: AccessFact, had: Bitset, has: Bitset): void {
    if (fact.about === 'catalog-mode' && fact.mode === 'all') return;
    this.compare(() => fact, this.engine.everyWord, had, has);
    const either = had.map((word, index) => word | wordAt(has, index));
    this.closeNode(this.engine.everyWord, either);
  }

  /** Counts, at one node, users with a change, and users with access before or after. */
  private closeNode(active: Uint32Array, reaching: Bitset): void {
    this.changedPairs += this.count(this.changed, active);
    this.allPairs += this.count(reaching, active);
    for (const index of active) this.changed[index] = 0;
  }

  private count(words: Bitset, active = this.engine.everyWord): number {
    return active.reduce((sum, index) => sum + countMembers(wordAt(words, index)), 0);
  }

  private changedAccess(what: string, positions: readonly number[]): ChangedAccess {
    const { people } = this.engine;
    const names = positions.slice(0, this.bounds.people).map((position) => {
      const name = people.names()[position] ?? '';
      return people.isUnnamed(position) ? displayName(standingForOthers(name), 'any other user') : name;
    });
    return { what, people: names.sort(), others: positions.length - names.length };
  }
}

const NO_USERS: Bitset = new Uint32Array(0);
