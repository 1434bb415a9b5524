import { kindOf, namedBy, type Node } from '../../trino-rules/model/node.js';
import { isAboutEveryone, Principals } from '../../trino-rules/model/principals.js';
import { type Snapshot, principalsOf } from '../../trino-rules/model/snapshot.js';

/** What shares rules with a node: those beside the data together, else its schema, its catalog, or with nulls all catalogs. */
export interface Area {
  /** The engine with its queries, and acting as others. */
  isBeside: boolean;
  catalog: string | null;
  schema: string | null;
}

/** A table counts as its schema, and a routine, which a restriction anywhere in its catalog closes, as its catalog. */
export function areaOf(node: Node): Area {
  const { catalog = null, schema = null } = node;
  const kind = kindOf(node);
  return {
    isBeside: kind === 'engine' || namedBy(node) !== undefined,
    catalog,
    schema: kind === 'routine' ? null : schema,
  };
}

/**
 * The part of a snapshot that a change of these nodes touches: entries in their areas, above and below, and the principals that these
 * name. What is said on everything is above all catalogs. As the store reads it of rows that are written.
 */
export function touchedPart(snapshot: Snapshot, nodes: readonly Node[]): Snapshot {
  const areas = nodes.map(areaOf);
  const inTree = areas.filter(({ isBeside }) => !isBeside);
  const keys = new Set(inTree.map(keyOf));
  const catalogs = new Set(inTree.map(({ catalog }) => catalog));
  const isTouched = ({ resource }: { resource: Node }): boolean => {
    const area = areaOf(resource);
    if (area.isBeside) return inTree.length < areas.length;
    if (area.catalog === null || catalogs.has(null)) return inTree.length > 0;
    if (area.schema === null) return catalogs.has(area.catalog);
    return keys.has(keyOf(area)) || keys.has(keyOf({ ...area, schema: null }));
  };
  const policies = snapshot.policies.filter(isTouched);
  const part = new Set(new Principals(snapshot).part(snapshot.grants.filter(isTouched), policies));
  const grants = snapshot.grants.filter((grant) => part.has(grant));
  const named = [...grants, ...policies].flatMap(principalsOf);
  const ids = (type: 'user' | 'group') => new Set(named.flatMap((each) => (each.type === type ? [each.id] : [])));
  const groupIds = ids('group');
  const isForAll = isAboutEveryone(grants, policies);
  // Engine principals in any group are among everyone.
  const groups = snapshot.groups.filter(({ id, engines }) => groupIds.has(id) || (isForAll && engines.length > 0));
  const userIds = new Set([...ids('user'), ...groups.flatMap(({ members }) => members)]);
  const users = snapshot.users.filter(({ id }) => isForAll || userIds.has(id));
  return { ...snapshot, grants, policies, groups, users };
}

function keyOf({ catalog, schema }: Area): string {
  return JSON.stringify([catalog, schema]);
}
