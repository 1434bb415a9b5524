import { grantAddress } from './grant-form.js';
import { type Named, parsePrincipal, principalParameter } from './principal.js';
import { type Node, type Privilege, PRIVILEGES, privilegesOn } from './privileges.js';
import type { Schemas } from '../api/client.js';
import { pathText } from './node-path.js';
import { KIND_NAMES } from './policy-form.js';

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

/**
 * The address that explains why somebody has lost what a change names, such as `SELECT from sales.eu.orders`.
 * @returns null: it names no privilege on a table or what is above one
 */
export function whyLost(what: string, principal: Named): string | null {
  const [, privilege, path] = /^([A-Z_]+) \w+ ([^\s:]+)$/.exec(what) ?? [];
  if (privilege === undefined || path === undefined) return null;
  const names = path.split('.');
  if (names.length > 3) return null;
  const [catalog, schema, table] = names.map((name) => (name === '*' ? undefined : name));
  return whyAddress(principal, privilege, { catalog, schema, table });
}

/** What the address of *Why* asks. */
export interface WhyQuestion {
  /** Null: nobody is named yet; about oneself. */
  principal: Named | null;
  privilege: Privilege;
  node: Node;
}

export function questionOfAddress(address: URLSearchParams): WhyQuestion {
  const names = Object.fromEntries(
    ['catalog', 'schema', 'table', 'routine'].flatMap((field) => {
      const name = address.get(field) ?? '';
      return name === '' ? [] : [[field, name]];
    }),
  ) as Node;
  const [as, queries] = [parsePrincipal(address.get('as')), parsePrincipal(address.get('queries'))];
  return {
    principal: parsePrincipal(address.get('principal')),
    privilege: PRIVILEGES.find((each) => each === address.get('privilege')) ?? 'SELECT',
    node:
      address.get('engine') === 'true'
        ? { engine: true }
        : as !== null
          ? { as: as as Exclude<Node['as'], undefined> }
          : queries !== null
            ? { queries: queries as Exclude<Node['queries'], undefined> }
            : names,
  };
}

/** With the name of the one whom it names. */
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
/** The names of the API's kinds of nodes. */
type Names = Partial<Record<'table' | 'column', string>>;

/** *deny 4 on sales.eu takes it*; of a companion *row filter 3 on sales.eu.orders closes companion tables, too*. */
export function takenBy(restrictions: readonly Restriction[], { table }: Pick<Node, 'table'>): string {
  const taking = restrictions.filter((restriction) => !isOfBase(restriction, table));
  const named = (taking.length > 0 ? taking : restrictions).map(
    ({ kind, policy_id: id, resource }) =>
      `${KIND_NAMES[kind].toLowerCase()} ${id} on ${[pathText(resource), (resource as Names).column ?? []].flat().join('.')}`,
  );
  const [verb, object] = taking.length > 0 ? ['take', 'it'] : ['close', 'companion tables, too'];
  return `${named.join(', ')} ${verb}${named.length === 1 ? 's' : ''} ${object}`;
}

/** Whether it takes a companion such as `orders$files` alone because it restricts the table, or all tables of the schema. */
function isOfBase({ kind, resource }: Restriction, table = ''): boolean {
  const { table: named } = resource as Names;
  return table.includes('$') && (named === undefined ? kind !== 'deny' : named !== table);
}
