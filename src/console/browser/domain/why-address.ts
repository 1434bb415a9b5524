import { grantAddress } from './grant-address.js';
import { type Named, principalParameter } from './principal.js';
import { type Node, type Privilege, privilegesOn } from './privileges.js';

const FIELDS = ['catalog', 'schema', 'table', 'routine'] as const;

/** The page that says why somebody may do something on a node, or not. */
export function whyAddress(principal: Named, privilege: string, node: object): string {
  const { engine, as, queries, ...names } = node as Record<string, unknown>;
  const asked = new URLSearchParams({ principal: principalParameter(principal), privilege });
  for (const field of FIELDS) {
    const name = names[field];
    if (typeof name === 'string') asked.set(field, name);
  }
  if (engine === true) asked.set('engine', 'true');
  if (as !== undefined) asked.set('as', principalParameter(as as Named));
  if (queries !== undefined) asked.set('queries', principalParameter(queries as Named));
  return `/why?${asked.toString()}`;
}

interface Entry {
  resource: object;
  privileges: readonly Privilege[];
  origins: readonly { grant_id: number }[];
}

/** Where an entry of somebody's access is explained: of the queries of several, which are asked about one by one, its grant. Null: nowhere. */
export function whyOfEntry(principal: Named, { resource, privileges, origins }: Entry): string | null {
  const node = resource as Node;
  const owner = node.queries?.type;
  if (owner === 'group' || owner === 'everyone')
    return origins[0] === undefined ? null : grantAddress(origins[0].grant_id);
  return whyAddress(principal, privileges[0] ?? privilegesOn(node)[0] ?? 'SELECT', node);
}
