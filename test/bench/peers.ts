import { changedFrom, outcomesAt } from '../../src/acl-sync/domain/outcome.js';
import type { CompiledRules } from '../../src/acl-sync/domain/compile.js';
import { literal } from '../../src/acl-sync/domain/name-pattern.js';
import type { TableRule } from '../../src/acl-sync/domain/rules-document.js';
import { rulesText } from '../../src/acl-sync/domain/rules-text.js';
import { intentSets, type NamedNode } from '../../src/grants/domain/intent-sets.js';
import type { NodeSets } from '../../src/grants/domain/node-sets.js';
import type { Resource } from '../../src/grants/domain/resource.js';
import type { Snapshot } from '../../src/grants/domain/snapshot.js';

/** The same rules as ours but for tables: one for each node and outcome, with the names of its people in full. */
export function namesInFull(snapshot: Snapshot, compiled: CompiledRules): string {
  const intent = intentSets(snapshot);
  const { list, none, serviceAccounts } = intent.subjects;
  const rules = [...intent.catalogs()].flatMap((catalog) => {
    const byDepth: TableRule[][] = [[], [], []];
    const visit = (node: NamedNode, above: NodeSets | null, depth: number): void => {
      const people = (above ? changedFrom(above, node.sets, none) : node.sets.reached).minus(serviceAccounts);
      for (const { outcome, people: users } of outcomesAt(node.sets, people)) {
        const user = users
          .members()
          .map((i) => literal(list[i]?.name ?? ''))
          .join('|');
        byDepth[depth]?.push({ user, ...patterns(node.resource), ...outcome });
      }
      for (const child of node.children()) visit(child, node.sets, depth + 1);
    };
    visit(catalog, null, 0);
    return byDepth.reverse().flat();
  });
  return rulesText({ ...compiled.document, tables: rules });
}

function patterns({ catalog, schema, table }: Resource): Pick<TableRule, 'catalog' | 'schema' | 'table'> {
  return {
    catalog: literal(catalog),
    ...(schema !== undefined && { schema: literal(schema) }),
    ...(table !== undefined && { table: literal(table) }),
  };
}
