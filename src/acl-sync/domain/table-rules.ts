import type { Bits } from '../../grants/domain/bits.js';
import type { IntentSets, NamedNode } from '../../grants/domain/intent-sets.js';
import type { NodeSets } from '../../grants/domain/node-sets.js';
import type { Resource } from '../../grants/domain/resource.js';
import { audience } from './audience.js';
import { literal } from './name-pattern.js';
import { changedFrom, outcomesAt } from './outcome.js';
import type { TableRule } from './rules-document.js';

/**
 * The rules for everybody but the service accounts: narrowest node first, and at a node only those who get something else
 * there than the next broader rule gives them.
 */
export function tableRules(intent: IntentSets): TableRule[] {
  return [...intent.catalogs()].flatMap((catalog) => {
    const byDepth: TableRule[][] = [[], [], []];
    visit(catalog, null, 0);
    return byDepth.reverse().flat();

    function visit(node: NamedNode, above: NodeSets | null, depth: number): void {
      if (node.changed) byDepth[depth]?.push(...rulesAt(node, above));
      for (const child of node.children()) visit(child, node.sets, depth + 1);
    }
  });

  function rulesAt({ resource, sets }: NamedNode, above: NodeSets | null): TableRule[] {
    const { list, serviceAccounts, none } = intent.subjects;
    const people: Bits = above ? changedFrom(above, sets, none) : sets.reached;
    return outcomesAt(sets, people.minus(serviceAccounts)).map(({ outcome, people }) => ({
      user: audience(people, list),
      ...patterns(resource),
      ...outcome,
    }));
  }
}

function patterns({ catalog, schema, table }: Resource): Pick<TableRule, 'catalog' | 'schema' | 'table'> {
  return {
    catalog: literal(catalog),
    ...(schema !== undefined && { schema: literal(schema) }),
    ...(table !== undefined && { table: literal(table) }),
  };
}
