import { Principals } from '../../trino-rules/model/principals.js';
import type { Node } from '../../trino-rules/model/node.js';
import type { Snapshot } from '../../trino-rules/model/snapshot.js';

/**
 * The part of a snapshot that a change of these nodes touches: entries above and below them, a table counting as its schema, whose
 * tables share rules, and the principals that these name. As the store reads it of rows that are written.
 */
export function touchedPart(snapshot: Snapshot, nodes: readonly Node[]): Snapshot {
  const area = ({ catalog, schema = '' }: Node): string => `${catalog}\0${schema}`;
  const areas = new Set(nodes.map(area));
  const catalogs = new Set(nodes.map(({ catalog }) => catalog));
  const isTouched = ({ resource }: { resource: Node }): boolean =>
    resource.schema === undefined
      ? catalogs.has(resource.catalog)
      : areas.has(area(resource)) || areas.has(area({ ...resource, schema: '' }));
  const grants = new Principals(snapshot).part(snapshot.grants.filter(isTouched));
  const policies = snapshot.policies.filter(isTouched);
  const named = [...grants, ...policies].flatMap(({ principal, ...rest }) => [
    principal,
    ...('except' in rest ? rest.except : []),
  ]);
  const ids = (type: 'user' | 'group') =>
    new Set(named.flatMap((subject) => (subject.type === type ? [subject.id] : [])));
  const groupIds = ids('group');
  // Engine principals in any group are among everyone.
  const isForAll = named.some(({ type }) => type === 'everyone');
  const groups = snapshot.groups.filter(({ id, engines }) => groupIds.has(id) || (isForAll && engines.length > 0));
  const userIds = new Set([...ids('user'), ...groups.flatMap(({ members }) => members)]);
  const isGranted = grants.some(({ principal }) => principal.type === 'everyone');
  const users = snapshot.users.filter(({ id }) => isGranted || userIds.has(id));
  return { ...snapshot, grants, policies, groups, users };
}
