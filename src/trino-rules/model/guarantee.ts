import { isInTree, isKillQuery, principalIn, type Node, SYSTEM } from './node.js';
import type { PolicyPrincipal } from './principal.js';
import { isRoutinePrivilege, type Privilege } from './privilege.js';

export const GUARANTEE_KINDS = ['never', 'only', 'always', 'apart', 'at_most'] as const;

export type GuaranteeKind = (typeof GUARANTEE_KINDS)[number];

/** Modes of guarantees. `enforced`: changes that break the guarantee are refused. `reported`: a breach is only reported. */
export const GUARANTEE_MODES = ['enforced', 'reported'] as const;

export type GuaranteeMode = (typeof GUARANTEE_MODES)[number];

/** Privileges on a node and everything below it. */
export interface GuaranteeScope {
  resource: Node;
  /** OWNERSHIP is split into SCHEMA_OWNERSHIP and TABLE_OWNERSHIP. */
  privileges: readonly Privilege[];
  /** Limits the scope to reading the real values of this column: reading the table with the column hidden or masked is not in the scope. */
  column?: string;
  /** Whether only reading without a row filter is in the scope. */
  isUnfiltered: boolean;
}

/** A condition against which the access of each version is checked. A guarantee grants and denies nothing. */
export interface Guarantee {
  id: number;
  name: string;
  kind: GuaranteeKind;
  mode: GuaranteeMode;
  /** The principals to whom the guarantee applies; everyone for `only`. */
  principal: PolicyPrincipal;
  /** Principals that are exempt; for `only` the principals that may have access. */
  except: readonly PolicyPrincipal[];
  /** The access that the guarantee is about: two scopes for `apart`, else one. */
  scopes: readonly GuaranteeScope[];
  /** For `at_most`: how many people and engine principals may have access. */
  count: number;
}

/** Whether changes that break a guarantee are refused. Guarantees of kind `always` refuse nothing, because that could delay a revoke. */
export function canRefuse({ kind, mode }: Pick<Guarantee, 'kind' | 'mode'>): boolean {
  return mode === 'enforced' && kind !== 'always';
}

/** Whether a guarantee judges the access of each principal to all nodes together, and not node by node. */
export function isPerPrincipal({ kind }: Pick<Guarantee, 'kind'>): boolean {
  return kind === 'apart' || kind === 'at_most';
}

export function principalsIn({ principal, except, scopes }: Guarantee): PolicyPrincipal[] {
  return [principal, ...except, ...scopes.flatMap(({ resource }) => principalIn(resource) ?? [])];
}

/** The nodes whose grants and policies decide access by these privileges on a node, for example in a scope of a guarantee. */
export function judgedNodes(
  { resource, privileges }: Pick<GuaranteeScope, 'resource' | 'privileges'>,
  { externalTableCatalogs }: { externalTableCatalogs: readonly string[] },
): Node[] {
  // Any privilege on any data also allows executing queries. KILL_QUERIES on the engine also allows calling `kill_query`.
  if (privileges.includes('EXECUTE_QUERIES')) return [{}, { catalog: SYSTEM }, resource];
  if (isKillQuery(resource)) return [resource, { engine: true }];
  // A policy anywhere in the catalog can take away rights over routines. In `externalTableCatalogs`, such a policy can also take away ownership.
  const { catalog } = resource;
  const needsCatalog = privileges.some(isRoutinePrivilege) || externalTableCatalogs.includes(catalog ?? '');
  return [catalog !== undefined && isInTree(resource) && needsCatalog ? { catalog } : resource];
}
