import type { OtherRight } from '../../trino-rules/diff/access-diff-form.js';
import { FRESH_PREFIX } from '../../trino-rules/document/open-names.js';
import type { AccessFact } from '../../trino-rules/engine/access-fact.js';
import { isKillQuery, type Node, SYSTEM } from '../../trino-rules/model/node.js';
import { tablesOfSystem } from './system-tables.js';

/**
 * The mode `all` alone and the catalog `system` alone permit no statement; in `system`, there are no schemas but three.
 */
export function isWithoutEffect(fact: AccessFact | OtherRight): boolean {
  if (fact.about === 'catalog-mode') return fact.mode === 'all' || fact.resource.catalog === SYSTEM;
  if (fact.about !== 'privilege' || fact.privilege !== 'SELECT' || fact.resource.catalog !== SYSTEM) return false;
  return tablesOfSystem(fact.resource.schema).length === 0;
}

/** What is in `system` but is not read, of which statements make nothing but views for others. */
export function isOfSystem(fact: AccessFact): boolean {
  if (!('resource' in fact) || fact.resource.catalog !== SYSTEM) return false;
  return (
    fact.about === 'schema-ownership' ||
    (fact.about === 'privilege' && fact.privilege !== 'SELECT') ||
    (fact.about === 'routine' && !isKillQuery(fact.resource))
  );
}

/** Whether it is about names of data that no rule spells out. */
export function isOfPattern(fact: AccessFact): boolean {
  if (!('resource' in fact) || fact.about === 'routine' || fact.resource.catalog === SYSTEM) return false;
  const { catalog, schema, table }: Node = fact.resource;
  return [catalog, schema, table].some(isUnnamed);
}

export function isUnnamed(name: string | undefined): boolean {
  return name?.includes(FRESH_PREFIX) === true;
}
