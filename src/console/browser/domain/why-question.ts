import { type Named, parsePrincipal } from './principal.js';
import { PRIVILEGES, type Node, type Privilege } from './privileges.js';

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
