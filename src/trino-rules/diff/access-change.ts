import { PatternCache } from '../document/pattern-cache.js';
import type { RulesDocument } from '../document/rules-document.js';
import type { AccessFact } from '../engine/access-fact.js';
import { EngineSets, type CatalogModes } from '../engine/engine-sets.js';
import { MARKER, everyRight, holders } from '../engine/rights.js';
import { SchemaComparison, type ComparisonSink } from '../engine/schema-comparison.js';
import { SchemaTables } from '../engine/schema-tables.js';
import { wordAt, type Bitset } from '../engine/sparse-bitset.js';
import { UserUniverse } from '../engine/user-universe.js';
import { AccessLedger, type Bounds, countAt, type ChangedAccess } from './access-ledger.js';

/** What people gain and lose between two documents, down to the table, the column and the filter. */
export interface AccessChange {
  /** A filter, a mask or a hidden column that is dropped is a gain. */
  gained: ChangedAccess[];
  lost: ChangedAccess[];
  /** How many things are gained and lost; the lists hold the first of them. */
  gainedInAll: number;
  lostInAll: number;
  /** (person, node) pairs for which anything changes, and those that have anything before or after. */
  changedPairs: number;
  allPairs: number;
}

/**
 * Compares the access that two documents give: for every user that either names, and strangers, on every node that either names,
 * on fresh nodes, and for all other rights. A change of any other table of a schema holds for every table without a change of its
 * own for the same users. The marker of the version gives no access and is left out.
 */
export function compareAccess(
  before: RulesDocument,
  after: RulesDocument,
  bounds: Bounds = { things: 100, people: 10 },
): AccessChange {
  const patterns = new PatternCache();
  const people = new UserUniverse([], [before, after], patterns);
  const engines = [new EngineSets(before, patterns, people), new EngineSets(after, patterns, people)] as const;
  const { gained, lost, gainedInAll, lostInAll, changedPairs, allPairs } = new Comparison(...engines, bounds).run();
  return { gained, lost, gainedInAll, lostInAll, changedPairs, allPairs };
}

/** Counts what changes while two engines are compared; what people care for comes first, because not everything is written down. */
class Comparison implements ComparisonSink {
  private readonly ledger: AccessLedger;
  private readonly everyWord: Uint32Array;
  /** Users for whom the schema's tables without rules of their own change, and users that reach these. */
  private everywhere = { changed: NO_USERS, reaching: NO_USERS, changedCount: 0, reachingCount: 0 };

  constructor(
    private readonly before: EngineSets,
    private readonly after: EngineSets,
    bounds: Bounds,
  ) {
    const { width, everyWord, people } = before;
    this.ledger = new AccessLedger(people.names(), width, bounds);
    this.everyWord = everyWord;
  }

  /** Tables, then `system`, then rights. */
  run(): AccessLedger {
    const { before, after } = this;
    const schemas = new SchemaComparison(before, this);
    const catalogs = new Set([...before.catalogNames(), ...after.catalogNames(), before.fresh]);
    if (catalogs.delete('system')) catalogs.add('system');
    for (const catalog of catalogs) {
      const [had, has] = [before.modes(catalog), after.modes(catalog)];
      for (const schema of new Set([...before.schemaNames(catalog), ...after.schemaNames(catalog), before.fresh])) {
        const former = new SchemaTables(before, catalog, schema, had);
        schemas.compare({ catalog, schema }, former, new SchemaTables(after, catalog, schema, has));
      }
      const entry = { about: 'catalog-mode', resource: { catalog }, mode: 'read-only' } as const;
      this.right(entry, entering(had), entering(has));
    }
    for (const right of everyRight([before, after], [])) {
      if (right.about === 'session-property' && right.property.startsWith(MARKER)) continue;
      this.right(right, holders(before, right), holders(after, right));
    }
    return this.ledger;
  }

  compare(...sets: Parameters<ComparisonSink['compare']>): void {
    this.ledger.compare(...sets);
  }

  /** Users without access before or after gain or lose all of it: their restrictions are no change. */
  restrictedAmong(before: number, after: number): number {
    return before & after;
  }

  /** A mask has no effect on a column that is hidden, before or after. */
  maskedAmong(restricted: number, hidden: number): number {
    return restricted & ~hidden;
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

  /** Something that is a node of its own. */
  private right(fact: AccessFact, had: Bitset, has: Bitset): void {
    this.ledger.compare(() => fact, this.everyWord, had, has);
    const either = had.map((word, index) => word | wordAt(has, index));
    this.ledger.closeNode(this.everyWord, either);
  }
}

/** Users that may enter a catalog, in any mode. */
function entering({ all, readOnly }: CatalogModes): Bitset {
  return all.map((word, index) => word | wordAt(readOnly, index));
}

const NO_USERS: Bitset = new Uint32Array(0);
