import { getOrInsert } from '../../kernel/collections.js';
import { isOpenSystem } from '../model/resource.js';
import { intentAt, type Origin } from '../model/intent.js';
import { type PolicyPrincipal, type Principal, principalText } from '../model/principal.js';
import type { Through } from '../model/principals.js';
import { privilegesOn, withContained } from '../model/privilege.js';
import type { Snapshot, SnapshotGrant } from '../model/snapshot.js';
import type { AccessIndex } from './access-index.js';
import type { Draft } from './draft.js';
import { givingGrants } from './effective-access.js';

/** What a draft gives to one principal: by grants to it or, to a new member, by those of the group. */
export interface Given {
  principal: PolicyPrincipal;
  grants: readonly SnapshotGrant[];
}

export function givenBy({ grants: existing }: Snapshot, { grants, joined }: Draft): Given[] {
  const byPrincipal = new Map<string, SnapshotGrant[]>();
  for (const grant of [...existing, ...grants])
    getOrInsert(byPrincipal, principalText(grant.principal), () => []).push(grant);
  const written = new Map<string, Given & { grants: SnapshotGrant[] }>();
  for (const grant of grants)
    getOrInsert(written, principalText(grant.principal), () => ({
      principal: grant.principal,
      grants: [],
    })).grants.push(grant);
  const joining = joined.map(({ group, member }) => ({
    principal: member,
    grants: byPrincipal.get(principalText({ type: 'group', id: group })) ?? [],
  }));
  return [...written.values(), ...joining].filter((given) => given.grants.length > 0);
}

/**
 * How a principal has all of it already; of several ways the shortest.
 * @param own the entries of the principal without the draft; all: those of everybody
 * @returns null: something of it is new, or nothing is given
 */
export function heldAlready(
  { own, all }: Record<'own' | 'all', AccessIndex>,
  principal: Principal,
  given: Iterable<Given>,
): Through | null {
  const origins: Origin<SnapshotGrant>[] = [];
  for (const { grants } of given)
    for (const { resource, privileges } of grants) {
      // Whom one acts as depends on others, and what all read in `system` on what is had elsewhere.
      const intent =
        resource.as === undefined
          ? intentAt(isOpenSystem(resource) ? own.snapshot : own.onPath(resource), principal, resource)
          : intentAt(all.snapshot, principal, resource, all.principals);
      const [open, held] = [privilegesOn(resource), withContained(intent.privileges)];
      const asked = [...withContained(privileges)].filter((privilege) => open.includes(privilege));
      if (!asked.every((privilege) => held.has(privilege))) return null;
      origins.push(...givingGrants({ ...intent, privileges: asked }));
    }
  const ways = origins.map(({ through }) => through);
  return ways.find((way) => way === 'directly') ?? ways.find((way) => way !== 'everyone') ?? ways[0] ?? null;
}
