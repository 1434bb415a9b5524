import { getOrInsert } from '../../kernel/collections.js';
import { covers, isInTree, SYSTEM, type Node } from '../../trino-rules/model/node.js';
import {
  isOverData,
  isOverRoutines,
  type Privilege,
  PRIVILEGE_TERMS,
  taken,
  withContained,
} from '../../trino-rules/model/privilege.js';
import type { Given, PolicyDetails, Row } from './user-access.js';

/** What each user and joiner is to have: what a policy that is not about them may not take. */
export class HeldRights {
  private readonly byName = new Map<string, Given[]>();

  constructor(given: Iterable<Row<Given>>) {
    for (const { what, names } of given) for (const name of names) getOrInsert(this.byName, name, () => []).push(what);
  }

  /** Where a deny keeps a user from privileges and takes nothing that the user has: on the catalog where nothing is had in it; null: nowhere. */
  deniable(name: string, resource: Node, privileges: Privilege[]): Node | null {
    const { catalog } = resource;
    const held = this.of(name);
    // Something is read there by whoever has anything.
    if (catalog === SYSTEM) return held.length === 0 ? resource : null;
    if (catalog !== undefined && isInTree(resource) && held.every((each) => !isInCatalog(each.resource, catalog)))
      return { catalog };
    return held.some((each) => isHarmed(each, { kind: 'deny', resource, privileges })) ? null : resource;
  }

  /** Whether a policy takes something from a user to whom it is not to apply. */
  isSpared(name: string, policy: PolicyDetails, isListed: boolean): boolean {
    const { resource } = policy;
    const { catalog } = resource;
    // Two masks of one column contradict each other also for whom nothing is granted.
    if (policy.kind === 'column_mask' && isListed) return true;
    const held = this.of(name);
    if (catalog === SYSTEM) return held.length > 0;
    if (policy.kind === 'deny') return held.some((each) => isHarmed(each, policy));
    return held.some((each) => catalog === undefined || isInCatalog(each.resource, catalog));
  }

  /** Whether a policy takes nothing but what yields to it: who has nothing else may get from others what it takes. */
  isBeside(name: string, policy: PolicyDetails): boolean {
    if (policy.kind !== 'deny' || policy.resource.catalog === SYSTEM) return false;
    return !this.of(name).some((each) => isTaken(each, policy));
  }

  private of(name: string): readonly Given[] {
    return this.byName.get(name) ?? [];
  }
}

function isInCatalog({ catalog, engine, queries, as }: Node, name: string): boolean {
  if (engine !== undefined || queries !== undefined || as !== undefined) return false;
  return catalog === undefined || catalog === name;
}

/** Whether a policy is about something of what is held. */
export function isTaken({ resource, privilege }: Given, policy: PolicyDetails): boolean {
  if (!covers(resource, policy.resource) && !covers(policy.resource, resource)) return false;
  if (policy.kind !== 'deny') return true;
  const lost = taken(policy.privileges);
  return [...withContained([privilege])].some((each) => lost.has(each));
}

/** Whether a deny takes it, or something that yields to denies. */
function isHarmed(held: Given, policy: Extract<PolicyDetails, { kind: 'deny' }>): boolean {
  if (isTaken(held, policy)) return true;
  if (!policy.privileges.some(isOverData)) return false;
  const { catalog } = policy.resource;
  const isBeside =
    catalog === undefined
      ? isInTree(held.resource) || held.resource.routine !== undefined
      : isInCatalog(held.resource, catalog);
  return isBeside && (isOverRoutines(held.privilege) || PRIVILEGE_TERMS[held.privilege].yieldsToRestrictions);
}
