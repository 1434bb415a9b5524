import type { IntentSets, NamedNode } from './intent-sets.js';
import type { NodeSets } from './node-sets.js';
import { literal } from './name-pattern.js';
import { interleaved, type Block } from './rule-order.js';
import { changedFrom, outcomesAt, type Outcome } from './outcome.js';
import type { Sibling } from './rectangles.js';
import type { TableRule } from '../rules/rules-document.js';
import { SiblingRules, type Level, type SiblingRule } from './sibling-rules.js';

/** Nodes under one parent, of which something is said. */
export interface SiblingNodes {
  level: Level;
  /** The name of the parent; empty above catalogs. */
  above: string;
  /** The patterns of the levels above. */
  where: SiblingRule;
  siblings: Sibling<Outcome>[];
}

/** The rules for everybody but the service accounts. */
export function tableRules(intent: IntentSets): TableRule[] {
  const write = new SiblingRules(intent);
  const schemas: Block<TableRule>[] = [];
  const catalogs: Block<TableRule>[] = [];
  let rules: TableRule[] = [];
  for (const { above, siblings, level, where } of siblingNodes(intent)) {
    const told = write.about(siblings, level, where);
    if (level === 'table') schemas.push({ name: above, rules: told.map(({ rule }) => rule) });
    else if (level === 'schema') catalogs.push({ name: above, rules: interleaved(schemas.splice(0), told) });
    else rules = interleaved(catalogs, told);
  }
  return rules;
}

/**
 * What table rules have to say, one parent at a time and behind all below it: at a node only those must be told of who get
 * something else there than the next broader rule gives them.
 */
export function* siblingNodes(intent: IntentSets): Generator<SiblingNodes> {
  const { none, serviceAccounts } = intent.subjects;
  const catalogs = [...intent.catalogs()];
  for (const catalog of catalogs) {
    const schemas = [...catalog.children()];
    const inCatalog = { catalog: literal(catalog.resource.catalog) };
    for (const schema of schemas) {
      const inSchema = { ...inCatalog, schema: literal(schema.resource.schema ?? '') };
      yield nodes(schema.children(), schema.resource.schema ?? '', 'table', schema.sets, inSchema);
    }
    yield nodes(schemas, catalog.resource.catalog, 'schema', catalog.sets, inCatalog);
  }
  yield nodes(catalogs, '', 'catalog', null, {});

  function nodes(
    all: Iterable<NamedNode>,
    parent: string,
    level: Level,
    above: NodeSets | null,
    where: SiblingRule,
  ): SiblingNodes {
    const changed = [...all].filter(({ changed }) => changed);
    const siblings = changed.map(({ resource, sets }) => {
      const must = (above ? changedFrom(above, sets, none) : sets.reached).minus(serviceAccounts);
      const parts = outcomesAt(sets, sets.reached.minus(serviceAccounts).or(must)).map(({ outcome, people }) => ({
        outcome,
        rank: outcome.privileges.length,
        must: people.and(must),
        may: people,
      }));
      return { name: resource[level] ?? '', parts };
    });
    return { level, above: parent, where, siblings };
  }
}
