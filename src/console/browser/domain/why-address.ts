import { type Named, principalParameter } from './principal-parameter.js';

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
