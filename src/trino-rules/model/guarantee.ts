import { isInTree, isKillQuery, isNonDataNode, namedBy, type Node, SYSTEM } from './node.js';
import type { PolicyPrincipal } from './principal.js';
import { isOverRoutines, type Privilege } from './privilege.js';

export const GUARANTEE_KINDS = ['never', 'only', 'always', 'apart', 'at_most'] as const;

export type GuaranteeKind = (typeof GUARANTEE_KINDS)[number];

/** `reported`: a breach is reported, and refuses nothing. */
export const GUARANTEE_MODES = ['enforced', 'reported'] as const;

export type GuaranteeMode = (typeof GUARANTEE_MODES)[number];

/** Privileges on a node and everything below it. */
export interface GuaranteeScope {
  resource: Node;
  /** In parts: OWNERSHIP as SCHEMA_OWNERSHIP and TABLE_OWNERSHIP. */
  privileges: readonly Privilege[];
  /** Only reading the real value of this column: it is neither hidden nor masked. */
  column?: string;
  /** Only reading without a row filter. */
  isUnfiltered: boolean;
}

/** A sentence about access that no version may break. It gives and takes nothing. */
export interface Guarantee {
  id: number;
  name: string;
  kind: GuaranteeKind;
  mode: GuaranteeMode;
  /** The principals that can break it; everyone for `only`. */
  principal: PolicyPrincipal;
  /** Exceptions; for `only` the principals that are allowed. */
  except: readonly PolicyPrincipal[];
  /** Two for `apart`, else one. */
  scopes: readonly GuaranteeScope[];
  /** Maximum of people and engine principals for `at_most`. */
  count: number;
}

/** Whether a change that breaks it is refused. `always` refuses nothing: it could delay a revoke. */
export function isRefusing({ kind, mode }: Pick<Guarantee, 'kind' | 'mode'>): boolean {
  return mode === 'enforced' && kind !== 'always';
}

/** Whether it is broken by what a principal has in all its scopes, wherever; else by each node. */
export function isAboutPeople({ kind }: Pick<Guarantee, 'kind'>): boolean {
  return kind === 'apart' || kind === 'at_most';
}

export function principalsIn({ principal, except, scopes }: Guarantee): PolicyPrincipal[] {
  return [principal, ...except, ...scopes.flatMap(({ resource }) => namedBy(resource) ?? [])];
}

/** Whether an entry at a node can affect a scope: their catalogs overlap, or both are outside of the catalogs. */
export function isNear({ resource, privileges }: GuaranteeScope, node: Node): boolean {
  if (privileges.includes('EXECUTE_QUERIES')) return true;
  if (isNonDataNode(node)) return isNonDataNode(resource) || isKillQuery(resource);
  return !isNonDataNode(resource) && (isAbove(resource, node) || isAbove(node, resource));
}

/** Where a snapshot must hold all entries for a scope to be judged by it. */
export function judgedNodes(
  { resource, privileges }: GuaranteeScope,
  { externalTableCatalogs }: { externalTableCatalogs: readonly string[] },
): Node[] {
  // Any access includes executing queries; killing queries includes calling the procedure.
  if (privileges.includes('EXECUTE_QUERIES')) return [{}, { catalog: SYSTEM }, resource];
  if (isKillQuery(resource)) return [resource, { engine: true }];
  // Routines and shared files yield to restrictions anywhere in the catalog.
  const { catalog } = resource;
  const isWide = privileges.some(isOverRoutines) || externalTableCatalogs.includes(catalog ?? '');
  return [catalog !== undefined && isInTree(resource) && isWide ? { catalog } : resource];
}

function isAbove(wide: Node, { catalog }: Node): boolean {
  return wide.catalog === undefined ? catalog !== SYSTEM : wide.catalog === catalog;
}
