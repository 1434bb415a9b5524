import { PatternCache } from '../document/pattern-cache.js';
import type { RulesDocument } from '../document/rules-document.js';
import { displayName, standingForOthers, type AccessFact } from '../engine/access-fact.js';
import { EngineSets } from '../engine/engine-sets.js';
import type { ComparisonSink } from '../engine/schema-comparison.js';
import { wordAt, type Bitset } from '../engine/sparse-bitset.js';
import { UserUniverse } from '../engine/user-universe.js';
import { openPatterns } from '../lint/open-patterns.js';
import { AccessLedger, type Bounds, countAt, type ChangedAccess } from './access-ledger.js';
import { compareDocuments, type DocumentComparisonSink } from './document-comparison.js';

/** Access that users gain and lose between two documents, down to the table, the column and the filter. */
export interface AccessChange {
  /** A filter, a mask or a hidden column that is dropped is a gain. */
  gained: ChangedAccess[];
  lost: ChangedAccess[];
  /** How many things are gained and lost; the lists hold the first of them. */
  gainedInAll: number;
  lostInAll: number;
  /** People who gain and who lose anything; null: recorded before they were counted. */
  peopleGaining: number | null;
  peopleLosing: number | null;
  /** (person, node) pairs for which anything changes, and those that have anything before or after. */
  changedPairs: number;
  allPairs: number;
}

/**
 * Compares the access that two documents give: for every user that either names, and strangers, on every node that either names,
 * on fresh nodes, one of each kind that open patterns tell apart, and for all other rights. A change of any other table of a schema holds for every table without a change of its
 * own for the same users. The marker of the version gives no access and is left out.
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
  // A text that was found at the target may have open patterns, and then what one gives can be closed to the fresh name alone.
  const isOpen = [before, after].some((rules) => openPatterns(rules, patterns, people).length > 0);
  compareDocuments(...engines, counter, isOpen);
  const { gained, lost, gainedInAll, lostInAll, peopleGaining, peopleLosing, changedPairs, allPairs } = counter.ledger;
  return { gained, lost, gainedInAll, lostInAll, peopleGaining, peopleLosing, changedPairs, allPairs };
}

/** Counts what changes while two engines are compared; what people care for comes first, because not everything is written down. */
class ChangeCounter implements DocumentComparisonSink {
  readonly ledger: AccessLedger;
  private readonly everyWord: Uint32Array;
  /** Users for whom the schema's tables without rules of their own change, and users that reach these. */
  private everywhere = { changed: NO_USERS, reaching: NO_USERS, changedCount: 0, reachingCount: 0 };

  constructor({ width, everyWord, people }: EngineSets, bounds: Bounds) {
    const shown = people
      .names()
      .map((name, position) =>
        people.isUnnamed(position) ? displayName(standingForOthers(name), 'any other user') : name,
      );
    this.ledger = new AccessLedger(shown, width, bounds);
    this.everyWord = everyWord;
  }

  compare(...sets: Parameters<ComparisonSink['compare']>): void {
    this.ledger.compare(...sets);
  }

  comparedEverywhere(reaching: Bitset): void {
    const changed = this.ledger.changes();
    const [changedCount, reachingCount] = [countAt(changed, this.everyWord), countAt(reaching, this.everyWord)];
    this.everywhere = { changed, reaching: reaching.slice(), changedCount, reachingCount };
    this.ledger.closeNode(this.everyWord, reaching);
  }

  /** Users without a rule of their own at this table have what every table gives. */
  comparedTable(active: Uint32Array, reaching: Bitset): void {
    const { changed, reaching: reachingAny, changedCount, reachingCount } = this.everywhere;
    this.ledger.closeNode(active, reaching);
    this.ledger.changedPairs += changedCount - countAt(changed, active);
    this.ledger.allPairs += reachingCount - countAt(reachingAny, active);
  }

  /** A node of its own. The mode `all` of a catalog is none: it shows in the privileges that it opens. */
  compareRight(fact: AccessFact, had: Bitset, has: Bitset): void {
    if (fact.about === 'catalog-mode' && fact.mode === 'all') return;
    this.ledger.compare(() => fact, this.everyWord, had, has);
    const either = had.map((word, index) => word | wordAt(has, index));
    this.ledger.closeNode(this.everyWord, either);
  }
}

const NO_USERS: Bitset = new Uint32Array(0);
