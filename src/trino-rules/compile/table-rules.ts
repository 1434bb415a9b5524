import type { TableRule } from '../document/rules-document.js';
import type { RuleEffect } from './access-state.js';
import { Bitset } from './bitset.js';
import { getOrInsert } from './get-or-insert.js';
import type { IntentSets } from './intent-sets.js';
import { literal } from './name-pattern.js';
import type { NodeAccess } from './node-access.js';
import type { PrincipalIndex } from './principal-index.js';
import type { Sibling } from './rectangles.js';
import { interleaved, type Block } from './table-rule-order.js';
import type { Level, SiblingRule, SiblingRules } from './sibling-rules.js';
import { TextSize } from './text-size.js';

/** Nodes with entries under one parent. */
export interface SiblingNodes {
  level: Level;
  /** The name of the parent; empty above catalogs. */
  above: string;
  /** With the names above it: `sales.eu`. */
  path: string;
  /** The patterns of the levels above. */
  where: SiblingRule;
  siblings: Sibling<RuleEffect>[];
}

/** The rules of all principals but the service accounts. */
export function tableRules(intent: IntentSets, write: SiblingRules, size: TextSize): TableRule[] {
  const schemas: Block<TableRule>[] = [];
  const catalogs: Block<TableRule>[] = [];
  let rules: TableRule[] = [];
  for (const { above, path, siblings, level, where } of siblingNodes(intent, size)) {
    const written = write.about(siblings, level, where);
    size.settle(
      level,
      written.map(({ rule }) => rule),
      path,
    );
    if (level === 'table') schemas.push({ name: above, rules: written.map(({ rule }) => rule) });
    else if (level === 'schema') catalogs.push({ name: above, rules: interleaved(schemas.splice(0), written) });
    else rules = interleaved(catalogs, written);
  }
  return rules;
}

/**
 * What table rules have to say, one parent at a time and behind all below it: at a node only those must be written of who get
 * something else there than the next broader rule gives them.
 */
export function* siblingNodes(
  { catalogs, top, principals }: IntentSets,
  size = new TextSize(Infinity),
): Generator<SiblingNodes> {
  const tops: Sibling<RuleEffect>[] = [];
  const meetTop = size.parent('catalog', {}, '');
  for (const catalog of catalogs()) {
    const inCatalog = { catalog: literal(catalog.resource.catalog) };
    const schemas: Sibling<RuleEffect>[] = [];
    const meetSchema = size.parent('schema', inCatalog, catalog.resource.catalog);
    for (const schema of catalog.children()) {
      const name = schema.resource.schema ?? '';
      const where = { ...inCatalog, schema: literal(name) };
      const tables: Sibling<RuleEffect>[] = [];
      const path = `${catalog.resource.catalog}.${name}`;
      const meetTable = size.parent('table', where, path);
      for (const { resource, access } of schema.children())
        tables.push(sibling(resource.table ?? '', access, schema.access, principals, meetTable));
      yield { level: 'table', above: name, path, where, siblings: tables };
      schemas.push(sibling(name, schema.access, catalog.access, principals, meetSchema));
    }
    const above = catalog.resource.catalog;
    yield { level: 'schema', above, path: above, where: inCatalog, siblings: schemas };
    tops.push(sibling(catalog.resource.catalog, catalog.access, top, principals, meetTop));
  }
  yield { level: 'catalog', above: '', path: '', where: {}, siblings: tops };
}

function sibling(
  name: string,
  { changes }: NodeAccess,
  above: NodeAccess,
  { none, serviceAccounts }: PrincipalIndex,
  meet: (effect: RuleEffect) => void,
): Sibling<RuleEffect> {
  const byEffect = new Map<RuleEffect, number[]>();
  for (const { position, from, to } of changes) {
    if (from.effect === to.effect || serviceAccounts.has(position)) continue;
    meet(to.effect);
    getOrInsert(byEffect, to.effect, () => []).push(position);
  }
  const changed = [...byEffect].map(([effect, people]) => ({ effect, must: Bitset.of(none.size, people) }));
  const moved = Bitset.of(none.size, [...byEffect.values()].flat());
  const stayed = (people: Bitset): Bitset => people.minus(moved).minus(serviceAccounts);
  const parts = changed.map(({ effect, must }) => {
    const rank = effect.privileges.length;
    const may = rank === 0 ? must : must.or(stayed(above.effects.get(effect) ?? none));
    return { effect, rank, must, may };
  });
  const holders = parts.reduce((all, { rank, must }) => (rank === 0 ? all : all.or(must)), stayed(above.reached));
  return { name, parts, holders };
}
