import { PatternCache } from '../document/pattern-cache.js';
import type { RulesDocument } from '../document/rules-document.js';
import {
  describePermission,
  describeRestriction,
  displayName,
  isRestriction,
  markRepresentative,
  type AccessFact,
} from '../engine/access-fact.js';
import { EngineSets } from '../engine/engine-sets.js';
import type { ComparisonSink } from '../engine/schema-comparison.js';
import { addMember, countMembers, differences, isMember, wordAt, type Bitset } from '../engine/sparse-bitset.js';
import { UserUniverse } from '../engine/user-universe.js';
import { openPatternFindings } from '../lint/open-patterns.js';
import { compareDocuments, type DocumentComparisonSink } from './access-diff.js';

export interface ChangedAccess {
  /** The access in words, `SELECT from sales.eu.orders`; a restriction begins with `not:`. */
  what: string;
  /** Names on the engine, sorted. `any other user` represents users that no rule names. */
  people: string[];
  others: number;
}

/** Access that users gain and lose between two documents, including changes of filters, masks and hidden columns. */
export interface AccessChange {
  /** Facts that users gain. A removed filter, mask or hidden column is a gain. */
  gained: ChangedAccess[];
  lost: ChangedAccess[];
  /** All gains and losses are counted, but the lists `gained` and `lost` end at a limit. */
  gainedInAll: number;
  lostInAll: number;
  /**
   * Number of people who gain any access. Null in records of earlier versions of Grantline, which did not count people. Impersonation of an
   * added or removed person does not count.
   */
  peopleGaining: number | null;
  peopleLosing: number | null;
  /** Numbers of pairs of a user and a node: `changedPairs` with changed access, `allPairs` with any access before or after the change. */
  changedPairs: number;
  allPairs: number;
}

/** Limits of the lists: gained facts, lost facts, and people for each fact. Counts are not limited. */
export interface ListLimits {
  maxFacts: number;
  maxPeople: number;
}

export const LIST_LIMITS: ListLimits = { maxFacts: 100, maxPeople: 10 };

/**
 * Compares all access that two documents give. Invented users and nodes represent those that neither document names. The session property
 * that marks the version is left out.
 */
export function compareAccess(
  oldRules: RulesDocument,
  newRules: RulesDocument,
  limits = LIST_LIMITS,
  patterns = new PatternCache(),
): AccessChange {
  const universe = new UserUniverse([], [oldRules, newRules], patterns, true);
  const engines = [new EngineSets(oldRules, patterns, universe), new EngineSets(newRules, patterns, universe)] as const;
  const counter = new ChangeCounter(engines[0], limits);
  // A text that Grantline did not write may have patterns such as `a.*`. One invented name then cannot stand for all unlisted names.
  const hasOpenPatterns = [oldRules, newRules].some(
    (rules) => openPatternFindings(rules, patterns, universe).length > 0,
  );
  compareDocuments(...engines, counter, hasOpenPatterns);
  return counter.toAccessChange();
}

interface CountedUsers extends Pick<EngineSets, 'wordCount' | 'everyWordIndex'> {
  universe: Pick<UserUniverse, 'names' | 'isRepresentative' | 'positionsOf'>;
}

export class ChangeCounter implements DocumentComparisonSink {
  private readonly gained: ChangedAccess[] = [];
  private readonly lost: ChangedAccess[] = [];
  private gainedInAll = 0;
  private lostInAll = 0;
  private changedPairs = 0;
  private allPairs = 0;
  private readonly changedUsers: Bitset;
  private readonly gainingUsers: Bitset;
  private readonly losingUsers: Bitset;
  /** At tables that no rule names, in the current schema: users whose access changes, and users with any access. */
  private unnamedTables = { changed: NO_USERS, reaching: NO_USERS, changedCount: 0, reachingCount: 0 };

  constructor(
    private readonly countedUsers: CountedUsers,
    private readonly limits: ListLimits,
  ) {
    const newUserSet = (): Bitset => new Uint32Array(countedUsers.wordCount);
    this.changedUsers = newUserSet();
    this.gainingUsers = newUserSet();
    this.losingUsers = newUserSet();
  }

  toAccessChange(): AccessChange {
    const { gained, lost, gainedInAll, lostInAll, changedPairs, allPairs } = this;
    const [peopleGaining, peopleLosing] = [this.countUsers(this.gainingUsers), this.countUsers(this.losingUsers)];
    return { gained, lost, gainedInAll, lostInAll, peopleGaining, peopleLosing, changedPairs, allPairs };
  }

  /** Records the users who gain or lose an access. The end of a restriction is a gain. */
  compare(...[fact, activeWords, oldUsers, newUsers, users = null]: Parameters<ComparisonSink['compare']>): void {
    const [onlyBefore, onlyAfter] = differences(activeWords, oldUsers, newUsers, users);
    if (onlyAfter.length + onlyBefore.length === 0) return;
    const changedFact = fact();
    const [gained, lost] = isRestriction(changedFact) ? [onlyBefore, onlyAfter] : [onlyAfter, onlyBefore];
    const what = isRestriction(changedFact)
      ? `not: ${describeRestriction(changedFact)}`
      : describePermission(changedFact);
    for (const position of [...gained, ...lost]) addMember(this.changedUsers, position);
    // The right to impersonate a person who also gains (or loses) access is not counted, because it comes and goes with that person.
    const impersonatedPositions =
      changedFact.about === 'impersonation' ? this.countedUsers.universe.positionsOf(changedFact.newUser) : [];
    for (const [people, positions] of [[this.gainingUsers, gained] as const, [this.losingUsers, lost] as const]) {
      if (impersonatedPositions.some((position) => isMember(people, position))) continue;
      for (const position of positions) addMember(people, position);
    }
    if (gained.length > 0 && this.gainedInAll++ < this.limits.maxFacts)
      this.gained.push(this.toChangedAccess(what, gained));
    if (lost.length > 0 && this.lostInAll++ < this.limits.maxFacts) this.lost.push(this.toChangedAccess(what, lost));
  }

  endUnnamedTables(reachingUsers: Bitset): void {
    const [changed, reaching] = [this.changedUsers.slice(), reachingUsers.slice()];
    const counts = { changedCount: this.countUsers(changed), reachingCount: this.countUsers(reaching) };
    this.unnamedTables = { changed, reaching, ...counts };
    this.countPairs(this.countedUsers.everyWordIndex, reachingUsers);
  }

  endTable(activeWords: Uint32Array, reachingUsers: Bitset): void {
    const { changed: changedUsers, reaching: usersReachingUnnamed, changedCount, reachingCount } = this.unnamedTables;
    this.countPairs(activeWords, reachingUsers);
    this.changedPairs += changedCount - this.countUsers(changedUsers, activeWords);
    this.allPairs += reachingCount - this.countUsers(usersReachingUnnamed, activeWords);
  }

  /** Compares the users with a right that is not about a table. Skips the catalog mode `all`: it only lets users use privileges, which are compared themselves. */
  compareHolders(fact: AccessFact, holdersBefore: Bitset, holdersAfter: Bitset): void {
    if (fact.about === 'catalog-mode' && fact.mode === 'all') return;
    this.compare(() => fact, this.countedUsers.everyWordIndex, holdersBefore, holdersAfter);
    const usersWithAccess = holdersBefore.map((word, index) => word | wordAt(holdersAfter, index));
    this.countPairs(this.countedUsers.everyWordIndex, usersWithAccess);
  }

  private countPairs(activeWords: Uint32Array, reachingUsers: Bitset): void {
    this.changedPairs += this.countUsers(this.changedUsers, activeWords);
    this.allPairs += this.countUsers(reachingUsers, activeWords);
    for (const index of activeWords) this.changedUsers[index] = 0;
  }

  private countUsers(users: Bitset, activeWords = this.countedUsers.everyWordIndex): number {
    return activeWords.reduce((sum, index) => sum + countMembers(wordAt(users, index)), 0);
  }

  private toChangedAccess(what: string, userPositions: readonly number[]): ChangedAccess {
    const { universe } = this.countedUsers;
    const names = userPositions.slice(0, this.limits.maxPeople).map((position) => {
      const name = universe.names()[position] ?? '';
      return universe.isRepresentative(position) ? displayName(markRepresentative(name), 'any other user') : name;
    });
    return { what, people: names.sort(), others: userPositions.length - names.length };
  }
}

const NO_USERS: Bitset = new Uint32Array(0);
