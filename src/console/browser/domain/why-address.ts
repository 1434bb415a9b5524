import type { Schemas } from '../api/client.js';
import { permissionOf } from './access-change.js';
import {
  grantAddress,
  type Node,
  nodeOfForm,
  placeOfAddress,
  placeOfNode,
  type Privilege,
  PRIVILEGES,
  privilegesOn,
  writePlace,
} from './grant-form.js';
import { pathText } from './node-path.js';
import { KIND_NAMES } from './policy-form.js';
import { type Named, parsePrincipal, principalParameter } from './principal.js';

/** The page that says why somebody may do something on a node, or not. */
export function whyAddress(principal: Named, privilege: string, node: object): string {
  const asked = new URLSearchParams({ principal: principalParameter(principal), privilege });
  const form = placeOfNode(node);
  if (form.place === 'engine') asked.set('engine', 'true');
  writePlace(form, asked);
  return `/why?${asked.toString()}`;
}

interface Entry {
  resource: object;
  privileges: readonly Privilege[];
  origins: readonly { grant_id: number }[];
}

/** Whether a node is acting as several people, or their queries: *Why* has no answer about these. */
export function isOfSeveral({ as, queries = as }: Node): boolean {
  return queries?.type === 'group' || queries?.type === 'everyone';
}

/** The address that explains an entry: *Why*, or its grant where *Why* has no answer. Null: none. */
export function whyOfEntry(principal: Named, { resource, privileges, origins }: Entry): string | null {
  const node = resource as Node;
  if (isOfSeveral(node)) return origins[0] === undefined ? null : grantAddress(origins[0].grant_id);
  return whyAddress(principal, privileges[0] ?? privilegesOn(node)[0] ?? 'SELECT', node);
}

/** The address that explains a gained or lost access; null: its text names no privilege on data. */
export function whyOfChange(what: string, principal: Named): string | null {
  const permission = permissionOf(what);
  return permission && whyAddress(principal, permission.privilege, permission.node);
}

/** The question in the address of *Why*. */
export interface WhyQuestion {
  /** Null: not chosen yet, or the reader. */
  principal: Named | null;
  privilege: Privilege;
  node: Node;
}

export function questionOfAddress(address: URLSearchParams): WhyQuestion {
  return {
    principal: parsePrincipal(address.get('principal')),
    privilege: PRIVILEGES.find((each) => each === address.get('privilege')) ?? 'SELECT',
    node: nodeOfForm(placeOfAddress(address)) ?? {},
  };
}

/** The node with the name of its principal. */
export function withName(node: Node, name: string): Node {
  const { as, queries } = node;
  if (name === '' || (as ?? queries) === undefined) return node;
  return (as === undefined ? { queries: { ...queries, name } } : { as: { ...as, name } }) as Node;
}

const WORDS: Partial<Record<Privilege, string>> = { SELECT: 'from', DELETE: 'from', INSERT: 'into' };

/** *from*, *into* or *on*, between a privilege and a node. */
export function prepositionOf(privilege: Privilege): string {
  return WORDS[privilege] ?? 'on';
}

type Restriction = Schemas['ExplanationResponse']['restrictions'][number];
/** Names of a resource of the API. */
type Names = Partial<Record<'table' | 'column', string>>;

/** *deny 4 on sales.eu takes it*; of a companion *row filter 3 on sales.eu.orders closes companion tables, too*. */
export function restrictionText(restrictions: readonly Restriction[], { table }: Pick<Node, 'table'>): string {
  const taking = restrictions.filter((restriction) => !isOfBase(restriction, table));
  const named = (taking.length > 0 ? taking : restrictions).map(
    ({ kind, policy_id: id, resource }) =>
      `${KIND_NAMES[kind].toLowerCase()} ${id} on ${[pathText(resource), (resource as Names).column ?? []].flat().join('.')}`,
  );
  const [verb, object] = taking.length > 0 ? ['take', 'it'] : ['close', 'companion tables, too'];
  return `${named.join(', ')} ${verb}${named.length === 1 ? 's' : ''} ${object}`;
}

/** Whether a policy takes a companion such as `orders$files` only because it restricts the base table, or all tables of the schema. */
function isOfBase({ kind, resource }: Restriction, table = ''): boolean {
  const { table: named } = resource as Names;
  return table.includes('$') && (named === undefined ? kind !== 'deny' : named !== table);
}
