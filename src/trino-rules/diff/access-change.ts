import { PatternCache } from '../document/pattern-cache.js';
import type { RulesDocument } from '../document/rules-document.js';
import type { AccessFact, Place } from '../engine/access-fact.js';
import type { ActualAccess } from '../engine/actual-access.js';
import { effectivePrivilege } from '../engine/catalog-gate.js';
import { EngineSets, type CatalogModes } from '../engine/engine-sets.js';
import { INFORMATION_SCHEMA } from '../engine/evaluator.js';
import { MARKER, everyRight, holders } from '../engine/rights.js';
import type { RuleTrie } from '../engine/rule-trie.js';
import { SchemaTables } from '../engine/schema-tables.js';
import { WordMarks, wordAt, type Bitset } from '../engine/sparse-bitset.js';
import { UserUniverse } from '../engine/user-universe.js';
import { PRIVILEGES } from '../model/privilege.js';
import { AccessLedger, type Bounds, countAt, type ChangedAccess } from './access-ledger.js';
import { type BeforeAfter, restrictions } from './restriction-changes.js';

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
 * Compares the access that two documents give: everybody whom either of them names, and strangers, on every node that
 * either of them names, on fresh ones, and in all rights besides. What is told of any other table of a schema holds for every
 * table at which nothing else is told of the same people. The marker of the version gives nothing and is left out.
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

class Comparison {
  private readonly ledger: AccessLedger;
  private readonly everyWord: Uint32Array;
  private readonly marks: WordMarks;
  private readonly had: Bitset;
  private readonly has: Bitset;
  /** Whoever reaches a table before, after, either way. */
  private readonly reach: { before: Bitset; after: Bitset; any: Bitset; both: Bitset };

  constructor(
    private readonly before: EngineSets,
    private readonly after: EngineSets,
    bounds: Bounds,
  ) {
    const { width, everyWord, people } = before;
    const words = (): Bitset => new Uint32Array(width);
    this.ledger = new AccessLedger(people.names(), width, bounds);
    this.everyWord = everyWord;
    this.marks = new WordMarks(width);
    this.had = words();
    this.has = words();
    this.reach = { before: words(), after: words(), any: words(), both: words() };
  }

  /** What people care for comes first, because not everything is written down: their tables, `system`, rights. */
  run(): AccessLedger {
    const tries = ({ catalogs, schemas, tables }: EngineSets) => [catalogs, schemas, tables];
    const catalogs = this.names([], tries);
    if (catalogs.delete('system')) catalogs.add('system');
    for (const catalog of catalogs) {
      const modes = { before: this.before.modes(catalog), after: this.after.modes(catalog) };
      for (const schema of this.names([catalog], ({ schemas, tables }) => [schemas, tables]))
        this.schema({ catalog, schema }, modes);
      const entry = { about: 'catalog-mode', place: { catalog }, mode: 'read-only' } as const;
      this.right(entry, entering(modes.before), entering(modes.after));
    }
    for (const right of everyRight([this.before, this.after], [])) {
      if (right.about === 'session-property' && right.property.startsWith(MARKER)) continue;
      this.right(right, holders(this.before, right), holders(this.after, right));
    }
    return this.ledger;
  }

  /** Something that is a node of its own. */
  private right(aspect: AccessFact, had: Bitset, has: Bitset): void {
    this.ledger.compare(aspect, this.everyWord, had, has);
    this.ledger.closeNode(
      this.everyWord,
      had.map((word, index) => word | wordAt(has, index)),
    );
  }

  private schema(place: { catalog: string; schema: string }, modes: BeforeAfter<CatalogModes>): void {
    const { catalog, schema } = place;
    const owners = (engine: EngineSets, mode: CatalogModes): Bitset => engine.schemaOwners(catalog, schema, mode);
    const [had, has] = [owners(this.before, modes.before), owners(this.after, modes.after)];
    this.ledger.compare({ about: 'schema-ownership', place }, this.everyWord, had, has);
    if (schema === INFORMATION_SCHEMA) return;
    const [before, after] = [
      new SchemaTables(this.before, catalog, schema),
      new SchemaTables(this.after, catalog, schema),
    ];
    this.table(
      { ...place, table: this.before.fresh },
      { before: before.everywhere, after: after.everywhere },
      modes,
      this.everyWord,
    );
    const everywhere = { changed: this.ledger.changes(), any: this.reach.any.slice() };
    this.ledger.closeNode(this.everyWord, everywhere.any);
    const elsewhere = {
      changed: countAt(everywhere.changed, this.everyWord),
      any: countAt(everywhere.any, this.everyWord),
    };
    for (const table of new Set([...before.names(), ...after.names()])) {
      before.mark(table, this.marks);
      after.mark(table, this.marks);
      const active = this.marks.take();
      this.table(
        { ...place, table },
        { before: before.at(table, active), after: after.at(table, active) },
        modes,
        active,
      );
      this.ledger.closeNode(active, this.reach.any);
      // Of whom nothing is said at this table, what is true of any table is true of it.
      this.ledger.changedPairs += elsewhere.changed - countAt(everywhere.changed, active);
      this.ledger.allPairs += elsewhere.any - countAt(everywhere.any, active);
    }
  }

  private table(
    place: Place,
    outcomes: BeforeAfter<ActualAccess>,
    modes: BeforeAfter<CatalogModes>,
    active: Uint32Array,
  ): void {
    const { before, after, any, both } = this.reach;
    for (const index of active) before[index] = after[index] = 0;
    for (const privilege of PRIVILEGES) {
      effectivePrivilege(outcomes.before, privilege, modes.before, active, this.had);
      effectivePrivilege(outcomes.after, privilege, modes.after, active, this.has);
      this.ledger.compare({ about: 'privilege', place, privilege }, active, this.had, this.has);
      for (const index of active) {
        before[index] = wordAt(before, index) | wordAt(this.had, index);
        after[index] = wordAt(after, index) | wordAt(this.has, index);
      }
    }
    for (const index of active) {
      any[index] = wordAt(before, index) | wordAt(after, index);
      both[index] = wordAt(before, index) & wordAt(after, index);
    }
    for (const { aspect, before, after, except } of restrictions(place, outcomes)) {
      this.ledger.compare(aspect, active, before, after, without(both, except));
    }
  }

  private names(path: readonly string[], tries: (engine: EngineSets) => readonly RuleTrie[]): Set<string> {
    const spelled = [this.before, this.after].flatMap(tries).flatMap((trie) => [...trie.branch(path).names()]);
    return new Set([...spelled, this.before.fresh]);
  }
}

/** Whoever may enter a catalog, in whatever mode. */
function entering({ all, readOnly }: CatalogModes): Bitset {
  return all.map((word, index) => word | wordAt(readOnly, index));
}

function without(people: Bitset, except: readonly Bitset[]): Bitset {
  return except.reduce((left, some) => left.map((word, index) => word & ~wordAt(some, index)), people);
}
