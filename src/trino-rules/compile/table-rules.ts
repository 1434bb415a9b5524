import type { TableRule } from '../document/rules-document.js';
import { Bits } from './bits.js';
import type { IntentSets } from './intent-sets.js';
import { literal } from './name-pattern.js';
import type { NodeAccess } from './node-access.js';
import type { Outcome } from './outcome.js';
import type { Sibling } from './rectangles.js';
import { interleaved, type Block } from './rule-order.js';
import { SiblingRules, type Level, type SiblingRule } from './sibling-rules.js';
import type { Subjects } from './subjects.js';

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
export function* siblingNodes({ catalogs, top, subjects }: IntentSets): Generator<SiblingNodes> {
  const tops: Sibling<Outcome>[] = [];
  for (const catalog of catalogs()) {
    const inCatalog = { catalog: literal(catalog.resource.catalog) };
    const schemas: Sibling<Outcome>[] = [];
    for (const schema of catalog.children()) {
      const name = schema.resource.schema ?? '';
      const where = { ...inCatalog, schema: literal(name) };
      const tables: Sibling<Outcome>[] = [];
      for (const { resource, access } of schema.children())
        tables.push(sibling(resource.table ?? '', access, schema.access, subjects));
      yield { level: 'table', above: name, where, siblings: tables };
      schemas.push(sibling(name, schema.access, catalog.access, subjects));
    }
    yield { level: 'schema', above: catalog.resource.catalog, where: inCatalog, siblings: schemas };
    tops.push(sibling(catalog.resource.catalog, catalog.access, top, subjects));
  }
  yield { level: 'catalog', above: '', where: {}, siblings: tops };
}

function sibling(
  name: string,
  { changes }: NodeAccess,
  above: NodeAccess,
  { none, serviceAccounts }: Subjects,
): Sibling<Outcome> {
  const byOutcome = new Map<Outcome, number[]>();
  for (const { position, from, to } of changes) {
    if (from.outcome === to.outcome || serviceAccounts.has(position)) continue;
    const known = byOutcome.get(to.outcome);
    if (known) known.push(position);
    else byOutcome.set(to.outcome, [position]);
  }
  const changed = [...byOutcome].map(([outcome, people]) => ({ outcome, must: Bits.of(none.size, people) }));
  const moved = Bits.of(none.size, [...byOutcome.values()].flat());
  const stayed = (people: Bits): Bits => people.minus(moved).minus(serviceAccounts);
  const parts = changed.map(({ outcome, must }) => {
    const rank = outcome.privileges.length;
    const may = rank === 0 ? must : must.or(stayed(above.outcomes.get(outcome) ?? none));
    return { outcome, rank, must, may };
  });
  const holders = parts.reduce((all, { rank, must }) => (rank === 0 ? all : all.or(must)), stayed(above.reached));
  return { name, parts, holders };
}
