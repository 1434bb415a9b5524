import type { Bits } from '../../grants/domain/bits.js';
import type { IntentSets, NamedNode } from '../../grants/domain/intent-sets.js';
import type { NodeSets } from '../../grants/domain/node-sets.js';
import { PRIVILEGES } from '../../grants/domain/privilege.js';
import { behindGate } from './catalog-gate.js';
import type { Aspect, Differences, Place } from './difference.js';
import type { CatalogModes, EngineSets } from './engine-sets.js';
import { INFORMATION_SCHEMA } from './evaluator.js';
import { FRESH } from './name-space.js';
import { WordMarks, wordAt, type Words } from './people-set.js';
import { SchemaTables } from './schema-tables.js';
import type { TableOutcome } from './table-outcome.js';

/**
 * Asks the rules about everybody on every node: each that the grants name, each that a rule's patterns allow in any
 * combination, and one fresh name at each level, which stands for all that nobody has named. Rules cannot tell any
 * further node from one of these, so that nothing is left out.
 */
export function proveData(engine: EngineSets, intent: IntentSets, differences: Differences): void {
  const { everyWord } = engine;
  const marks = new WordMarks(engine.width);
  const reached: Words = new Uint32Array(engine.width);
  const effective: Words = new Uint32Array(engine.width);
  const named = new Map([...intent.catalogs()].map((node) => [node.resource.catalog, node]));
  const spelled = [engine.catalogs, engine.schemas, engine.tables].map((trie) => trie.branch([]).names());
  for (const catalog of all(named, ...spelled)) proveCatalog(catalog, named.get(catalog));

  function proveCatalog(catalog: string, node: NamedNode | undefined): void {
    const modes = engine.modes(catalog);
    const wanted = intent.catalogModes(catalog);
    const aspect = (mode: 'all' | 'read-only') => () => ({ about: 'catalog-mode', place: { catalog }, mode }) as const;
    differences.compare(aspect('all'), everyWord, modes.all, wanted.all);
    differences.compare(aspect('read-only'), everyWord, modes.readOnly, wanted.readOnly);
    const sets = node?.sets ?? intent.at({ catalog });
    const schemas = schemasOf(node);
    const spelled = [engine.schemas, engine.tables].map((trie) => trie.branch([catalog]).names());
    for (const schema of all(schemas, ...spelled)) {
      proveSchema({ catalog, schema }, schemas.get(schema), sets, modes);
    }
  }

  function proveSchema(
    place: Required<Omit<Place, 'table'>>,
    node: NamedNode | undefined,
    above: NodeSets,
    modes: CatalogModes,
  ): void {
    const { catalog, schema } = place;
    const sets = node?.sets ?? above;
    const owners = engine.schemaOwners(catalog, schema, modes);
    differences.compare(() => ({ about: 'schema-ownership', place }), everyWord, owners, sets.privileges.OWNERSHIP);
    // Whoever may read the catalog may read its names; no table rule is asked there.
    if (schema === INFORMATION_SCHEMA) return;
    const tables = new SchemaTables(engine, catalog, schema);
    compare({ ...place, table: FRESH }, tables.everywhere, sets, modes, everyWord);
    const ask = (table: string, wanted: NodeSets): void => {
      tables.mark(table, marks);
      const active = marks.take();
      if (active.length > 0) compare({ ...place, table }, tables.at(table, active), wanted, modes, active);
    };
    const unnamed = tables.names().add(FRESH);
    // Tables are many: each is forgotten when it has been asked.
    for (const { resource, means, sets: wanted } of node?.children() ?? []) {
      unnamed.delete(resource.table ?? '');
      marks.addBits(means);
      ask(resource.table ?? '', wanted);
    }
    for (const table of unnamed) ask(table, sets);
  }

  function compare(
    place: Place,
    outcome: TableOutcome,
    wanted: NodeSets,
    modes: CatalogModes,
    active: Uint32Array,
  ): void {
    for (const index of active) reached[index] = 0;
    for (const privilege of PRIVILEGES) {
      behindGate(outcome, privilege, modes, active, effective);
      for (const index of active) reached[index] = wordAt(reached, index) | wordAt(effective, index);
      const aspect = (): Aspect => ({ about: 'privilege', place, privilege });
      differences.compare(aspect, active, effective, wanted.privileges[privilege]);
    }
    // What is filtered or hidden matters to those who may do something; the others have been compared above.
    for (const index of active) reached[index] = wordAt(reached, index) & wanted.reached.word(index);
    const told = (aspect: () => Aspect, byRules: Words | undefined, byGrants: Bits | undefined): void =>
      differences.compare(aspect, active, byRules ?? null, byGrants ?? null, reached);
    for (const expression of union(outcome.filters, wanted.filters)) {
      const aspect = (): Aspect => ({ about: 'row-filter', place, expression });
      told(aspect, outcome.filters.get(expression), wanted.filters.get(expression));
    }
    for (const column of union(outcome.hidden, wanted.hidden)) {
      const aspect = (): Aspect => ({ about: 'hidden-column', place, column });
      told(aspect, outcome.hidden.get(column), wanted.hidden.get(column));
    }
    for (const column of union(outcome.masks, wanted.masks)) {
      const byRules = outcome.masks.get(column);
      const byGrants = wanted.masks.get(column);
      for (const expression of union(byRules, byGrants)) {
        const aspect = (): Aspect => ({ about: 'column-mask', place, column, expression });
        told(aspect, byRules?.get(expression), byGrants?.get(expression));
      }
    }
  }
}

function all(named: ReadonlyMap<string, unknown>, ...spelled: ReadonlySet<string>[]): Set<string> {
  return new Set([...named.keys(), ...spelled.flatMap((names) => [...names]), FRESH]);
}

function schemasOf(node: NamedNode | undefined): Map<string, NamedNode> {
  return new Map([...(node?.children() ?? [])].map((child) => [child.resource.schema ?? '', child]));
}

function union(
  a: ReadonlyMap<string, unknown> | undefined,
  b: ReadonlyMap<string, unknown> | undefined,
): Iterable<string> {
  if (a === undefined || a.size === 0) return b?.keys() ?? [];
  if (b === undefined || b.size === 0) return a.keys();
  return new Set([...a.keys(), ...b.keys()]);
}
