import type { Named } from './principal.js';
import { whyAddress } from './why-address.js';

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
