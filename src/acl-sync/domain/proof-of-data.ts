import type { Bits } from '../../grants/domain/bits.js';
import type { IntentSets, NamedNode } from '../../grants/domain/intent-sets.js';
import type { NodeSets } from '../../grants/domain/node-sets.js';
import { PRIVILEGES } from '../../grants/domain/privilege.js';
import type { Differences, Place } from './difference.js';
import type { CatalogModes, EngineSets, TableSets } from './engine-sets.js';
import { INFORMATION_SCHEMA } from './evaluator.js';
import { FRESH } from './name-space.js';

/**
 * Asks the rules about everybody on every node: each that the grants name, each that a rule's patterns allow in any
 * combination, and one fresh name at each level, which stands for all that nobody has named. Rules cannot tell any
 * further node from one of these, so that nothing is left out.
 */
export function proveData(engine: EngineSets, intent: IntentSets, differences: Differences): void {
  const named = new Map([...intent.catalogs()].map((node) => [node.resource.catalog, node]));
  for (const catalog of names(engine.tables, [], named, engine.catalogs.names([]), engine.schemas.names([]))) {
    proveCatalog(catalog, named.get(catalog));
  }

  function proveCatalog(catalog: string, node: NamedNode | undefined): void {
    const modes = engine.modes(catalog);
    const wanted = intent.catalogModes(catalog);
    const place = { catalog };
    differences.compare({ about: 'catalog-mode', place, mode: 'all' }, modes.all, wanted.all);
    differences.compare({ about: 'catalog-mode', place, mode: 'read-only' }, modes.readOnly, wanted.readOnly);
    const sets = node?.sets ?? intent.at({ catalog });
    const children = byName(node, 'schema');
    for (const schema of names(engine.tables, [catalog], children, engine.schemas.names([catalog]))) {
      proveSchema({ catalog, schema }, children.get(schema), sets, modes);
    }
  }

  function proveSchema(
    place: { catalog: string; schema: string },
    node: NamedNode | undefined,
    above: NodeSets,
    modes: CatalogModes,
  ): void {
    const { catalog, schema } = place;
    const sets = node?.sets ?? above;
    differences.compare(
      { about: 'schema-ownership', place },
      engine.schemaOwners(catalog, schema, modes),
      sets.privileges.OWNERSHIP,
    );
    // Whoever may read the catalog may read its names; no table rule is asked there.
    if (schema === INFORMATION_SCHEMA) return;
    const children = byName(node, 'table');
    for (const table of names(engine.tables, [catalog, schema], children)) {
      const given = engine.at(catalog, schema, table, modes);
      compareTable({ catalog, schema, table }, given, children.get(table)?.sets ?? sets, engine.nobody, differences);
    }
  }
}

function compareTable(place: Place, given: TableSets, wanted: NodeSets, nobody: Bits, differences: Differences): void {
  for (const privilege of PRIVILEGES) {
    differences.compare(
      { about: 'privilege', place, privilege },
      given.privileges[privilege],
      wanted.privileges[privilege],
    );
  }
  // What is filtered or hidden matters to those who may do something; the others have been compared above.
  const both = PRIVILEGES.reduce((any, privilege) => any.or(given.privileges[privilege]), nobody).and(wanted.reached);
  const compare = (
    byRules: Bits | undefined,
    byGrants: Bits | undefined,
    aspect: Parameters<Differences['compare']>[0],
  ) => differences.compare(aspect, (byRules ?? nobody).and(both), (byGrants ?? nobody).and(both));
  for (const expression of union(given.filters, wanted.filters)) {
    const aspect = { about: 'row-filter', place, expression } as const;
    compare(given.filters.get(expression), wanted.filters.get(expression), aspect);
  }
  for (const column of union(given.hidden, wanted.hidden)) {
    compare(given.hidden.get(column), wanted.hidden.get(column), { about: 'hidden-column', place, column });
  }
  for (const column of union(given.masks, wanted.masks)) {
    const byRules = given.masks.get(column) ?? new Map<string, Bits>();
    const byGrants = wanted.masks.get(column) ?? new Map<string, Bits>();
    for (const expression of union(byRules, byGrants)) {
      const aspect = { about: 'column-mask', place, column, expression } as const;
      compare(byRules.get(expression), byGrants.get(expression), aspect);
    }
  }
}

function names(
  tables: EngineSets['tables'],
  path: readonly string[],
  named: ReadonlyMap<string, unknown>,
  ...further: ReadonlySet<string>[]
): Set<string> {
  return new Set([...named.keys(), ...tables.names(path), ...further.flatMap((each) => [...each]), FRESH]);
}

function byName(node: NamedNode | undefined, level: 'schema' | 'table'): Map<string, NamedNode> {
  return new Map([...(node?.children() ?? [])].map((child) => [child.resource[level] ?? '', child]));
}

function union(a: ReadonlyMap<string, unknown>, b: ReadonlyMap<string, unknown>): Set<string> {
  return new Set([...a.keys(), ...b.keys()]);
}
